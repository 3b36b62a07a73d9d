"""What a block of a tensor touches: cache lines, the separate pieces they form, and the room they need in a cache.

>>> rows = Footprint.of(((1, 20.0), (1600, 8.0)), 4)
>>> rows.lines, rows.pieces
(16.0, 8.0)
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, gcd
from typing import NamedTuple

__all__ = ["HUGE", "HUGE_PAGE", "LINE", "PAGE", "WAY", "Footprint"]

LINE = 64
"""Bytes of a cache line."""

WAY = 4096
"""Bytes after which addresses fall into the same set of a first-level cache, and of any cache that pages index."""


PAGE = 4096
"""Bytes of a page of memory."""

HUGE, HUGE_PAGE = 4 * 2**20, 2 * 2**20
"""From how many bytes on a tensor lies on huge pages, for which NumPy asks Linux, and the bytes of one."""


class Footprint(NamedTuple):
    """A block of a tensor in a cache.

    Attributes:
        lines: cache lines that it touches.
        pieces: runs of lines that follow each other.
        room: bytes that it takes: more than its lines have where pieces fall into few of the sets.
        pages: pages that it touches.
        far_room: as `room`, in a second-level cache.
        ends: of the pages, those that are there since its rows begin and end within pages; none of a single row.
    """

    lines: float
    pieces: float
    room: float
    pages: float
    far_room: float
    ends: float

    @staticmethod
    def of(
        axes: Iterable[tuple[int, float]], size: int, page: int = PAGE, way: int = WAY, whole: float = 0.0
    ) -> Footprint:
        """Return the footprint of a block.

        Args:
            axes: (stride in elements, without its sign, and indices in the block) of each axis that the tensor depends
                on, the smallest stride first; indices may be averages.
            size: bytes of an element.
            page: bytes of a page.
            way: bytes after which addresses fall into the same set of each cache.
            whole: elements in which pieces go on from block to block, if those of the block are an average.
        """
        reach = span = float(size)
        pieces = places = groups = 1.0
        apart = 0
        for stride, count in axes:
            if count <= 1:
                continue
            distance = stride * size
            if distance < reach + LINE:
                grown = (count - 1) * distance
                reach, span = reach + grown, span + grown
                continue
            pieces *= count
            apart, sets = gcd(apart, distance), way // gcd(distance, way)
            places *= count if count < sets else sets
            if distance < span + page:
                span += (count - 1) * distance
            else:
                groups *= count
        ends = groups * (1 - size / page) if groups > 1 else 0.0
        pages = groups * span / page + ends
        if pieces == 1:
            lines = reach / LINE if reach > LINE else 1.0
            return Footprint(lines, 1.0, lines * LINE, pages, lines * LINE, ends)
        # Blocks follow each other: pieces begin at multiples of `grain` bytes, and some reach into one more line.
        grain = gcd(apart, LINE, max(round(max(whole * size, reach)), 1))
        lines = (ceil(reach / grain) - 1) * grain / LINE + 1
        room = pieces * max(lines * LINE, gcd(apart, way))
        if pieces > places:  # Each axis by itself: what a second one adds may fill few of the sets between.
            room = max(room, pieces / places * way)
        return Footprint(pieces * lines, pieces, room, pages, room, ends)
