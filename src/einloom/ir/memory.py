"""`Memory`: what the interpreter reads and writes: a one-dimensional array of elements, and where index 0 lies in it.

>>> Memory(np.arange(6), origin=5).view((2, 3), (-3, -1)).tolist()
[[5, 4, 3], [2, 1, 0]]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

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
        start = low = high = self.origin + position
        for extent, stride in zip(extents, strides):
            if stride < 0:
                low += (extent - 1) * stride
            else:
                high += (extent - 1) * stride
        if low < 0 or high >= len(self.elements):
            raise IndexError(f"elements {low} to {high} of a buffer of {len(self.elements)}")
        size = self.elements.itemsize  # `as_strided` does the same, in five times as long.
        strides = [stride * size for stride in strides]
        return np.ndarray(tuple(extents), self.elements.dtype, self.elements, start * size, strides)
