"""The step that all transpositions share: interleave pairs of registers."""

from __future__ import annotations

from einloom.kernels.verbs.vector import Block, V, Verb

__all__ = ["in_row_order", "interleave"]


def interleave(block: list[V], free: list[V], low: Verb, high: Verb, step: int) -> Block[V]:
    """Interleave registers `step` apart into the free ones: their low parts, then their high parts."""
    for i in range(len(block)):
        if not i & step:
            low(free[i], block[i], block[i + step])
            high(free[i + step], block[i], block[i + step])
    return free, block


def in_row_order(block: list[V], free: list[V]) -> Block[V]:
    """Name the registers after interleaving with steps 1 and 2 by the rows that they hold."""
    order = [4 * (i // 4) + (0, 2, 1, 3)[i % 4] for i in range(len(block))]
    return [block[i] for i in order], [free[i] for i in order]
