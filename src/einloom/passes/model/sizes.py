"""Dimension splitting with remainders: block sizes near a target for any size."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from einloom.ir.operation import Axis

__all__ = ["balanced_block", "block_steps", "equal_block", "equal_part", "nearest_multiple", "round_up"]

Cut = Callable[[int, int, int], int]
"""How an axis is cut: the size of its blocks from its extent, a target, and what they must be multiples of."""


def balanced_block(extent: int, target: int, multiple: int = 1) -> int:
    """Return the size of nearly equal blocks of about `target` indices, rounded up to a multiple.

    A last block that is much shorter than the others wastes what is paid per block, so K = 200 with a target of 192
    stays whole and K = 300 becomes two blocks of 150. Blocks may exceed the target, by half at most, since it is where
    costs are least, no limit: just above a multiple of it one block more would cost more than blocks that are a little
    too long. `equal_block` takes targets that are limits. (Measured: K / ceil(K / target) took 1.01 times as long; the
    cost model's page has the figures.)

    >>> balanced_block(200, 192), balanced_block(300, 192), balanced_block(1009, 192)
    (200, 150, 202)
    """
    return round_up(-(-extent // max(1, int(extent / target + 0.5))), multiple)


def equal_block(extent: int, most: int, multiple: int = 1) -> int:
    """Return the size of equal blocks of at most `most` indices; a divisor where one is little smaller.

    Every axis with a short last block doubles the kernels that a program needs. Blocks are multiples of `multiple`, of
    one at least.

    >>> equal_block(56, 11), equal_block(84, 20), equal_block(97, 20), equal_block(1600, 614, 48)
    (8, 14, 20, 576)
    """
    if multiple > 1:
        return multiple * equal_block(-(-extent // multiple), max(most // multiple, 1))
    part = -(-extent // -(-extent // most))
    divisors = (size for size in range(min(most, extent), part * 2 // 3, -1) if extent % size == 0)
    return next(divisors, part)


def equal_part(extent: int, target: int) -> int:
    """Return the size of equal parts of about `target` indices: none is longer than another by more than a few.

    >>> equal_part(100, 64), equal_part(90, 64), equal_part(7, 64)
    (50, 90, 7)
    """
    return -(-extent // max(round(extent / target), 1)) if extent else 1


def nearest_multiple(size: int, unit: int) -> int | None:
    """Return the multiple of a unit that is closest to a size; None: it is more than a third away.

    >>> nearest_multiple(11, 4), nearest_multiple(9, 8), nearest_multiple(11, 16), nearest_multiple(10, 16)
    (12, 8, None, None)
    """
    near = max(round(size / unit), 1) * unit
    return near if 2 * size <= 3 * near <= 4 * size else None


def round_up(value: int, multiple: int) -> int:
    """Return the smallest multiple of `multiple` that is not below `value`."""
    return -(-value // multiple) * multiple


def block_steps(
    order: Sequence[Axis],
    budget: int,
    least: Mapping[str, int],
    multiple: Mapping[str, int] | None = None,
    cut: Cut = balanced_block,
) -> dict[str, int]:
    """Return blocks of the axes whose product is about `budget`, the first axes as long as possible.

    Args:
        order: the axes.
        budget: indices of all of them together.
        least: how far a block reaches along some of them at least.
        multiple: what the block of the first one is a multiple of, by its name.
        cut: chooses the block of the first one.
    """
    steps = {axis.name: max(min(axis.extent, least.get(axis.name, 1)), 1) for axis in order}
    whole = math.prod(steps.values())
    for axis in order:
        name, extent = axis.name, axis.extent
        others = whole // steps[name]
        target = max(budget // others, steps[name])
        if extent <= target:
            steps[name] = max(extent, 1)
        elif axis is order[0]:
            steps[name] = min(cut(extent, target, (multiple or {}).get(name, 1)), extent)
        else:  # Equal blocks that stay below the target: one axis above it is enough.
            steps[name] = equal_block(extent, target)
        whole = others * steps[name]
    return steps
