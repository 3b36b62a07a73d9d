"""Fold the lanes of several registers into one: the last step of sums, products and extremes along a vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["fold_lanes"]


def fold_lanes(vec: Any, registers: list[Any], temporary: Any, combine: Callable[[Any, Any], None]) -> None:
    """Emit registers[0] = in lane i all lanes of registers[i] combined; up to `lanes` registers, all clobbered.

    Args:
        vec: vector verbs with `split_lanes`.
        combine: emits first = first combined with second; neither of them is `temporary` but the second.
    """
    for level in range(vec.lanes.bit_length() - 1):
        for i in range(0, len(registers), 2):
            first, second = registers[i], registers[min(i + 1, len(registers) - 1)]
            vec.split_lanes(level, first, second, temporary)
            combine(first, temporary)
        registers = registers[::2]
