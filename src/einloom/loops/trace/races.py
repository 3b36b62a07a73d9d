"""Races of a traced body: two threads touch an element, at least one of them writes, and no barrier is between.

Most bodies are proven to have none from their subscripts: iterations that touch the same block agree in the index of
every parallel loop, so one thread runs both. What that does not settle is tried: every iteration of every thread
marks what it touches, from one barrier to the next. A body with a race is refused with two of its iterations. So is
one that asks for its thread where threads take pieces as they come: its result would differ from run to run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import gcd, prod

import numpy as np

from einloom.errors import OverlapError, ScheduleError
from einloom.ir.nest import Test
from einloom.ir.sharing import THREAD, Clause, Dimension, Grid, Policy
from einloom.loops.nest import LETTERS, LoopNest
from einloom.loops.trace.index import Condition, Index
from einloom.loops.trace.pieces import check_pieces, own_block
from einloom.loops.trace.ranges import touched
from einloom.loops.trace.recorder import RecordedCall, Recorder
from einloom.loops.trace.tensor import Base, Part
from einloom.loops.trace.touches import Touched, touches
from einloom.loops.walk import walk

__all__ = ["check_races"]

MOST_STEPS = 200_000
"""Iterations that are tried before a body that could not be proven is refused."""

MOST_ELEMENTS = 2**24


def check_races(recording: Recorder) -> tuple[frozenset[int], tuple[str, ...]]:
    """Return where barriers are needed beside the string's, by position of the loop before them, and notes.

    Raises:
        ScheduleError: a race; the message shows two iterations, their threads and what both touch. Or the number of a
            thread, where threads take pieces as they come.
        OverlapError: a call that reads what it writes elsewhere.
    """
    nest = recording.nest
    every = [each for each in touches(recording) if not each.base.is_scratch]
    for call in {id(each.call): each.call for each in touches(recording)}.values():
        _check_alone(call, nest)
    if nest.threads == 1:
        return frozenset(), ()
    if nest.group and not nest.clause.is_static:
        check_pieces(touches(recording), nest)
    pairs = [
        (first, second)
        for place, first in enumerate(every)
        for second in every[place:]
        if first.base is second.base and (first.writes or second.writes)
    ]
    proof = _Proof(nest)
    if not all(proof.holds(*pair) for pair in pairs):
        _try(nest, every)
    group = nest.string.group
    if nest.clause.is_static or not group.start or all(proof.holds(*pair, across=True) for pair in pairs):
        return frozenset(), ("every block keeps its thread",) if pairs else ()
    note = f"a barrier behind loop {nest.loops[group[-1]].name}: {nest.clause} gives blocks to other threads"
    return frozenset([group[-1]]), (note,)


def _check_alone(call: RecordedCall, nest: LoopNest) -> None:
    """The output of a call shares no element with an input, but for the same block of an element-wise one."""
    *inputs, output = call.tensors
    proof = _Proof(nest)
    for each in inputs:
        if each.base is not output.base or each is output:
            continue
        same = each.offset.key == output.offset.key and each.strides == output.strides and each.shape == output.shape
        if same and not call.primitive.is_contraction:
            continue
        first = Touched(each.base, touched(call, each, nest), False, (), call)
        second = Touched(output.base, output.parts, True, (), call)
        if not proof.disjoint(first, second, {*LETTERS, THREAD, *map(str, Dimension)}):
            raise OverlapError(
                f"{call.primitive} writes {output!r} and reads {each!r}\n  {call.line}\n"
                "  Compute into scratch, or into another tensor."
            )


class _Proof:
    """What subscripts say about two iterations that touch the same element."""

    def __init__(self, nest: LoopNest) -> None:
        self.nest = nest
        self.distance = {letter: gcd(*(x.step for x in nest.loops if x.letter == letter)) for letter in _letters(nest)}
        self.parallel = {loop.letter for loop in nest.loops if loop.collapsed or loop.ways}
        self.phases = self._phases()

    def holds(self, first: Touched, second: Touched, across: bool = False) -> bool:
        """Whether iterations that touch a common element in one phase are one thread's.

        With `across` threads take pieces as they come: then they have to be in one execution of the parallel loop.
        """
        equal = set(self.phases)
        if self.disjoint(first, second, equal):
            return True
        if THREAD in equal and not across:
            return True
        outer = self.nest.loops[: self.nest.string.group.start] if across else ()
        return self.parallel | {loop.letter for loop in outer} <= equal

    def disjoint(self, first: Touched, second: Touched, equal: set[str]) -> bool:
        """Whether two iterations that agree in the symbols `equal` share no element; adds what sharing one implies."""
        changed = True
        while changed:
            changed = False
            for one, other in zip(first.parts, second.parts):
                symbol, apart = self._compare(one, other, equal)
                if apart:
                    return True
                if symbol and symbol not in equal:
                    equal.add(symbol)
                    changed = True
        return False

    def _compare(self, one: Part, other: Part, equal: set[str]) -> tuple[str | None, bool]:
        """The symbol whose value parts of an axis share if they overlap, if one does; whether they never overlap."""
        open_terms = {symbol for symbol in {*one.start.terms, *other.start.terms} if symbol not in equal}
        alike = all(one.start.terms.get(s) == other.start.terms.get(s) for s in {*one.start.terms, *other.start.terms})
        if not alike:
            return None, False
        shift = one.start.constant - other.start.constant
        if not open_terms:
            return None, not -one.span < shift < other.span
        if len(open_terms) > 1:
            return None, False
        (symbol,) = open_terms
        follows = one.loop == other.loop == symbol and shift == 0
        step = abs(one.start.terms[symbol]) * self.distance.get(symbol, 1)
        return (symbol if follows or max(one.span, other.span) + abs(shift) <= step else None), False

    def _phases(self) -> set[str]:
        """The letters whose indices are the same in all iterations between two barriers."""
        inside = max((place for place, loop in enumerate(self.nest.loops) if loop.barrier), default=0)
        around = self.nest.loops[:inside]
        return {
            loop.letter
            for loop in around
            if all(x.letter != loop.letter for x in self.nest.loops[inside:])
            and not any(x.ways or x.collapsed for x in around if x.letter == loop.letter)
        }


def _letters(nest: LoopNest) -> str:
    return LETTERS[: len(nest.specs)]


# ---- trying ---------------------------------------------------------------------------------------------------------


def _try(nest: LoopNest, every: Sequence[Touched]) -> None:
    """Go through all iterations, and refuse the first two that race.

    Raises:
        ScheduleError: two do, or there are too many to try.
    """
    steps = prod(max(loop.trips, 1) for loop in nest.loops)
    bases = {each.base.name: each.base for each in every if each.writes}
    if steps > MOST_STEPS or any(prod(base.shape) > MOST_ELEMENTS for base in bases.values()):
        raise ScheduleError(
            f"{nest.string}: it cannot be shown that threads touch different blocks, and {steps:,} iterations are too "
            "many to try\n  Give parallel loops to axes of the output, each with a subscript of its own."
        )
    finest = _finest(nest)
    marks = {name: _Marks(base) for name, base in bases.items()}
    walks = [walk(finest, thread) for thread in range(finest.threads)]
    waiting = list(enumerate(walks))
    while waiting:
        still: list[tuple[int, Iterator[tuple[int, ...] | None]]] = []
        for thread, iterations in waiting:
            for indices in iterations:
                if indices is None:
                    still.append((thread, iterations))
                    break
                values = _values(finest, thread, indices)
                for each in every:
                    if each.base.name in marks and _enters(each.conditions, values):
                        marks[each.base.name].mark(each, thread, indices, values, nest)
        for mark in marks.values():
            mark.clear()
        waiting = still


def _finest(nest: LoopNest) -> LoopNest:
    """The nest with a thread for each piece, where threads take them as they come."""
    if nest.clause.is_static or not nest.group:
        return nest
    total = prod(loop.trips for loop in nest.group)
    chunk = nest.clause.chunk or 1 if nest.clause.policy is Policy.DYNAMIC else 1
    string = replace(nest.string, clause=Clause(Policy.STATIC, chunk))
    return replace(nest, string=string, threads=max(-(-total // chunk), 1))


def _values(nest: LoopNest, thread: int, indices: tuple[int, ...]) -> dict[str, int]:
    grid = nest.grid or Grid()
    teams = {str(dimension): grid.index(thread, dimension) for dimension in Dimension}
    return dict(zip(LETTERS, indices)) | teams | {THREAD: thread}


def _value(index: Index, values: dict[str, int]) -> int:
    return index.constant + sum(factor * values[symbol] for symbol, factor in index.terms.items())


def _enters(conditions: tuple[Condition, ...], values: dict[str, int]) -> bool:
    return all(
        Test("", each.relation, each.bound, each.modulus).holds(_value(each.index, values))
        for each in chain.from_iterable(condition.comparisons for condition in conditions)
    )


class _Marks:
    """Who touched each element of a base since the last barrier."""

    def __init__(self, base: Base) -> None:
        self.base = base
        self.seen: list[tuple[int, tuple[int, ...], Touched]] = []
        self.threads: list[int] = []
        # By element the number of a touch, from 1: the writer's, a reader's, that of a reader on another thread.
        self.writer, self.reader, self.other = (np.zeros(base.shape, np.int32) for _ in range(3))

    def clear(self) -> None:
        """Forget all touches: a barrier is between them and what comes."""
        if self.seen:
            self.seen.clear()
            self.threads.clear()
            for marks in (self.writer, self.reader, self.other):
                marks[...] = 0

    def mark(
        self, each: Touched, thread: int, indices: tuple[int, ...], values: dict[str, int], nest: LoopNest
    ) -> None:
        """Note a touch; refuse the body if another thread's touch is in its way."""
        region = tuple(self._range(part, values, nest) for part in each.parts)
        self.seen.append((thread, indices, each))
        self.threads.append(thread)
        number, threads = len(self.seen), np.array([thread, *self.threads])
        against = (self.writer, self.reader, self.other) if each.writes else (self.writer,)
        for marks in against:
            found = marks[region]
            wrong = found[(found > 0) & (threads[found] != thread)]
            if wrong.size:
                raise _race(nest, self.seen[int(wrong[0]) - 1], self.seen[-1], region)
        if each.writes:
            self.writer[region] = number
            return
        first, another = self.reader[region], self.other[region]
        another[(first > 0) & (threads[first] != thread)] = number
        first[first == 0] = number

    def _range(self, part: Part, values: dict[str, int], nest: LoopNest) -> slice:
        start = _value(part.start, values)
        if part.loop is None:
            return slice(start, start + part.span, part.step)
        return slice(start, start + min(part.length, nest.iteration_length(part.loop, values[part.loop])))


def _text(part: slice) -> str:
    if part.stop == part.start + 1:
        return str(part.start)
    return f"{part.start}:{part.stop}" + ("" if part.step in (None, 1) else f":{part.step}")


def _race(
    nest: LoopNest,
    first: tuple[int, tuple[int, ...], Touched],
    second: tuple[int, tuple[int, ...], Touched],
    region: tuple[slice, ...],
) -> ScheduleError:
    letters = _letters(nest)

    def said(touch: tuple[int, tuple[int, ...], Touched]) -> str:
        thread, indices, each = touch
        place = ", ".join(f"{letter}={index}" for letter, index in zip(letters, indices))
        verb = "writes" if each.writes else "reads"
        return f"{'piece' if not nest.clause.is_static and nest.group else 'thread'} {thread} {verb} it at {place}"

    block = ", ".join(map(_text, region))
    text = f"{second[2].base.name}[{block}]"
    return ScheduleError(
        f"a race: two threads touch {text}\n  {said(first)}: {first[2].call.line}\n"
        f"  {said(second)}: {second[2].call.line}\n  {nest.string}\n"
        f"  Make the loop over the sum sequential, or put a barrier between. {own_block(nest)}."
    )
