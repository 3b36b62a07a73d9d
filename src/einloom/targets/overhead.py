"""`Overhead`: what a program executes between its kernels at least, counted on its code.

The code around a nest's calls moves positions, counts, follows what is left of axes, chooses the kernel for the block
at hand. Of the ways that its branches leave open, the shortest one counts. Threads' shares and curves are left out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import accumulate, pairwise

from einloom.asm import Assembler, Label
from einloom.asm.assembler import Directive
from einloom.frozen import frozen
from einloom.ir.nest import Call, Loop, Nest, Node
from einloom.kernels.work import Work, is_branch, kinds_of
from einloom.machine import Machine
from einloom.targets.cpu import lower_loops
from einloom.targets.program import Place

__all__ = ["Overhead"]


class Overhead:
    """Counts the code around a nest's kernels. What it says of a node leaves out the nodes inside.

    Args:
        nest: whose nodes are asked about.
        machine: that the code is generated for.
    """

    def __init__(self, nest: Nest, machine: Machine) -> None:
        self._nest = nest  # Its nodes are known by their identities.
        assembler, places = lower_loops(nest, machine)
        self._code = _Code(assembler)
        self._places: dict[tuple[int, tuple[int, ...] | None], list[_Region]] = {}
        for place, region in _regions(places):
            self._places.setdefault((id(place.node), place.sizes), []).append(region)

    def call(self, call: Call, sizes: tuple[int, ...]) -> Work:
        """Return what a call of the kernel for such blocks executes around the kernel."""
        found = [
            self._code.least(whole, whole.start, at.start).plus(self._code.least(whole, at.start, whole.end))
            for at in self._places.get((id(call), sizes), ())
            for whole in self._places[id(call), None]
            if whole.start <= at.start < whole.end
        ]
        return _least(found)

    def loop(self, loop: Loop, turns: int) -> Work:
        """Return what a loop with so many turns executes around what is inside."""
        return _least([self._loop(region, turns) for region in self._places.get((id(loop), None), ())])

    def other(self, node: Node) -> Work:
        """Return what any other node executes around what is inside, whether or not that is gone over."""
        found = self._places.get((id(node), None), ())
        return _least([self._code.least(each, each.start, each.end) for each in found])

    def _loop(self, region: _Region, turns: int) -> Work:
        if not region.inside:
            return Work()
        first, last = min(region.inside), max(region.inside.values())
        once = self._code.least(region, region.start, first).plus(self._code.least(region, last, region.end))
        again = self._code.least(region, last, first)
        for (_, end), (start, _) in pairwise(sorted(region.inside.items())):
            between = self._code.least(region, end, start)
            once, again = once.plus(between), again.plus(between)
        return once.plus(again, turns - 1)


@frozen
class _Region:
    """The code of a node; `inside` has where that of the nodes right inside ends, by where it starts."""

    start: int
    end: int
    inside: Mapping[int, int]


def _regions(places: Sequence[Place]) -> Iterator[tuple[Place, _Region]]:
    """Yield places with the regions that they are. Nodes inside come before those around them."""
    around: list[Place] = []
    for place in places:
        inside: dict[int, int] = {}
        while place.sizes is None and around and around[-1].start >= place.start:
            each = around.pop()
            inside |= {each.start: each.end} if each.start < each.end else {}
        yield place, _Region(place.start, place.end, inside)
        around.append(place)


class _Code:
    """The records of a program as a graph of the ways through them: stretches without branches, and branches."""

    def __init__(self, assembler: Assembler) -> None:
        kinds, nothing = kinds_of(assembler.isa), (0,) * len(Work())
        places = {x: place for place, (form, x, _) in enumerate(assembler.records) if form is Directive.LABEL}
        counts: list[tuple[int, ...]] = []
        self._next: dict[int, tuple[int, ...]] = {}
        for place, (form, operands, _) in enumerate(assembler.records):
            if isinstance(form, Directive):
                counts.append(nothing)
                continue
            counts.append(kinds(form.mnemonic, operands))
            if is_branch(form.mnemonic):
                targets = tuple(places[each] for each in operands if isinstance(each, Label))
                self._next[place] = targets if form.mnemonic in _ALWAYS else (*targets, place + 1)
        self._before = [(0, *accumulate(each)) for each in list(zip(*counts))[:_COUNTED]]
        self._branches = list(self._next)

    def least(self, region: _Region, start: int, end: int) -> Work:
        """Return what a region executes at least from before one record to before another one, of each kind by itself.

        What is inside is free.
        """
        stops = sorted((*region.inside, region.end, end))
        return Work(*(self._distance(region, stops, before, start, end) for before in self._before))

    def _distance(self, region: _Region, stops: Sequence[int], before: Sequence[int], start: int, end: int) -> int:
        """The length of the shortest way; 0 where there is none. `before`: how many of the kind lie before a place."""
        reached, waiting = {start: 0}, [(0, start)]
        while waiting:
            far, place = heappop(waiting)
            if place == end:
                return far
            if place == region.end or far > reached[place]:
                continue
            for following in self._following(region, stops, place):
                passed = place + 1 if place in self._next else following
                length = far + (0 if place in region.inside else before[passed] - before[place])
                if region.start <= following <= region.end and length < reached.get(following, length + 1):
                    reached[following] = length
                    heappush(waiting, (length, following))
        return 0

    def _following(self, region: _Region, stops: Sequence[int], place: int) -> tuple[int, ...]:
        """Return where a way may go from a place: behind what is inside, as a branch says, or to the next of both."""
        if place in region.inside:
            return (region.inside[place],)
        if place in self._next:
            return self._next[place]
        branch = bisect_left(self._branches, place)
        stop = stops[bisect_right(stops, place)]
        return (min(stop, self._branches[branch]) if branch < len(self._branches) else stop,)


def _least(found: Sequence[Work]) -> Work:
    """The least of each kind; nothing of nothing."""
    return Work(*map(min, zip(*found))) if found else Work()


_ALWAYS = ("jmp", "b")
"""Branches without a condition."""

_COUNTED = Work._fields.index("shuffles")
"""Of how many kinds there are any: the first ones. What runs between kernels has no vectors."""
