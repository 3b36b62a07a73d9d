"""Axes that are walked as one: when they are tried, and how blocks cut their rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_operation
from einloom.machine import AVX2, AVX512, Machine
from einloom.passes.contraction.choose import costed, every_proposal
from einloom.passes.fuse import fuse
from einloom.passes.identify import identify_primitive
from einloom.passes.values import Context, Options

from .choices import (
    costed_proposals,
)
from .operations import contraction


def test_fused_axes_are_tried_where_the_cheapest_proposal_has_no_plan() -> None:
    operation = contraction("d 3 c, c 3 k, a 437 m, e 4 m, b 3 m, f 16 n", "dcaeb", "dcf", "afdbe")
    assert any(each.proposal.plan is None for each in costed_proposals(operation)[1:])
    assert costed_proposals(operation)[0].proposal.family == "vector block, fused"


def test_panels_cut_rows_that_lie_across_memory_where_tiles_are_no_whole_cache_lines() -> None:
    operation = contraction("a 52 m, b 56 m, c 56 n, d 56 n, e 56 k, f 56 k", "aebf", "fdec", "abcd")

    def texts(machine: Machine) -> list[str]:
        undecided = Schedule((), identify_primitive(operation))
        return [str(each.schedule) for each in every_proposal(operation, undecided, Context(machine))]

    for layout in ("cd:24 e f cd", "e f cd"):
        assert any(each.endswith(f" pack in1@3 {layout}") for each in texts(AVX2))
    assert any("e f cd" in each for each in texts(AVX512)) and not any("cd:48 e f cd" in each for each in texts(AVX512))


@pytest.mark.parametrize(("rows", "block"), [(64, 16 * 56), (56, 16 * 56), (12, 12 * 56)])
def test_blocks_hold_whole_cache_lines_of_rows_that_lie_across_memory(rows: int, block: int) -> None:
    """16 rows of d: a line of the axis c, or all of it."""
    operation = contraction(f"a 52 n, b 56 n, c {rows} m, d 56 m, e 56 k, f 56 k", "fdec", "aebf", "abcd")
    golden_cove = replace(AVX512, l1d=48 * 1024, l2=2**21)
    found = [
        str(each.schedule)
        for each in every_proposal(operation, Schedule((), identify_primitive(operation)), Context(golden_cove))
    ]
    assert any(f"seq cd:{block} " in each for each in found)


def test_axes_are_not_joined_where_blocks_are_of_one_index() -> None:
    strides = "in0 float32 a=64 b=-2 c=192 d=5952\nin1 float32 b=62 c=2\nout float32 a=248 b=-1 d=31"
    operation = parse_operation(
        f"gemm first=none last=none\naxis a 3 m\naxis b 31 c\naxis c 31 k\naxis d 8 m\n{strides}"
    )
    tiny = replace(AVX512, l1d=1024, l2=2048, l3=4096)
    assert every_proposal(operation, Schedule((), identify_primitive(operation)), Context(tiny))


def test_packs_make_one_axis_of_several_only_where_the_schedule_may_say_so() -> None:
    operation = fuse(contraction("a 700 m, d 20 m, b 20 n, c 700 k", "dac", "bc", "bad"))
    for fuses in (True, False):
        found = costed(operation, Schedule((), identify_primitive(operation)), Context(AVX2, Options(fuses=fuses)))
        assert any(each.proposal.schedule.fused for each in found) == fuses
