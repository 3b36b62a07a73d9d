"""Dimension splitting with remainders: block sizes near a target for any size."""

from __future__ import annotations

__all__ = ["balanced_block", "equal_block", "equal_part", "round_up"]


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


def round_up(value: int, multiple: int) -> int:
    """Return the smallest multiple of `multiple` that is not below `value`."""
    return -(-value // multiple) * multiple
