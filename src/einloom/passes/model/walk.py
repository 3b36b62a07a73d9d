"""The loops of a schedule from the outside in, and what each buffer has inside each of them.

>>> walk = Walk([10])
>>> walk.add(0, 4)
>>> walk.loops[-1], walk.trips[-1]
((0, 3.3333333333333335), 3.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from einloom.passes.model.footprint import Footprint

__all__ = ["Forgotten", "StridedAxis", "Use", "Walk"]


class Walk:
    """Loops, and how far a block reaches inside each of them. Axes go by their positions.

    The last block of an axis is short, so sizes are averages: an axis of 10 in steps of 4 has blocks of 10/3.

    Attributes:
        extents: of the axes, 1 at least.
        spans: by depth, the indices of each axis in a whole block.
        loops: the axis of each and its indices inside the loop, on average; from 1 on: at 0 there is none.
        trips: of each loop, on average; `runs`: of all loops up to it.
    """

    def __init__(self, extents: Sequence[int]) -> None:
        self.extents, self.spans = extents, [[*extents]]
        self.loops, self.trips, self.runs = [(-1, 1.0)], [1.0], [1.0]
        self._blocks = [1] * len(extents)

    def add(self, axis: int, step: int) -> None:
        """Add a loop inside all others."""
        extent, spans = self.extents[axis], self.spans[-1]
        count = -(-extent // step)
        trips = count / self._blocks[axis]
        self._blocks[axis] = count
        if step < spans[axis]:
            spans = [*spans]
            spans[axis] = step
        self.spans.append(spans)
        self.loops.append((axis, extent / count))
        self.trips.append(trips)
        self.runs.append(self.runs[-1] * trips)

    @property
    def depth(self) -> int:
        """How many loops there are."""
        return len(self.trips) - 1

    def inside(self, depth: int) -> list[float]:
        """Return the indices of each axis inside so many loops, on average."""
        sizes: list[float] = [*self.extents]
        for axis, size in self.loops[1 : depth + 1]:
            sizes[axis] = size
        return sizes


class StridedAxis(NamedTuple):
    """Indices of an axis that lie `stride` elements apart: in steps of so many, at most so many in all."""

    stride: int
    axis: int
    step: int = 1
    most: int = 2**62


class Forgotten(NamedTuple):
    """What is gone from a cache when a loop comes round again.

    Attributes:
        shares: by depth, of what one iteration has touched.
        innermost: the innermost depth at which anything is gone.
        surely: down to which depth everything is gone at each.
    """

    shares: list[float]
    innermost: int
    surely: int


class Use(NamedTuple):
    """One buffer inside each loop.

    Attributes:
        strided: the axes that it is made of, the smallest stride first.
        first, last: the outermost and the innermost depth at which it is used.
        at: its footprint at each depth; `lines`, `rooms`, `far_rooms`, `pages`, `ends`: of these.
        crowded: whether lines of some of its blocks fall into few sets of a cache.
    """

    strided: tuple[StridedAxis, ...]
    first: int
    last: int
    at: list[Footprint]
    lines: Sequence[float]
    rooms: Sequence[float]
    far_rooms: Sequence[float]
    pages: Sequence[float]
    ends: Sequence[float]
    crowded: bool

    def fetched(self, walk: Walk, forgotten: Sequence[Forgotten], reached: Sequence[float]) -> list[float]:
        """Return how much each cache fetches of the buffer from its first use on.

        Args:
            walk: the loops.
            forgotten: what each cache loses.
            reached: by depth, how many lines the buffer has there.
        """
        first, last, trips, runs = self.first, self.last, walk.trips, walk.runs
        found: list[float] = []
        for shares, depth, surely in forgotten:
            if depth > last:
                depth = last
            if depth <= first:  # Nothing is forgotten inside: each is fetched once.
                found.append(reached[first])
                continue
            if surely < first:
                surely = first
            fetched = reached[depth]
            while depth > surely:
                gone = shares[depth]
                fetched *= gone * trips[depth] + (1.0 - gone) * reached[depth - 1] / reached[depth]
                depth -= 1
            found.append(fetched * (runs[depth] / runs[first]))
        return found
