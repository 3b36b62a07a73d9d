"""How many rows of a tensor are copied into all panels before the next ones."""

from __future__ import annotations

import pytest

from einloom.ir.copies import Level, few_rows_at_once


@pytest.mark.parametrize(
    ("panel", "distance", "size", "rows"),
    [
        (8, 1009, 4, 32),  # Half a line of each row.
        (4, 1009, 4, 32),
        (16, 1009, 4, 8),  # A line: eight are enough to copy.
        (48, 1009, 4, 8),
        (8, 1009, 8, 8),
        (4, 1009, 8, 32),
        (8, 1024, 4, 8),  # All rows in the same sets of L1.
        (8, 1536, 4, 16),  # In two sets of them.
    ],
)
def test_short_pieces_of_many_rows_are_copied_together(panel: int, distance: int, size: int, rows: int) -> None:
    deep, wide = 505, 1008
    panels = Level("m", panel, wide, (), panel, panel * deep)
    levels = [panels, Level("k", 1, deep, (), distance, panel), Level("m", 1, panel, (), 1, 1)]
    _, outer, few, _ = few_rows_at_once(levels, {"k", "m"}, size)
    assert (outer.step, few.span) == (rows, rows)
    assert (outer.outside, outer.inside) == (rows * distance, rows * panel)


def test_few_rows_are_left_whole() -> None:
    levels = [Level("m", 8, 64, (), 8, 160), Level("k", 1, 20, (), 1009, 8), Level("m", 1, 8, (), 1, 1)]
    assert few_rows_at_once(levels, {"k", "m"}, 4) == levels
