"""Blocking of element-wise operations: what is proposed, and what moves the choice."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_operation, parse_schedule
from einloom.machine import AVX2, AVX512, Machine, Rates
from einloom.passes.block_elementwise import costed_element_wise
from einloom.passes.identify import identify_primitive
from einloom.passes.pipeline import explain_passes, optimize_operation
from einloom.passes.values import Context, Options

from .choices import ZEN3

TRANSPOSITION = parse_operation(
    """
    identity first=none last=none
    axis a 4096 c
    axis b 4096 c
    in0 float32 a=4096 b=1
    out float32 a=1 b=4096
    """
)
ROWS = parse_operation(
    """
    identity first=none last=none
    axis a 128 c
    axis b 128 c
    axis c 64 c
    in0 float32 a=8192 b=64 c=1
    out float32 a=64 b=8192 c=1
    """
)
MACHINES = [pytest.param(AVX512, id="avx512"), pytest.param(AVX2, id="avx2")]


@pytest.mark.parametrize("machine", MACHINES)
def test_an_output_that_exceeds_the_caches_is_staged(machine: Machine) -> None:
    _, schedule = optimize_operation(TRANSPOSITION, machine)
    assert [pack.operand for pack in schedule.packs] == [-1]
    block = {loop.axis: loop.step for loop in schedule.loops}
    assert min(block.values()) >= 64, "single cache lines cost memory more than what they hold"
    assert block["a"] * block["b"] * 4 <= machine.l2 // 2


def test_what_stays_in_the_caches_is_written_directly() -> None:
    _, schedule = optimize_operation(TRANSPOSITION, replace(AVX512, l2=2**28))
    assert schedule == parse_schedule("seq b:512 seq a:512 prim m=b n=a")


@pytest.mark.parametrize("machine", MACHINES)
def test_rows_are_read_in_order(machine: Machine) -> None:
    """Blocks of few rows, which follow each other in the input, leave in runs while the next one is read."""
    _, schedule = optimize_operation(ROWS, machine)
    assert schedule == parse_schedule("seq a:8 seq b:1 seq a:1 prim m=c n=b pack out@2 a c")


TWO_ROWS = """
identity first=none last=none
axis a {0} c
axis b {1} c
in0 float32 a={1} b=1
out float32 a=1 b={0}
"""


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("apart", "narrow"), [(3000, True), (4096, False)])
def test_strips_are_narrow_if_the_second_level_keeps_what_was_read_beyond_them(
    machine: Machine, apart: int, narrow: bool
) -> None:
    """Rows 16 KiB apart crowd into few of its sets: each strip waits for all of its pieces again."""
    operation = parse_operation(TWO_ROWS.format(1024, apart))
    _, schedule = optimize_operation(operation, machine)
    step = {loop.axis: loop.step for loop in schedule.loops}
    assert (step["b"] == 64) is narrow


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("extents", "order", "cut"), [((64, 64, 32, 32), "dcab", False), ((1000, 16, 100), "cba", True)]
)
def test_staged_blocks_hold_whole_rows_where_more_of_their_parts_would_be_waited_for(
    machine: Machine, extents: tuple[int, ...], order: str, cut: bool
) -> None:
    """Rows of 4 KiB, and half as many of them; of rows of 400 bytes a block holds halves, and more of them.

    If the first lines of a piece took half as long, both would be cut; neither if they took twice as long.
    """
    sizes = dict(zip("abcd", extents))
    axes = [f"axis {name} {extent} c" for name, extent in sizes.items()]
    operands = [f"in0 float32 {_dense(sizes, ''.join(sizes))}", f"out float32 {_dense(sizes, order)}"]
    _, schedule = optimize_operation(
        parse_operation("\n".join(["identity first=none last=none", *axes, *operands])), machine
    )
    assert schedule.packs
    assert ("c" in {loop.axis for loop in schedule.loops if loop.step > 1}) is cut


@pytest.mark.parametrize(
    ("extents", "direct"),
    [((1000, 700), True), ((3000, 4096), True), ((1024, 512), False)],
    ids=["in L3", "beyond L3", "in one set of L1"],
)
def test_zen3_writes_rows_directly_unless_they_share_a_set(extents: tuple[int, int], direct: bool) -> None:
    """Where those that a tile writes lie whole pages apart L1 loses each before the next part of it is stored."""
    operation = parse_operation(TWO_ROWS.format(*extents))
    assert (optimize_operation(operation, ZEN3)[1].packs == ()) is direct
    assert optimize_operation(operation, replace(ZEN3, features=AVX2.features))[1].packs, "others wait for each piece"


def _dense(extents: dict[str, int], order: str) -> str:
    strides = (f"{name}={math.prod(extents[inner] for inner in order[i + 1 :])}" for i, name in enumerate(order))
    return " ".join(strides)


def test_slow_streams_keep_the_output_out_of_scratch() -> None:
    slow = Rates(float32=200e9, float64=100e9, l2=180e9, l3=50e9, memory=30e9, stream=1e9)
    for operation in (TRANSPOSITION, ROWS):
        _, schedule = optimize_operation(operation, replace(AVX512, rates=slow))
        assert not schedule.packs


def test_without_packs_nothing_is_staged() -> None:
    _, schedule = optimize_operation(ROWS, AVX512, Options(packing=False))
    assert not schedule.packs


def test_the_cheapest_proposal_is_taken_and_all_are_shown() -> None:
    given = Schedule((), identify_primitive(TRANSPOSITION))
    found = costed_element_wise(TRANSPOSITION, given, Context(AVX512))
    assert [each.cost.seconds for each in found] == sorted(each.cost.seconds for each in found)
    assert found[0].proposal.schedule == optimize_operation(TRANSPOSITION, AVX512)[1]
    families = {each.proposal.family for each in found}
    assert {f"staged, in the order of the {operand}" for operand in ("input", "output")} < families
    shown = explain_passes(TRANSPOSITION, AVX512)
    assert all(str(each.proposal.schedule) in shown for each in found)
