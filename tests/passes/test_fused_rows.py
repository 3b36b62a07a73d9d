"""Blocks of axes that are walked as one: of whole rows, as many as fill cache lines where that is near."""

from __future__ import annotations

from dataclasses import replace

import pytest

from einloom.ir.bind import bind
from einloom.ir.fused import FusedView
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_schedule
from einloom.passes.contraction.choose import every_proposal
from einloom.passes.contraction.fused_rows import fused_axes, in_whole_rows
from einloom.passes.identify import identify_primitive
from einloom.passes.values import Context

from .choices import ZEN3
from .operations import contraction


def _rows_of_blocks(rows: int, of: int) -> int:
    """The rows in a block of a schedule that takes so many `of` b: rows of c lie across what is contiguous in in0."""
    operation = contraction(f"b {of} m, c 7 m, n 40 n, k 30 k", "kcb", "kn", "nbc")
    fused = (fused_axes("bc"),)
    view = FusedView.of(operation, fused)
    schedule = parse_schedule(f"seq bc:{7 * rows} seq bc:14 prim m=bc n=n k=k pack in0@1 k bc")
    found = in_whole_rows(view.stand_in(operation), view, fused, schedule)
    assert found is not None and found.loops[0].step % 7 == 0
    return found.loops[0].step // 7


@pytest.mark.parametrize(
    ("step", "loops"),
    [
        pytest.param(18, "seq bc:36 seq e:1 seq bc:18", id="half a row"),
        pytest.param(20, "seq bc:36 seq e:1", id="more of it"),
        pytest.param(72, "seq bc:72 seq e:1", id="two rows"),
    ],
)
def test_kernels_take_no_more_though_blocks_become_whole_rows(step: int, loops: str) -> None:
    operation = contraction("b 6 m, c 36 m, e 5 m, n 24 n, k 30 k", "ekbc", "kn", "bnce")
    fused = (fused_axes("bc"),)
    view, rest = FusedView.of(operation, fused), "prim m=bc n=n k=k pack out@1 n e bc"
    found = in_whole_rows(view.stand_in(operation), view, fused, parse_schedule(f"seq bc:{step} seq e:1 {rest}"))
    assert str(found) == f"fuse bc=b*c {loops} {rest}"


def test_blocks_are_whole_rows_of_every_operand_that_is_packed_inside() -> None:
    """Rows of b in in0, of d and b beside them, of f and d in in1: what is whole for one may cut another's."""
    operation = contraction("e 48 m, a 24 m, c 12 m, f 2 k, d 5 k, b 13 k", "fedacb", "bfd", "eca")
    small = replace(ZEN3, l1d=8192, l2=16384, l3=65536)
    found = every_proposal(operation, Schedule((), identify_primitive(operation)), Context(small))
    assert any(each.schedule.fused for each in found)
    for each in found:
        bind(operation, each.schedule)


@pytest.mark.parametrize(
    ("rows", "of", "taken"),
    [
        pytest.param(13, 40, 16, id="more: a line of 16 floats"),
        pytest.param(21, 64, 16, id="fewer"),
        pytest.param(24, 64, 32, id="a third away"),
        pytest.param(9, 64, 8, id="half a line is nearer"),
        pytest.param(6, 64, 8, id="half a line, a third away"),
        pytest.param(5, 64, 4, id="a quarter"),
        pytest.param(2, 64, 2, id="more than a third away"),
        pytest.param(11, 13, 13, id="all of them"),
        pytest.param(24, 25, 25, id="no more than all of them"),
    ],
)
def test_blocks_of_rows_fill_cache_lines_if_that_is_at_most_a_third_away(rows: int, of: int, taken: int) -> None:
    assert _rows_of_blocks(rows, of) == taken
