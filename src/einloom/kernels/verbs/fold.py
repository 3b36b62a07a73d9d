"""Fold the lanes of several registers into one: the last step of sums, products and extremes along a vector."""

from __future__ import annotations

from collections.abc import Callable

from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import ArithmeticVerbs, V

__all__ = ["fold_lanes"]


def fold_lanes(
    vec: ArithmeticVerbs[R, V, A], registers: list[V], temporary: V, combine: Callable[[V, V], None], group: int = 1
) -> None:
    """Emit registers[0] = in group i all groups of lanes of registers[i] combined, which are clobbered.

    Args:
        vec: the vector verbs.
        registers: as many as there are groups in one, or fewer.
        group: lanes next to each other that are kept apart: 1, or what is at most 16 bytes.
        combine: emits first = first combined with second; neither of them is `temporary` but the second.
    """
    for level in range((vec.lanes // group).bit_length() - 1):
        for i in range(0, len(registers), 2):
            first, second = registers[i], registers[min(i + 1, len(registers) - 1)]
            vec.split_lanes(level, first, second, temporary, group)
            combine(first, temporary)
        registers = registers[::2]
