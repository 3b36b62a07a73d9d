"""The loops of a schedule from the outside in, and what each buffer has inside each of them.

>>> from einloom.ir.operation import DimType
>>> walk = Walk([Axis("m", 10, DimType.M)])
>>> walk.add("m", 4)
>>> walk.sizes[-1], walk.trips[-1]
([3.3333333333333335], 3.0)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from einloom.ir.operation import Axis
from einloom.passes.model.footprint import Footprint

__all__ = ["StridedAxis", "Use", "Walk"]


class Walk:
    """Loops, and how far a block reaches inside each of them.

    The last block of an axis is short, so sizes are averages: an axis of 10 in steps of 4 has blocks of 10/3.

    Attributes:
        places: of the axes, by name.
        extents: of the axes, 1 at least.
        sizes: indices of each axis inside the first so many loops, on average; `spans`: of a whole block.
        trips: of each loop, on average; `runs`: of all loops up to it.
        axes: the axis of each loop.
    """

    def __init__(self, axes: Sequence[Axis]) -> None:
        self.places = {axis.name: i for i, axis in enumerate(axes)}
        self.extents = [axis.extent or 1 for axis in axes]
        self.sizes, self.spans = [[float(extent) for extent in self.extents]], [self.extents]
        self.trips, self.runs, self.axes = [1.0], [1.0], [-1]
        self._blocks = [1] * len(self.extents)

    def add(self, name: str, step: int) -> None:
        """Add a loop inside all others."""
        axis = self.places[name]
        extent = self.extents[axis]
        count = -(-extent // step)
        sizes, spans = self.sizes[-1].copy(), self.spans[-1].copy()
        sizes[axis], spans[axis] = extent / count, min(step, spans[axis])
        self.sizes.append(sizes)
        self.spans.append(spans)
        self.trips.append(count / self._blocks[axis])
        self.runs.append(self.runs[-1] * self.trips[-1])
        self.axes.append(axis)
        self._blocks[axis] = count

    @property
    def depth(self) -> int:
        """How many loops there are."""
        return len(self.trips) - 1


class StridedAxis(NamedTuple):
    """Indices of an axis that lie `stride` elements apart: in steps of so many, at most so many in all."""

    stride: int
    axis: int
    step: int = 1
    most: int = 2**62


class Use(NamedTuple):
    """One buffer inside each loop.

    Attributes:
        strided: the axes that it is made of, the smallest stride first.
        first, last: the outermost and the innermost depth at which it is used.
        at: its footprint at each depth.
    """

    strided: tuple[StridedAxis, ...]
    first: int
    last: int
    at: list[Footprint]

    @staticmethod
    def of(
        walk: Walk,
        strided: tuple[StridedAxis, ...],
        first: int,
        last: int,
        footprint: Callable[[tuple[float, ...]], Footprint],
    ) -> Use:
        """Return the use of a buffer of which `footprint` gives the block with so many indices of each axis."""
        sizes, counts = walk.sizes[first], list[float]()
        places: dict[int, list[int]] = {}
        for place, (_, axis, step, most) in enumerate(strided):
            counts.append(_count(sizes[axis], step, most))
            places.setdefault(axis, []).append(place)
        now = footprint(tuple(counts))
        at = [now] * (first + 1)
        for depth in range(first + 1, len(walk.axes)):
            axis = walk.axes[depth]
            if depth <= last and axis in places:
                for place in places[axis]:
                    counts[place] = _count(walk.sizes[depth][axis], *strided[place][2:])
                now = footprint(tuple(counts))
            at.append(now)
        return Use(strided, first, last, at)

    def fetched(self, walk: Walk, forgets: Sequence[float], innermost: int, of: int) -> float:
        """Return how much a cache fetches of the buffer from its first use on.

        Args:
            walk: the loops.
            forgets: by depth, the share of what one iteration touched that is gone when the loop comes round again.
            innermost: the innermost depth at which anything is.
            of: what is fetched, a field of `Footprint`: lines, or pages.
        """
        at, trips = self.at, walk.trips
        if innermost > self.last:
            innermost = self.last
        if innermost <= self.first:  # Nothing is forgotten inside: each is fetched once.
            return at[self.first][of]
        fetched = at[innermost][of]
        for depth in range(innermost, self.first, -1):
            miss = forgets[depth]
            fetched *= miss * trips[depth] + (1.0 - miss) * at[depth - 1][of] / at[depth][of]
        return fetched


def _count(size: float, step: int, most: int) -> float:
    """Return how many steps of so many indices a block has of an axis that repeats after `most`."""
    count = (size if size < most else most) / step
    return count if count > 1.0 else 1.0
