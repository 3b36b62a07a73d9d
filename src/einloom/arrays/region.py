"""`Region`: elements in memory, as generated code reaches them. It knows no library of arrays.

>>> region = Region("out", 4096, (2, 3), (-32, 8), 8, "float64")
>>> region.span
(4064, 4120)
"""

from __future__ import annotations

from dataclasses import replace

from einloom.frozen import frozen

__all__ = ["Region", "reach_of"]


@frozen
class Region:
    """Elements that are read or written. Addresses and strides are in bytes.

    Attributes:
        name: what messages call it.
        address: of the element with all indices 0.
        extents: of its axes.
        strides: one an axis.
        size: bytes of an element.
        dtype: the name of the type of its elements, whichever library defines it.
        written: whether it is written.
        buffer: the address of the first byte that may be reached and of the one behind the last; None: what lies there
            is not known, for only an address was given, and it is taken as it is.
    """

    name: str
    address: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    size: int
    dtype: str
    written: bool = False
    buffer: tuple[int, int] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there are no elements."""
        return 0 in self.extents or self.size == 0

    @property
    def reach(self) -> tuple[int, int]:
        """The bytes that are reached, relative to the address: the first, and behind the last; (0, 0) for none."""
        return reach_of(self.extents, self.strides, self.size)

    @property
    def span(self) -> tuple[int, int]:
        """The addresses of the first byte that is reached and of the one behind the last."""
        low, high = self.reach
        return self.address + low, self.address + high

    @property
    def elements(self) -> tuple[object, ...]:
        """What two regions have in common if they are the same elements in the same order."""
        axes = [(extent, stride) for extent, stride in zip(self.extents, self.strides) if extent > 1]
        return self.address, self.size, self.dtype, axes

    def shifted(self, distance: int) -> Region:
        """Return the same region so many bytes further on."""
        return replace(self, address=self.address + distance)


def reach_of(extents: tuple[int, ...], strides: tuple[int, ...], size: int) -> tuple[int, int]:
    """Return the bytes that elements reach, relative to the one with all indices 0: the first, and behind the last.

    >>> reach_of((2, 3), (-32, 8), 8)
    (-32, 24)
    """
    low, high = 0, size
    for extent, stride in zip(extents, strides):
        if extent == 0:
            return 0, 0
        end = (extent - 1) * stride
        if end < 0:
            low += end
        else:
            high += end
    return low, high
