"""Which of the proposed schedules is chosen on which machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_operation
from einloom.machine import AVX2, AVX512, Machine, Rates
from einloom.passes.contraction.blocking import Blocking
from einloom.passes.contraction.choose import costed
from einloom.passes.contraction.plan import Plan
from einloom.passes.fuse import fuse
from einloom.passes.identify import identify_primitive
from einloom.passes.model.cost import cost_of
from einloom.passes.pipeline import explain_passes
from einloom.passes.values import Context, Options

from .choices import (
    COLUMNS,
    LARGE,
    ZEN3,
    chosen_schedule,
    costed_proposals,
    packed_block,
)
from .operations import PRODUCT, contraction


def test_five_loops_are_tried_where_element_once_packs_vectors_again_for_each_block() -> None:
    """It takes 1.8 times as long as they do then, and 1.3 times as long as the best of the others."""
    operation = contraction("f 3 m, b 222 m, e 19 n, d 5 k, a 12 k, c 92 k", "cdbfa", "daec", "feb")
    assert costed_proposals(operation, LARGE)[0].proposal.family == "five loops"


@pytest.mark.parametrize(
    ("rows", "summed", "tried"),
    [(2048, 2048, True), (2048, 250, False), (900, 250, True)],
    ids=["long", "short", "near"],
)
def test_five_loops_are_tried_unless_short_sums_are_added_to_outputs_beyond_all_caches(
    rows: int, summed: int, tried: bool
) -> None:
    operation = contraction(f"i {rows} m, j {rows} n, k {summed} k", "ik", "kj", "ij")
    assert any(each.proposal.family == "five loops" for each in costed_proposals(operation, ZEN3)) is tried


def test_neighbours_of_packed_plans_are_tried_where_nothing_is_packed_so_far() -> None:
    """Rows a page apart take half as long to copy in blocks of several b."""
    operation = contraction("a 8 n, b 72 m, d 3000 m, e 64 k", "dbe", "ea", "abd")
    best, *others = costed_proposals(operation, ZEN3)
    families = [each.proposal.family for each in others]
    assert best.proposal.plan is not None and best.proposal.plan.long_runs and best.proposal.plan.packs_vector
    assert families[0] == "in place" and best.proposal.family in families, "its plan in shorter runs is behind"


def test_plans_are_varied_on_several_threads_as_on_one() -> None:
    """Arithmetic counts as threads share it, where it tells that variations cannot be better."""
    operation = contraction("a 52 m, b 56 m, c 56 n, d 52 n, e 56 k, f 52 k", "aefb", "fdce", "abcd")
    alone, *shared = (
        {axis.name for axis in chosen_schedule(operation, AVX512, threads).fused} for threads in (1, 2, 4)
    )
    assert "cd" in alone and all(each == alone for each in shared)


@pytest.mark.parametrize(
    "operation",
    [
        contraction("i 600 m, j 600 n, k 600 k", "ki", "kj", "ij", "complex64"),
        contraction("a 200 c, b 16 m, c 16 n, k 16 k", "abk", "akc", "abc", "complex64"),
        contraction("l 64 k, p 4 m, r 64 m, x 64 n", "lpr", "lx", "xpr", "complex64"),
        contraction("a 8 m, b 8 k, c 200 n, d 300 n", "ab", "cdb", "cda", "complex64"),
        contraction("a 64 k, b 64 k, i 16 m, j 16 n", "aib", "ajb", "ij", "complex64"),
    ],
    ids=["square", "batch", "state", "gate", "along a sum"],
)
def test_two_threads_halve_about_what_every_complex_proposal_costs(operation: Operation) -> None:
    schedule = Schedule((), identify_primitive(operation))
    alone, shared = (
        {each.proposal.schedule: each.cost.seconds for each in costed(operation, schedule, Context(AVX512, options))}
        for options in (Options(1), Options(2))
    )
    both = alone.keys() & shared.keys()
    assert len(both) > 2 and all(1.5 < alone[each] / shared[each] < 2.5 for each in both)


def test_little_work_takes_one_family() -> None:
    small = parse_operation(str(PRODUCT).replace("1600", "40"))
    assert str(chosen_schedule(small, AVX512)) == "prim m=j n=i k=k"
    below, above = (parse_operation(str(PRODUCT).replace("1600", size)) for size in ("46", "47"))
    assert below.points < 100_000 < above.points
    assert len(costed_proposals(below)) == 1 < len(costed_proposals(above))


@pytest.mark.parametrize("machine", [AVX512, AVX2, LARGE], ids=["avx512", "avx2", "large L2"])
def test_large_products_pack_the_vector_operand(machine: Machine) -> None:
    packs = {pack.operand for pack in chosen_schedule(COLUMNS, machine).packs}
    assert packs == {0, 1}
    assert 1 in {pack.operand for pack in chosen_schedule(PRODUCT, machine).packs}


@pytest.mark.parametrize("machine", [AVX512, AVX2], ids=["avx512", "avx2"])
def test_halving_the_second_cache_moves_the_choice_to_smaller_blocks(machine: Machine) -> None:
    """Each machine may take what any of them would propose: it is the cost that decides, not the target of a block."""
    rates = Rates(float32=200e9, float64=100e9, l2=180e9, l3=20e9, memory=10e9, stream=10e9)
    machines = [replace(machine, l2=2**size, rates=rates) for size in (21, 20, 19, 18)]
    prims, plan = identify_primitive(COLUMNS), Plan("vector block")
    made = [Blocking(COLUMNS, prims, each).schedule(plan) for each in machines]
    schedules = [schedule for schedule in made if schedule is not None]
    chosen = [min(schedules, key=lambda each: cost_of(COLUMNS, each, to).seconds) for to in machines]
    blocks = [packed_block(schedule) for schedule in chosen]
    assert blocks == sorted(blocks, reverse=True) and len(set(blocks)) > 2
    assert all(4 * block < each.l2 for block, each in zip(blocks, machines))  # bytes
    whole = [packed_block(chosen_schedule(COLUMNS, each)) for each in machines]
    assert whole == sorted(whole, reverse=True) and len(set(whole)) > 2


@pytest.mark.parametrize("machine", [AVX2, LARGE], ids=["avx2", "large L2"])
def test_plans_that_pack_other_inputs_are_varied_where_they_take_up_to_a_quarter_longer(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variations of the cheapest plan alone are fewer, of plans that take much longer more."""
    operation = fuse(contraction("a 700 m, d 20 m, b 20 n, c 700 k", "dac", "bc", "bad"))

    def proposed() -> set[Schedule]:
        found = costed(operation, Schedule((), identify_primitive(operation)), Context(machine))
        return {each.proposal.schedule for each in found}

    counts = [len(proposed())]
    for varied in (1.0, 2.5):
        monkeypatch.setattr("einloom.passes.contraction.choose.VARIED", varied)
        counts.append(len(proposed()))
    taken, cheapest_alone, many = counts
    assert cheapest_alone < taken < many


def test_halving_the_first_cache_moves_the_choice_to_panels_that_it_holds() -> None:
    """Of 24 columns while it has 64 KiB and more than these need, of 4 rows below."""
    chosen = {size: chosen_schedule(COLUMNS, replace(AVX2, l1d=2**size)) for size in (17, 16, 15, 14, 13)}
    assert _keeps_vectors(chosen[17]) and not any(_keeps_vectors(chosen[size]) for size in (15, 14, 13))
    for size, schedule in chosen.items():
        depth = min(loop.step for loop in schedule.loops if loop.axis == "k")
        assert (24 if _keeps_vectors(schedule) else 4) * depth * 4 < 2**size


def test_halving_the_third_cache_moves_the_choice_to_smaller_blocks_of_the_output() -> None:
    """What each block of k adds to stays there: 16 MB of output, or half of it."""
    square = contraction("i 2000 m, j 2000 n, k 2000 k", "ki", "kj", "ij")
    whole, half = (_added_to(square, chosen_schedule(square, replace(AVX2, l3=2**size))) for size in (25, 24))
    assert 2**24 > half >= whole // 2 > 0 and half < whole < 2**25


def _added_to(operation: Operation, schedule: Schedule) -> int:
    """Bytes of the output that a block of k adds to before the next one does."""
    left = {axis.name: axis.extent for axis in operation.axes}
    first = next(index for index, loop in enumerate(schedule.loops) if loop.axis == "k")
    left |= {loop.axis: loop.step for loop in schedule.loops[:first]}
    return left["i"] * left["j"] * 4


def test_panels_of_the_vector_operand_stay_where_the_second_cache_is_slow() -> None:
    """Where fetching a vector takes as long as multiplying with it, a panel is kept for all columns of a block."""
    rates = Rates(float32=118e9, float64=59e9, l2=89e9, l3=52e9, memory=28e9, stream=22e9)
    slow, fast = (replace(AVX2, l2=2**20, rates=replace(rates, l2=l2)) for l2 in (89e9, 300e9))
    assert _keeps_vectors(chosen_schedule(COLUMNS, slow))
    assert not _keeps_vectors(chosen_schedule(COLUMNS, fast))


def _keeps_vectors(schedule: Schedule) -> bool:
    """Whether the innermost loop goes over columns, beside one panel of the vector operand."""
    return schedule.loops[-1].axis == "i"


def test_the_cheapest_is_chosen_the_same_each_time_and_all_are_shown() -> None:
    found = costed_proposals(fuse(COLUMNS))
    seconds = [each.cost.seconds for each in found]
    assert seconds == sorted(seconds) and len(found) > 4
    assert chosen_schedule(COLUMNS, AVX512) == found[0].proposal.schedule == chosen_schedule(COLUMNS, AVX512)
    shown = explain_passes(COLUMNS, AVX512)
    assert all(f"{each.proposal.family}: {each.proposal.schedule}" in shown for each in found)
    assert all(f"{each.cost.seconds * 1e3:.3g} ms" in shown for each in found)
