"""`Memory`: what the interpreter reads and writes: a one-dimensional array of elements, and where index 0 lies in it.

>>> Memory(np.arange(6), origin=5).view((2, 3), (-3, -1)).tolist()
[[5, 4, 3], [2, 1, 0]]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from einloom.frozen import frozen

__all__ = ["Memory"]

Array = np.ndarray[Any, Any]


@frozen
class Memory:
    """A one-dimensional array of elements and the position that index 0 of every axis has in it."""

    elements: Array
    origin: int = 0

    def view(self, extents: Sequence[int], strides: Sequence[int], position: int = 0) -> Array:
        """Return the elements at `origin + position + sum(i * stride)` as an array of the given extents.

        Raises:
            IndexError: an element lies outside the array.
        """
        if 0 in extents:
            return np.empty(tuple(extents), self.elements.dtype)
        offsets = [(extent - 1) * stride for extent, stride in zip(extents, strides)]
        start = self.origin + position
        low, high = start + sum(min(o, 0) for o in offsets), start + sum(max(o, 0) for o in offsets)
        if low < 0 or high >= len(self.elements):
            raise IndexError(f"elements {low} to {high} of a buffer of {len(self.elements)}")
        size = self.elements.itemsize
        base = self.elements[start:]
        return as_strided(base, tuple(extents), tuple(stride * size for stride in strides))
