"""No bound of a candidate exceeds the time of any schedule below it, on a machine that charges what the model knows;
and each of its numbers matters: with any of them wrong by a factor of two, some bound does."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import pairwise

import pytest

from einloom import csp
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_operation, parse_schedule
from einloom.machine import AVX512, Rates
from einloom.space import cpu
from einloom.space.model import Bound
from einloom.space.on_cpu.model import CpuModel
from einloom.space.on_cpu.rates import CpuRates
from einloom.space.on_cpu.space import CpuSpace
from einloom.targets.overhead import Overhead
from tests.soak import soak_count
from tests.space.on_cpu.operations import PRODUCT, TINY, random_leaves, tiny_space
from tests.space.on_cpu.toy import run

ROUNDING = 1 + 1e-9
SMALL = replace(AVX512, l1d=16, l2=32, l3=16)
RATES = CpuRates(2e9, 1e9, 5e8, 4e9, 2e9, 1e9, instructions=4e9, loads=2e9, shuffles=1e9, gathers=5e8, full_gathers=4e8)


ENDLESS = CpuRates(*[1e18] * 11)
SCARCE = {each.name: replace(ENDLESS, **{each.name: 1e3}) for each in fields(CpuRates)}
"""For each number of the rates a machine on which that one decides the time."""


EVERY = [("k->", [(8,)], 554), ("mk,k->m", [(2, 2), (2,)], 4095)][: soak_count(2, 0.5)]
"""Operations whose leaves are all visited, and how many these are."""


def paths(
    name: str, rates: CpuRates, count: int, seed: int, curves: bool = False, line: int = 8
) -> Iterator[tuple[list[Bound], dict[str, float]]]:
    """Yield bounds along random descents in a tiny space, with the times of the schedules at their ends."""
    space, rng = tiny_space(name, SMALL, curves), random.Random(seed)
    model = CpuModel(space.problem, space.backbone, SMALL, rates, line, Overhead)
    while count:
        state, bounds = space.problem.state(), list[Bound]()
        if descend(state, rng, model, bounds):
            yield bounds, run(space.operation, space.schedule(state), SMALL, rates, 2, line)
            count -= 1


def descend(state: csp.State, rng: random.Random, model: CpuModel, bounds: list[Bound]) -> bool:
    """Take random decisions until nothing is open; collect the bounds of the candidates. False: a dead end."""
    bounds.append(model.bound(state))
    while slots := state.open():
        slot = rng.choice(slots)
        values = csp.single_values(state.domains[slot])
        rng.shuffle(values)
        if not any(state.restrict(slot, mask) for mask in values[:1]):
            return False
        bounds.append(model.bound(state))
    return True


def excesses(bounds: list[Bound], times: dict[str, float]) -> list[str]:
    """Return the terms of a path's bounds that exceed the time of its leaf."""
    return [name for each in bounds for name, term in each.terms.items() if term > times[name] * ROUNDING]


@pytest.mark.soak
@pytest.mark.parametrize("curves", [False, True], ids=["loops", "curves"])
@pytest.mark.parametrize("name", TINY)
def test_no_bound_exceeds_the_time_of_a_schedule_below_it(name: str, curves: bool) -> None:
    for bounds, times in paths(name, RATES, soak_count(3000, 0.01), seed=1, curves=curves):
        assert excesses(bounds, times) == []


def every_leaf(space: CpuSpace, model: CpuModel) -> Iterator[tuple[dict[str, float], Schedule]]:
    """Yield every leaf in the space's order of decisions, with the largest that each term was on the way to it."""
    state, slots = space.problem.state(), space.slots()

    def visit(above: dict[str, float]) -> Iterator[tuple[dict[str, float], Schedule]]:
        terms = dict(above)
        for name, term in model.bound(state).terms.items():
            terms[name] = max(term, terms.get(name, 0.0))
        slot = state.next_open(slots)
        if slot < 0:
            yield terms, space.schedule(state)
            return
        for mask in csp.single_values(state.domains[slot]):
            state.push()
            if state.restrict(slot, mask):
                yield from visit(terms)
            state.pop()

    return visit({})


@pytest.mark.soak
@pytest.mark.parametrize(("equation", "extents", "leaves"), EVERY)
def test_every_bound_of_a_tiny_space_is_below_every_leaf(
    equation: str, extents: list[tuple[int, ...]], leaves: int
) -> None:
    space = CpuSpace(cpu(equation, *extents, dtype="float32", machine=SMALL).operation, SMALL)
    model, seen = CpuModel(space.problem, space.backbone, SMALL, RATES, 8, Overhead), 0
    for terms, schedule in every_leaf(space, model):
        times = run(space.operation, schedule, SMALL, RATES, 2, 8)
        assert [name for name, term in terms.items() if term > times[name] * ROUNDING] == []
        seen += 1
    assert seen == leaves


@pytest.mark.parametrize("name", TINY)
def test_bounds_never_fall(name: str) -> None:
    for bounds, _ in paths(name, RATES, 20, seed=2):
        assert all(a.seconds <= b.seconds * ROUNDING for a, b in pairwise(bounds))


@pytest.mark.parametrize("rate", SCARCE)
def test_every_rate_matters(rate: str) -> None:
    """With a rate of half its size the bound of some candidate would exceed a time."""
    rates = SCARCE[rate]
    wrong = replace(rates, **{rate: getattr(rates, rate) / 2})
    space = tiny_space("product of rows" if "gathers" in rate else "product", SMALL)
    model = CpuModel(space.problem, space.backbone, SMALL, wrong, 4, Overhead)
    rng, found = random.Random(3), 0
    for _ in range(60):
        state = space.problem.state()
        if descend(state, rng, model, []):
            times = run(space.operation, space.schedule(state), SMALL, rates, 2)
            found += model.bound(state).seconds > max(times.values()) * ROUNDING
    assert found > 0


def test_the_explanation_gives_the_bound() -> None:
    space = tiny_space("product", SMALL)
    for _, schedule in random_leaves(space, 10, 5):
        bound = space.leaf(schedule).bound()
        assert bound.explain().recomputed() == pytest.approx(bound.seconds, rel=1e-9)


def test_a_large_product_is_bound_by_its_arithmetic() -> None:
    """At the rates of a processor that is known, the bound of the whole space is the share of the peak that it is."""
    machine = replace(AVX512, rates=Rates(2e11, 1e11, 2e11, 6e10, 3e10, 2e10))
    space = cpu("mk,kn->mn", (1024, 1024), (1024, 1024), dtype="float32", machine=machine)
    bound = space.root.bound()
    assert max(bound.terms, key=bound.terms.__getitem__) == "arithmetic"
    assert 0.9 < bound.seconds / (2 * 1024**3 / 2e11) < 1


def test_blocks_along_a_curve_keep_what_neighbours_read() -> None:
    """Between the loops of a curve nothing runs in one piece: rows of blocks do not read all columns each time."""
    operation = parse_operation(
        "gemm first=zero last=none\naxis m 16 m\naxis n 16 n\naxis k 1 k\n"
        "in0 float32 m=1 k=16\nin1 float32 n=1 k=16\nout float32 m=1 n=16"
    )
    schedule = parse_schedule("sfc m:1 sfc n:1 prim k=k")
    space = CpuSpace(operation, replace(AVX512, l1d=32, l2=0, l3=0), (schedule,), rates=RATES)
    times = run(operation, schedule, space.machine, RATES, 1, 64)
    assert excesses([space.leaf(schedule).bound()], times) == []


def test_sums_that_go_on_are_read_again() -> None:
    """Four steps of k, of which all but the first read 24 sums beside 6 + 4 inputs; 4 elements lie in L1 already."""
    schedule = parse_schedule("seq k:1 prim m=m n=n")
    space = CpuSpace(PRODUCT, SMALL, (schedule,), rates=RATES)
    bytes = 4 * ((6 + 4 - 4) + 2 * (6 + 4 + 24 - 4))
    assert space.leaf(schedule).bound().terms["L2"] == pytest.approx(bytes / RATES.l2)
    assert run(PRODUCT, schedule, SMALL, RATES, 1, 64)["L2"] >= bytes / RATES.l2


def test_parts_of_a_fused_axis_that_an_operand_does_not_have_lead_nowhere() -> None:
    operation = parse_operation(
        "identity first=none last=none\naxis a 4 c\naxis b 8 c\nin0 float32 a=1\nout float32 a=8 b=1"
    )
    schedule = parse_schedule("fuse ab=a*b seq ab:8 prim m=ab pack in0@1 ab")
    space = CpuSpace(operation, SMALL, (schedule,), rates=RATES)
    assert space.leaf(schedule).bound().terms["L2"] == 0


def test_axes_that_were_one_before_may_be_fused_with_others() -> None:
    operation = parse_operation(
        "identity first=none last=none\naxis a*b 4 c\naxis c 8 c\nin0 float32 a*b=1 c=4\nout float32 a*b=8 c=1"
    )
    schedule = parse_schedule("fuse abc=a*b*c seq abc:8 prim m=abc pack in0@1 abc pack out@0 abc")
    assert CpuSpace(operation, SMALL, (schedule,), rates=RATES).root.bound().terms["stores"] > 0


def test_a_team_works_with_all_its_threads() -> None:
    """The threads of a known schedule's team count, whatever number the space is for; and all of its blocks: cut by
    four and by three, six rows are three blocks."""
    for text, rows in (("aBc", (2,)), ("aBBc", (4, 3))):
        schedule = Schedule.from_loop_string(PRODUCT, text, {"k": (3,), "m": rows, "n": (4,)}, threads=3)
        space = CpuSpace(PRODUCT, SMALL, (schedule,), rates=RATES)
        explained = str(space.leaf(schedule).bound().explain())
        assert schedule.team is not None and schedule.team.threads == 3
        assert "1 / threads = 0.3333" in explained
