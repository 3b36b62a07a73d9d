"""How many sectors of memory an array touches: the least that crosses a border of 32 bytes.

>>> sectors(((1024, 1), (1024, 1024)), 4)
131072.0
>>> sectors(((1024, 32), (1024, 32 * 1024)), 4)
1048576.0
"""

from __future__ import annotations

from math import ceil, prod

__all__ = ["SECTOR", "sectors"]

SECTOR = 32
"""Bytes that caches move at a time."""


def sectors(axes: tuple[tuple[int, int], ...], element_bytes: int) -> float:
    """Return the fewest sectors that hold all elements of an array, wherever it starts.

    Args:
        axes: extent and stride (in elements) of each axis; strides of different axes do not overlap.
        element_bytes: size of an element.
    """
    dense = _merged(axes)
    count = prod(extent for extent, _ in dense)
    least = ceil(count * element_bytes / SECTOR)
    if not dense:
        return float(least)
    extent, stride = dense[0]
    row = _row(extent, stride * element_bytes, element_bytes)
    span = ((extent - 1) * stride + 1) * element_bytes
    apart = all(other * element_bytes >= span + SECTOR for _, other in dense[1:])
    return float(max(least, row * (count // extent) if apart else row))


def _merged(axes: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """Return the axes, innermost first, with those that continue each other as one."""
    found: list[tuple[int, int]] = []
    for extent, stride in sorted(((e, abs(s)) for e, s in axes if e > 1 and s), key=lambda axis: axis[1]):
        if found and found[-1][0] * found[-1][1] == stride:
            found[-1] = (found[-1][0] * extent, found[-1][1])
        else:
            found.append((extent, stride))
    return found


def _row(extent: int, step: int, element_bytes: int) -> int:
    """Return the fewest sectors of a row of elements `step` bytes apart."""
    if step >= SECTOR:
        return extent
    return ceil(((extent - 1) * step + element_bytes) / SECTOR)
