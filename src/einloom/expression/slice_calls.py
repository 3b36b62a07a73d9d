"""`SliceCalls`: the slices of a contraction as calls of generated functions, shared among threads.

What a slice does is a list of calls: the steps of its tree, then the additions for which both sums are there. These
lists are tables (`jit.calls`) of some thousand calls, which NumPy writes for many slices at once. A thread holds the
sums that are not finished on a stack; what is left at the ends of its runs is added when all threads are through.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from einloom.expression.variant import Variant
from einloom.frozen import frozen
from einloom.jit.arrays import array_address
from einloom.jit.calls import Calls, run_calls
from einloom.plan.arena import whole_lines
from einloom.plan.shares import Run, shared_runs
from einloom.plan.slices import Lengths, Slicing, additions_behind, first_half, heights
from einloom.plan.units import Unit

__all__ = ["Kind", "SliceCalls", "Words"]

Words: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

CALLS_AT_ONCE = 2**14
"""Calls in the table of one thread: long against the start of a team, and within its caches."""


@frozen
class Kind:
    """Slices whose pieces have certain lengths.

    Attributes:
        slice: computes one, into its part of the result or, where slices are added up, into a tensor of its own.
        addition: adds such a tensor to another one.
        ending: makes a part of the result of its sums.
    """

    slice: Variant
    addition: Variant | None = None
    ending: Variant | None = None

    @property
    def variants(self) -> list[Variant]:
        """What it is made of."""
        return [variant for variant in (self.slice, self.addition, self.ending) if variant is not None]


class SliceCalls:
    """The calls of all slices.

    Args:
        slicing: what is cut.
        kinds: what computes slices, by the lengths of their pieces.
        threads: how many share them.
        moves: how far the next piece of each cut (rows) is from the last in operands and result (columns), in bytes.
        unit: the slices that are computed; None: all.

    Attributes:
        scratch_bytes: scratch that a call needs: for every thread, and for the sums at the ends of their runs.
    """

    def __init__(
        self, slicing: Slicing, kinds: dict[Lengths, Kind], threads: int, moves: Words, unit: Unit | None = None
    ) -> None:
        self._slicing, self._kinds, self._moves, self._unit = slicing, kinds, moves, unit
        self._shares = shared_runs(slicing, threads, unit)
        self._layouts = {id(variant): _Layout(variant) for kind in kinds.values() for variant in kind.variants}
        self._work = whole_lines(max(v.scratch_bytes for kind in kinds.values() for v in kind.variants))
        self._sum = whole_lines(max(kind.slice.steps[-1].step.bytes for kind in kinds.values()))
        depth = (slicing.leaves - 1).bit_length() + 1 if slicing.leaves > 1 else 0
        self._thread = self._work + depth * self._sum
        kept = sum(run.sums > 0 for runs in self._shares for run in runs)
        self.scratch_bytes = threads * self._thread + kept * self._sum

    def run(self, addresses: Sequence[int], begin: int) -> int:
        """Compute the slices of operands and a result at these addresses, with scratch from `begin` on.

        Returns:
            Where the sums lie in the scratch, for a unit that is only a part of a place; else 0.
        """
        given = np.array(addresses, np.int64)
        calls = max(sum(len(variant.steps) for variant in kind.variants) for kind in self._kinds.values())
        most, longest = max(CALLS_AT_ONCE // calls, 1), max(map(_length, self._shares))
        for first in range(0, longest, most):
            tables = [self._table(share, first, most, given, begin) for share in range(len(self._shares))]
            run_calls([table.rows for table in tables])
        ends, unit = _Table(), self._unit
        if unit is not None and unit.count < self._slicing.leaves:
            sums = self._joined(ends, unit, begin)
        else:
            sums = 0
            for place in self._by_place():
                self._end(ends, Unit(place * self._slicing.leaves, self._slicing.leaves), given, begin)
        if ends.parts:
            run_calls([ends.in_order().rows])
        return sums

    # ---- slices ------------------------------------------------------------------------------------------------

    def _table(self, share: int, first: int, most: int, given: Words, begin: int) -> _Table:
        """Return the calls of up to `most` slices of a thread, from its `first` on."""
        runs, table, slicing = self._shares[share], _Table(), self._slicing
        if first >= _length(runs):
            return table.in_order()
        start = runs[0].start + first
        numbers = np.arange(start, min(start + most, runs[-1].stop))
        starts, counts, kept = (np.array(x) for x in zip(*((run.start, run.count, run.sums) for run in runs)))
        own = np.searchsorted(starts, numbers, "right") - 1
        leaves, counts, kept = (numbers - starts[own]) % counts[own], counts[own], kept[own]
        indices = slicing.indices(numbers)
        tensors = given + indices @ self._moves
        for kind, chosen in self._by_kind(slicing.lengths(indices)):
            stack = _Stack(begin + share * self._thread, self._work, self._sum, self._kept(kept[chosen], begin))
            self._add_slices(table, kind, chosen, tensors[chosen], leaves[chosen], counts[chosen], kept[chosen], stack)
        return table.in_order()

    def _add_slices(
        self,
        table: _Table,
        kind: Kind,
        chosen: Words,
        tensors: Words,
        leaves: Words,
        counts: Words,
        kept: Words,
        stack: _Stack,
    ) -> None:
        if kind.addition is None or kind.ending is None:
            table.add(chosen, self._layouts[id(kind.slice)].calls(tensors, stack.work))
            return
        inputs, height = len(self._slicing.problem.equation.inputs), heights(leaves)
        every = np.arange(len(chosen))
        reads = np.column_stack([tensors[:, :inputs], stack.at(height, every)])
        table.add(chosen, self._layouts[id(kind.slice)].calls(reads, stack.work))
        behind = additions_behind(leaves, counts)
        for level in range(int(behind.max())):
            some = np.flatnonzero(behind > level)
            pair = np.column_stack([stack.at(height[some] - level - down, some) for down in (0, 1)])
            table.add(chosen[some], self._layouts[id(kind.addition)].calls(pair, stack.work))
        some = np.flatnonzero((kept == 0) & (leaves == counts - 1))
        reads = np.column_stack([stack.at(0 * some, some), tensors[some, inputs:]])
        table.add(chosen[some], self._layouts[id(kind.ending)].calls(reads, stack.work))

    def _by_kind(self, lengths: Words) -> Iterator[tuple[Kind, Words]]:
        """Yield the kinds of slices of these lengths, and which slices are of each."""
        if len(self._kinds) == 1:
            yield next(iter(self._kinds.values())), np.arange(len(lengths))
            return
        own, which = np.unique(lengths, axis=0, return_inverse=True)
        for number, row in enumerate(own.tolist()):
            yield self._kinds[tuple(row)], np.flatnonzero(which.reshape(-1) == number)

    # ---- sums of parts of places ---------------------------------------------------------------------------------

    def _kept(self, numbers: Words, begin: int) -> Words:
        """Return the addresses of sums of these numbers; 0 for 0."""
        first = begin + len(self._shares) * self._thread
        return np.where(numbers > 0, first + (numbers - 1) * self._sum, 0)

    def _by_place(self) -> dict[int, list[Run]]:
        places: dict[int, list[Run]] = {}
        for run in (run for runs in self._shares for run in runs if run.sums):
            places.setdefault(run.start // self._slicing.leaves, []).append(run)
        return places

    def _joined(self, table: _Table, unit: Unit, begin: int) -> int:
        """Add the additions of the sums that are left of a unit, and return where the last one is."""
        left = {run.start: run for run in self._by_place()[unit.start // self._slicing.leaves]}
        kind, _ = self._first_kind(unit)
        assert kind.addition is not None
        addition = self._layouts[id(kind.addition)]

        def sums(start: int, count: int) -> int:
            if start in left and left[start].count == count:
                return int(self._kept(np.array([left[start].sums]), begin)[0])
            half = first_half(count)
            into, other = sums(start, half), sums(start + half, count - half)
            table.add(np.array([table.slices]), addition.calls(np.array([[other, into]]), begin))
            return into

        return sums(unit.start, unit.count)

    def _end(self, table: _Table, whole: Unit, given: Words, begin: int) -> None:
        """Add what makes a part of the result of the sums that are left of a whole place."""
        kind, indices = self._first_kind(whole)
        assert kind.ending is not None
        parts = (given + indices @ self._moves)[0, len(self._slicing.problem.equation.inputs) :]
        reads = np.concatenate([[self._joined(table, whole, begin)], parts])[None]
        table.add(np.array([table.slices]), self._layouts[id(kind.ending)].calls(reads, begin))

    def _first_kind(self, unit: Unit) -> tuple[Kind, Words]:
        """Return the kind of a unit's first slice, whose sums are as large as those of others; and its pieces."""
        indices = self._slicing.indices(np.array([unit.start]))
        kind, _ = next(self._by_kind(self._slicing.lengths(indices)))
        return kind, indices


@frozen
class _Stack:
    """A thread's scratch, and behind it the tensors that slices are added up in.

    Attributes:
        work: address of the scratch.
        size: of it, in bytes.
        sum_bytes: of one tensor.
        kept: addresses of what is at the bottom, for every slice; 0: the stack's own.
    """

    work: int
    size: int
    sum_bytes: int
    kept: Words

    def at(self, height: Words, slices: Words) -> Words:
        """Return the addresses of the tensors of these slices at certain heights."""
        own = self.work + self.size + height * self.sum_bytes
        kept = self.kept[slices]
        return np.where((height == 0) & (kept != 0), kept, own)


class _Layout:
    """The calls of a variant's steps, as they depend on where the tensors of a slice lie."""

    def __init__(self, variant: Variant) -> None:
        self._constants = [array_address(constant) for constant in variant.constants]
        self._places = [variant.kernel_scratch + place for place in variant.arena.places]
        self._functions = np.array([step.executable.address for step in variant.steps if step.executable], np.int64)
        self._fixed = [step.fixed_word or 0 for step in variant.steps]
        self._starts: list[int] = []
        self._words: list[int] = []
        count = len(variant.steps)  # Behind what is given: the results of all steps, the scratch, their fixed words.
        for number, step in enumerate(variant.steps):
            self._starts.append(8 * len(self._words))
            scratch = -count - 1 if step.fixed_word is None else number - count
            self._words += [*step.step.inputs, number - 2 * count - 1, scratch]

    def calls(self, tensors: Words, work: int) -> tuple[Words, Words]:
        """Return the calls (slices x steps x 2), and the blocks that they refer to.

        Args:
            tensors: addresses of operands and result (columns) of slices (rows).
            work: address of the scratch.
        """
        given = np.broadcast_to(np.array(self._constants, np.int64), (len(tensors), len(self._constants)))
        between = np.broadcast_to(np.array(self._places, np.int64) + work, (len(tensors), len(self._places)))
        last = np.broadcast_to(np.array([work, *self._fixed], np.int64), (len(tensors), 1 + len(self._fixed)))
        columns = np.concatenate([tensors[:, :-1], given, between, tensors[:, -1:], last], axis=1)
        blocks = np.take(columns, self._words, axis=1)
        rows = np.empty((len(tensors), len(self._functions), 2), np.int64)
        rows[..., 0] = self._functions
        begins = array_address(blocks) + blocks.strides[0] * np.arange(len(tensors))
        rows[..., 1] = begins[:, None] + np.array(self._starts)
        return rows, blocks


class _Table:
    """Calls by slice, those of a slice in the order in which they are added; in one table in the end."""

    def __init__(self) -> None:
        self.parts: list[tuple[Words, Words, Words]] = []
        self.rows: Calls = np.empty((0, 2), np.int64)
        self._blocks: list[Words] = []  # which rows refer to
        self._counts = np.zeros(0, np.int64)

    @property
    def slices(self) -> int:
        """How many slices have calls."""
        return len(self._counts)

    def add(self, slices: Words, calls: tuple[Words, Words]) -> None:
        """Add calls to each of these slices."""
        rows, blocks = calls
        if len(slices):
            self._counts = np.pad(self._counts, (0, max(int(slices.max()) + 1 - len(self._counts), 0)))
            self.parts.append((slices, self._counts[slices], rows))
            self._counts[slices] += rows.shape[1]
            self._blocks.append(blocks)

    def in_order(self) -> _Table:
        """Write all calls to `rows`."""
        self.rows = np.empty((int(self._counts.sum()), 2), np.int64)
        starts = np.cumsum(self._counts) - self._counts
        for slices, before, rows in self.parts:
            first: Words = (starts[slices] + before)[:, None]
            self.rows[first + np.arange(rows.shape[1])] = rows
        return self


def _length(runs: Sequence[Run]) -> int:
    return runs[-1].stop - runs[0].start if runs else 0
