"""`Slicing`: a contraction cut into slices, each the same equation on views of the operands. It computes nothing.

Labels are cut into pieces of one length, the last of which may be shorter; every combination of pieces is a slice.
Where a cut label stays in the result, the results of slices lie side by side (a *place* each). Where it is summed, they
are the *leaves* of a place, which are added along a binary tree that their number alone decides. So whoever computes
the slices, in whatever order, gets the same bits.

>>> from einloom.plan.problem import make_problem
>>> problem = make_problem("ab,bc,cd->ad", [(4, 6), (6, 8), (8, 5)], [None] * 3, "float32")
>>> slicing = Slicing(problem, ((0, 1), (0, 1)), (Cut("a", 4, 2), Cut("c", 8, 3)))
>>> slicing.places, slicing.leaves, slicing.piece(5)
(2, 3, {'a': slice(2, 4, None), 'c': slice(6, 8, None)})
>>> [view.shape for view in slicing.views(5, [np.ones((4, 6)), np.ones((6, 8)), np.ones((8, 5))])]
[(2, 6), (6, 2), (2, 5)]
>>> additions(slicing.leaves)
[(0, 1), (0, 2)]
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from einloom.dtypes import DType
from einloom.frozen import frozen
from einloom.once import cached_property
from einloom.plan.equation import Equation
from einloom.plan.finish import Finish
from einloom.plan.paths import Path
from einloom.plan.problem import Problem, Term, contiguous_strides

__all__ = ["Cut", "Lengths", "Slicing", "additions", "additions_behind", "first_half", "heights"]

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Lengths: TypeAlias = tuple[int, ...]


@frozen
class Cut:
    """A label cut into pieces of `step` indices; the last may have fewer."""

    label: str
    extent: int
    step: int

    @property
    def count(self) -> int:
        """How many pieces there are."""
        return -(-self.extent // self.step)

    def piece(self, index: int) -> slice:
        """Return the indices of a piece."""
        return slice(index * self.step, min((index + 1) * self.step, self.extent))

    @property
    def lengths(self) -> dict[int, int]:
        """The lengths of pieces, and how many have each."""
        rest = self.extent % self.step
        whole = {self.step: self.extent // self.step}
        return whole | {rest: 1} if rest else whole


@frozen(slots=False)
class Slicing:
    """A contraction, and where it is cut. Slices are numbered place by place, leaf by leaf, the last cut fastest.

    Attributes:
        problem: the whole.
        path: which tensors are contracted together, in every slice.
        cuts: those of labels that the result has come first.
    """

    problem: Problem
    path: Path
    cuts: tuple[Cut, ...]

    @cached_property
    def _placed(self) -> int:
        return sum(cut.label in self.problem.equation.output for cut in self.cuts)

    @property
    def places(self) -> int:
        """How many parts the result has."""
        return math.prod(cut.count for cut in self.cuts[: self._placed])

    @property
    def leaves(self) -> int:
        """How many slices are added up in each part of the result."""
        return math.prod(cut.count for cut in self.cuts[self._placed :])

    def __len__(self) -> int:
        return self.places * self.leaves

    def indices(self, numbers: Array) -> Array:
        """Return which piece of every cut (columns) slices of these numbers (rows) are made of."""
        columns: list[Array] = []
        for cut in reversed(self.cuts):
            numbers, index = np.divmod(numbers, cut.count)
            columns.insert(0, index)
        return np.stack(columns, axis=1)

    def piece(self, number: int) -> dict[str, slice]:
        """Return the indices of every cut label that a slice takes."""
        index = self.indices(np.array([number]))[0].tolist()
        return {cut.label: cut.piece(at) for cut, at in zip(self.cuts, index)}

    def views(self, number: int, operands: Sequence[Array]) -> list[Array]:
        """Return what a slice reads and where its result belongs: parts of arrays, those given as in a call.

        Args:
            number: of the slice.
            operands: the operands; if one more follows, it is the result.
        """
        piece = self.piece(number)
        return [operand[self._part(labels, piece, operand)] for labels, operand in zip(self._labels, operands)]

    @cached_property
    def _labels(self) -> list[Sequence[str]]:
        """The labels of every operand, those of the epilogue, and the result."""
        equation = self.problem.equation
        return [*equation.inputs, *self.problem.finish.operands, equation.output]

    def _part(self, labels: Sequence[str], piece: dict[str, slice], operand: Array) -> tuple[Any, ...]:
        whole = slice(None)
        extents = zip(labels, operand.shape)
        # The ellipsis makes a view of an array without axes, too.
        return (*(piece.get(x, whole) if n == self.problem.sizes[x] else whole for x, n in extents), ...)

    # ---- kinds of slices -----------------------------------------------------------------------------------------

    @property
    def kinds(self) -> Iterator[tuple[Lengths, int]]:
        """The lengths that the pieces of slices have, and how many slices have these."""
        for combination in product(*(cut.lengths.items() for cut in self.cuts)):
            yield tuple(length for length, _ in combination), math.prod(count for _, count in combination)

    def lengths(self, indices: Array) -> Array:
        """Return the lengths of pieces of these indices."""
        steps, extents = (np.array(x) for x in zip(*((cut.step, cut.extent) for cut in self.cuts)))
        return np.minimum(extents - indices * steps, steps)

    def part(self, lengths: Lengths) -> Problem:
        """Return the problem of slices whose pieces have these lengths: sums that others are added to are all of it."""
        whole = self._cut(lengths)
        if self.leaves == 1:
            return whole
        inputs, dtype = len(whole.equation.inputs), self.sum_type
        types = tuple(whole.operand_type(i) for i in range(inputs))
        return replace(
            whole,
            shapes=whole.shapes[:inputs],
            strides=whole.strides[:inputs],
            dtype=dtype,
            sums=None,
            types=types if set(types) != {dtype} else (),
            finish=Finish(conj=whole.finish.conj),
        )

    def addition(self, lengths: Lengths) -> Problem:
        """Return the problem that adds one slice's sums to another's."""
        ending, add = self.ending(lengths), Finish(beta=1)
        shapes, strides = ending.shapes[:1], ending.strides[:1]
        dtype = self.sum_type
        return replace(ending, shapes=shapes, strides=strides, dtype=dtype, types=(), finish=add, sums=None)

    def ending(self, lengths: Lengths) -> Problem:
        """Return the problem that makes a part of the result of its sums, when all are added."""
        whole = self._cut(lengths)
        equation, inputs = whole.equation, len(whole.equation.inputs)
        return replace(
            whole,
            equation=Equation(equation.text, (equation.output,), equation.output),
            shapes=(whole.output_shape, *whole.shapes[inputs:]),
            strides=(contiguous_strides(whole.output_shape), *whole.strides[inputs:]),
            types=(self.sum_type,) if self.sum_type != whole.dtype else (),
            finish=replace(whole.finish, conj=()),
        )

    @property
    def sum_type(self) -> DType:
        """The type that slices are added up in."""
        problem = self.problem
        return (problem.sums or problem.dtype.accumulate) if self.leaves > 1 else problem.dtype

    def _cut(self, lengths: Lengths) -> Problem:
        problem, own = self.problem, dict(zip((cut.label for cut in self.cuts), lengths))
        shapes = [
            tuple(own.get(x, n) if n == problem.sizes[x] else n for x, n in zip(labels, shape))
            for labels, shape in zip(self._labels, problem.shapes)
        ]
        return replace(problem, shapes=tuple(shapes), sizes=problem.sizes | own)

    def steps_between(self, terms: Sequence[Term]) -> Array:
        """Return how far the next piece of every cut (rows) is from the last in tensors (columns), in elements."""
        strides = [dict(zip(term.labels, term.strides)) for term in terms]
        return np.array([[own.get(cut.label, 0) * cut.step for own in strides] for cut in self.cuts], np.int64)


def first_half(count: int) -> int:
    """Return how many of so many leaves, two at least, are on the left of the root of their tree.

    >>> [first_half(count) for count in (2, 3, 4, 5, 8, 9)]
    [1, 2, 2, 4, 4, 8]
    """
    return 1 << (count - 1).bit_length() - 1


def additions(leaves: int) -> list[tuple[int, int]]:
    """Return the sums of a place's tree, `(a, b)` for `a += b`, in an order in which they can be done.

    >>> additions(5)
    [(0, 1), (2, 3), (0, 2), (0, 4)]
    """
    return list(_additions(0, leaves))


def _additions(first: int, count: int) -> Iterator[tuple[int, int]]:
    if count > 1:
        half = first_half(count)
        yield from _additions(first, half)
        yield from _additions(first + half, count - half)
        yield first, first + half


def heights(leaves: Array) -> Array:
    """Return how many unfinished sums there are before each of these leaves, if they are computed in order.

    >>> heights(np.arange(6)).tolist()
    [0, 1, 1, 2, 1, 2]
    """
    count = np.zeros_like(leaves)
    while leaves.any():
        count, leaves = count + (leaves & 1), leaves >> 1
    return count


def additions_behind(leaves: Array, counts: Array) -> Array:
    """Return how many additions can be done when each of these leaves has been computed; `counts`: leaves in its tree.

    >>> additions_behind(np.arange(6), np.array(6)).tolist()
    [0, 1, 0, 2, 0, 2]
    """
    ones = heights((leaves ^ (leaves + 1)) >> 1)
    return np.where(leaves == counts - 1, heights(leaves), ones)
