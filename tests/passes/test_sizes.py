"""Block sizes near a target."""

from __future__ import annotations

import pytest

from einloom.passes.model.sizes import balanced_block, equal_block


@pytest.mark.parametrize(
    ("extent", "target", "balanced", "equal"),
    [(200, 192, 200, 100), (300, 192, 150, 150), (1009, 192, 202, 169), (56, 11, 12, 8), (7, 192, 7, 7), (1, 1, 1, 1)],
)
def test_blocks_of_an_axis(extent: int, target: int, balanced: int, equal: int) -> None:
    assert balanced_block(extent, target) == balanced
    assert equal_block(extent, target) == equal
