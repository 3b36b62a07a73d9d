"""`plan_arena`: where the intermediate tensors of a plan lie in one piece of memory, which those share that never meet.

The largest is placed first, each into the smallest gap that it fits among those that live at the same time ("greedy by
size" of Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference, 2020).

>>> plan_arena([Life(100, 0, 1), Life(60, 1, 2), Life(80, 2, 3)])
Arena(places=(0, 128, 0), size=192)
>>> plan_arena([Life(100, 0, 1, lane=0), Life(60, 2, 3, lane=1)])  # Nobody knows which of two lanes is ahead.
Arena(places=(0, 128), size=192)
"""

from __future__ import annotations

from collections.abc import Sequence

from einloom.frozen import frozen

__all__ = ["LINE", "Arena", "Life", "plan_arena", "whole_lines"]

LINE = 64
"""Every tensor begins at a cache line."""


@frozen
class Life:
    """A tensor of so many bytes, from the step that writes it to the last one that reads it, both included.

    Steps follow each other, but for those of different lanes, which run at the same time.
    """

    size: int
    written: int
    read: int
    lane: int | None = None

    def meets(self, other: Life) -> bool:
        """Whether there may be a time at which both live."""
        if self.lane is not None and other.lane is not None and self.lane != other.lane:
            return True
        return other.written <= self.read and self.written <= other.read


@frozen
class Arena:
    """Offsets of tensors in bytes, and how many bytes all of them take."""

    places: tuple[int, ...]
    size: int


def plan_arena(lives: Sequence[Life]) -> Arena:
    """Return where tensors lie so that those that live at the same time share no byte."""
    places: dict[int, int] = {}
    for number in sorted(range(len(lives)), key=lambda i: (-lives[i].size, i)):
        life = lives[number]
        beside = [i for i in places if lives[i].meets(life)]
        taken = sorted((places[i], places[i] + whole_lines(lives[i].size)) for i in beside)
        places[number] = _smallest_gap(taken, whole_lines(life.size))
    size = max((places[i] + whole_lines(life.size) for i, life in enumerate(lives)), default=0)
    return Arena(tuple(places[i] for i in range(len(lives))), size)


def _smallest_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    """Return the beginning of the smallest gap of at least `size` bytes between pieces in order; else their end."""
    end, best = 0, None
    for begin, behind in taken:
        gap = begin - end
        if gap >= size and (best is None or gap < best[0]):
            best = gap, end
        end = max(end, behind)
    return end if best is None else best[1]


def whole_lines(size: int) -> int:
    """Return so many bytes in whole cache lines."""
    return -(-size // LINE) * LINE
