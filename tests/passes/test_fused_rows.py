"""Blocks of axes that are walked as one: of whole rows, in equal parts where that is near."""

from __future__ import annotations

import pytest

from einloom.ir.fused import FusedView
from einloom.ir.text import parse_schedule
from einloom.passes.contraction.fused_rows import fused_axes, in_whole_rows

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
    ("rows", "of", "taken"),
    [
        pytest.param(7, 40, 8, id="one more"),
        pytest.param(11, 40, 10, id="one less"),
        pytest.param(9, 12, 12, id="a third away"),
        pytest.param(8, 11, 8, id="more than a third away, three rows"),
        pytest.param(13, 19, 13, id="more than a third away, six rows"),
        pytest.param(5, 12, 6, id="as near from above as from below: the larger"),
        pytest.param(3, 2 * 4 * 7, 4, id="as near from above as from below, of few rows"),
        pytest.param(5, 5 * 17, 5, id="a divisor stays"),
        pytest.param(6, 6 * 6, 6, id="the root of a square"),
    ],
)
def test_blocks_of_rows_are_equal_if_that_is_at_most_a_third_away(rows: int, of: int, taken: int) -> None:
    assert _rows_of_blocks(rows, of) == taken
