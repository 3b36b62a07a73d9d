"""The meaning of a loop string, in Python: which iterations each thread runs, in which order, and where it waits.

`walk` is the reference that everything generated is compared with; Python bodies are run by it.

>>> from einloom.ir.loop_text import parse_loop_string
>>> from einloom.loops.spec import LoopSpec
>>> nest = LoopNest.of(parse_loop_string("aB|"), (LoopSpec(0, 2), LoopSpec(0, 3)), threads=2)
>>> [step or "wait" for step in walk(nest, 1)]
[(0, 1), (0, 2), 'wait', (1, 1), (1, 2), 'wait']
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Literal

from einloom.ir.sharing import Clause, Grid
from einloom.loops.nest import LETTERS, LoopNest, NestLoop

__all__ = ["run_threads", "walk"]

Step = tuple[int, ...] | None
"""The logical indices of an iteration, a b c …; None: wait for the other threads."""

Edge = Callable[[int, Literal["init", "term"]], None]
"""What happens where a thread begins and ends."""

Ranges = dict[str, tuple[int, int]]
"""By letter, the indices that the loops so far leave: from, and below."""


def walk(nest: LoopNest, thread: int) -> Iterator[Step]:
    """Yield what a thread does, in order.

    The iterations of the parallel loop are counted as if every block were whole; what lies behind the end of a short
    one does nothing. Where threads take pieces as they come, thread t gets every n-th piece from the t-th on.
    """
    ranges = {letter: (spec.start, spec.start + spec.extent) for letter, spec in zip(LETTERS, nest.specs)}
    yield from _Walk(nest, thread).steps(0, ranges)


def run_threads(nest: LoopNest, visit: Callable[[int, tuple[int, ...]], None], edge: Edge | None = None) -> None:
    """Call `visit(thread, indices)` for every iteration: thread after thread, from one barrier to the next.

    `edge(thread, "init")` comes before a thread's first iteration, `edge(thread, "term")` behind its last.
    """
    waiting = [(thread, walk(nest, thread)) for thread in range(nest.threads)]
    begun: set[int] = set()
    while waiting:
        still: list[tuple[int, Iterator[Step]]] = []
        for thread, steps in waiting:
            if edge is not None and thread not in begun:
                begun.add(thread)
                edge(thread, "init")
            for indices in steps:
                if indices is None:
                    still.append((thread, steps))
                    break
                visit(thread, indices)
            else:
                if edge is not None:
                    edge(thread, "term")
        waiting = still


class _Walk:
    """One thread's way through a nest."""

    def __init__(self, nest: LoopNest, thread: int) -> None:
        self.nest = nest
        self.thread = thread
        self.group = nest.string.group
        self.grid = nest.grid or Grid()

    def steps(self, place: int, ranges: Ranges) -> Iterator[Step]:
        """Yield what the loops from `place` on do."""
        if place == len(self.nest.loops):
            yield tuple(ranges[letter][0] for letter in sorted(ranges))
        elif self.group and place == self.group.start:
            yield from self._collapsed(ranges)
        else:
            loop = self.nest.loops[place]
            for number in self._own(loop):
                inner = _iteration(loop, ranges, number)
                if inner is not None:
                    yield from self.steps(place + 1, inner)
            if loop.barrier:
                yield None

    def _own(self, loop: NestLoop) -> range:
        if loop.ways is None:
            return range(loop.trips)
        return loop.ways.share(loop.trips, self.grid.index(self.thread, loop.ways.dimension))

    def _collapsed(self, ranges: Ranges) -> Iterator[Step]:
        loops = self.nest.group
        clause: Clause = self.nest.clause
        total = math.prod(loop.trips for loop in loops)
        for piece in clause.share(total, self.thread, self.nest.threads):
            for number in piece:
                inner = _iterations(loops, ranges, number)
                if inner is not None:
                    yield from self.steps(self.group.stop, inner)
        if loops[-1].barrier:
            yield None


def _iterations(loops: tuple[NestLoop, ...], ranges: Ranges, number: int) -> Ranges | None:
    """The ranges inside iteration `number` of several loops as one; None where a short block has no such iteration."""
    inner: Ranges | None = ranges
    rest = math.prod(loop.trips for loop in loops)
    for loop in loops:
        rest //= loop.trips
        index, number = divmod(number, rest)
        inner = _iteration(loop, inner, index)
        if inner is None:
            return None
    return inner


def _iteration(loop: NestLoop, ranges: Ranges, number: int) -> Ranges | None:
    start, end = ranges[loop.letter]
    begin = start + number * loop.step
    if begin >= end:
        return None
    return ranges | {loop.letter: (begin, min(begin + loop.step, end))}
