"""`Work`: the slices of a contraction as units that anyone may compute, anywhere, in any order, to the same bits.

A unit is all slices below one node of the tree in which the slices of a place are summed. It reads views of the
operands. Sums of units are added along the rest of that tree; what places are made of lies side by side, and where
places are small, neighbours are handed out together. How large units are follows from the contraction alone, never from
who computes them.

>>> from einloom.plan.problem import make_problem
>>> from einloom.plan.slices import Cut, Slicing
>>> problem = make_problem("ab,b->a", [(4, 6), (6,)], [None] * 2, "float32")
>>> work = Work(Slicing(problem, ((0, 1),), (Cut("b", 6, 1),)), 4)
>>> work.units
(Unit(start=0, count=4), Unit(start=4, count=2))
>>> folded(work.whole(0), 4, str, lambda a, b: f"({a} + {b})")
'(0:4 + 4:6)'
>>> Work(Slicing(problem, ((0, 1),), (Cut("a", 4, 1),)), 2).together
(range(0, 2), range(2, 4))
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeVar

from einloom.frozen import frozen
from einloom.once import cached_property
from einloom.plan.slices import Slicing, first_half

__all__ = ["Unit", "Work", "below", "folded"]

Value = TypeVar("Value")


@frozen
class Unit:
    """Slices of one place: the `count` leaves from `start` on, all that are below one node of its tree of sums."""

    start: int
    count: int

    @property
    def stop(self) -> int:
        """The number behind the last slice."""
        return self.start + self.count

    @property
    def halves(self) -> tuple[Unit, Unit]:
        """The nodes below this one, of two slices at least."""
        half = first_half(self.count)
        return Unit(self.start, half), Unit(self.start + half, self.count - half)

    def __str__(self) -> str:
        return f"{self.start}:{self.stop}"


@frozen(slots=False)
class Work:
    """The slices of a contraction, in units of at most `grain` slices.

    Attributes:
        slicing: what is cut.
        grain: a power of two; where it is more than a place has, places are handed out together.
    """

    slicing: Slicing
    grain: int = 1

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """All units, in the order of their slices."""
        return tuple(unit for place in range(self.slicing.places) for unit in self.of_place(place))

    def of_place(self, place: int) -> Iterator[Unit]:
        """Yield the units of a place."""
        yield from below(self.whole(place), self.grain)

    def whole(self, place: int) -> Unit:
        """Return all slices of a place."""
        return Unit(place * self.slicing.leaves, self.slicing.leaves)

    @cached_property
    def together(self) -> tuple[range, ...]:
        """The places, those together that are handed out together."""
        places, most = range(self.slicing.places), self.neighbours
        return tuple(places[first : first + most] for first in range(0, len(places), most))

    @property
    def neighbours(self) -> int:
        """How many places are handed out together, at most."""
        return min(max(self.grain // self.slicing.leaves, 1), self.slicing.places)

    @cached_property
    def tasks(self) -> Counter[int]:
        """How many tasks there are of each number of slices: units, or places together. Nothing is listed."""
        leaves, places = self.slicing.leaves, self.slicing.places
        if self.grain < leaves:  # Nodes of a tree have powers of two of slices, all but the last one.
            full, rest = divmod(leaves, self.grain)
            return +Counter({self.grain: full * places, rest: places if rest else 0})
        most = self.neighbours
        full, rest = divmod(places, most)
        return +Counter({most * leaves: full, rest * leaves: min(rest, 1)})

    def place(self, unit: Unit) -> int:
        """Return the place that a unit is part of."""
        return unit.start // self.slicing.leaves

    def is_whole(self, unit: Unit) -> bool:
        """Whether a unit is all of its place, so that its result is a part of the contraction's."""
        return unit.count == self.slicing.leaves


def below(node: Unit, most: int) -> Iterator[Unit]:
    """Yield the highest nodes below one, or it itself, that have at most so many slices."""
    if node.count <= most:
        yield node
    else:
        for half in node.halves:
            yield from below(half, most)


def folded(node: Unit, most: int, leaf: Callable[[Unit], Value], add: Callable[[Value, Value], Value]) -> Value:
    """Return what the tree of sums makes of a node.

    Args:
        node: what is summed.
        most: slices of the nodes that `leaf` stands for; it is called from left to right.
        leaf: what stands for such a node.
        add: what stands for the sum of two neighbours, the left one first.
    """
    if node.count <= most:
        return leaf(node)
    left, right = node.halves
    first = folded(left, most, leaf, add)
    return add(first, folded(right, most, leaf, add))
