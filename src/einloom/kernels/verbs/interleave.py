"""The step that all transpositions share: interleave pairs of registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["in_row_order", "interleave"]


def interleave(
    block: list[Any], free: list[Any], low: Callable[..., None], high: Callable[..., None], step: int
) -> tuple[list[Any], list[Any]]:
    """Interleave registers `step` apart into the free ones: their low parts, then their high parts.

    Returns (where the block is now, the registers that are free now).
    """
    for i in range(len(block)):
        if not i & step:
            low(free[i], block[i], block[i + step])
            high(free[i + step], block[i], block[i + step])
    return free, block


def in_row_order(block: list[Any], free: list[Any]) -> tuple[list[Any], list[Any]]:
    """Name the registers after interleaving with steps 1 and 2 by the rows that they hold."""
    order = [4 * (i // 4) + (0, 2, 1, 3)[i % 4] for i in range(len(block))]
    return [block[i] for i in order], [free[i] for i in order]
