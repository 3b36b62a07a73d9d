"""`Distribution`: which block of each tensor a rank has when one contraction is distributed over a grid of ranks.

The ranks are `copies` layers of a grid of rows and columns. The first operand's own labels are cut over rows, the
second one's over columns; what is summed is cut over layers, and in a layer over columns for the first operand and over
rows for the second. The result stays where it is computed: cut over rows and columns, and each part over layers. So
`copies` layers hold as many copies of the result meanwhile, and send less of the operands: the algorithms are SUMMA for
one copy, and 2.5D for more.

>>> d = Distribution("ik,kj->ij", (6, 8), (8, 4), grid=(2, 2))
>>> [d.block(operand, rank=1) for operand in range(2)]
[(slice(0, 3, None), slice(4, 8, None)), (slice(0, 4, None), slice(2, 4, None))]
>>> d.block(2, rank=1)
(slice(0, 3, None), slice(2, 4, None))
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import NamedTuple

from einloom.errors import ArgumentError
from einloom.frozen import frozen
from einloom.once import cached_property
from einloom.plan.problem import Problem, make_problem

__all__ = ["Distribution", "Panel", "divided"]

WIDTH = 512
"""Summed indices of a panel, at most: as long as one is multiplied, the next one is on its way."""


class Panel(NamedTuple):
    """Summed indices that ranks multiply at once: where they begin and end, and which column and row has them."""

    start: int
    stop: int
    column: int
    row: int


@frozen(slots=False)
class Distribution:
    """A contraction of two tensors, distributed over ranks.

    Attributes:
        equation: of two operands, with labels of the first one alone, of the second one alone, and summed ones.
        first, second: the shapes of the whole operands.
        grid: rows and columns of ranks.
        copies: layers of such grids.
    """

    equation: str
    first: tuple[int, ...]
    second: tuple[int, ...]
    grid: tuple[int, int]
    copies: int = 1

    def __post_init__(self) -> None:
        numbers = *self.grid, self.copies
        if len(numbers) != 3 or not all(isinstance(each, Integral) and each > 0 for each in numbers):
            raise ArgumentError(
                f"grid={self.grid!r}, copies={self.copies!r}\n  Give two numbers of ranks and one of layers, from 1 on."
            )
        for term, shape in zip(self.terms, (self.first, self.second)):
            if len(set(term)) != len(term) or any(self.sizes[x] != n for x, n in zip(term, shape)):
                raise ArgumentError(f"{self.equation}: a grid takes neither diagonals nor axes that are broadcast")
        _ = self.labels  # which refuses an equation that lacks one

    @property
    def ranks(self) -> int:
        """How many ranks there are."""
        return self.grid[0] * self.grid[1] * self.copies

    def place(self, rank: int) -> tuple[int, int, int]:
        """Return the layer, the row and the column of a rank."""
        layer, rest = divmod(rank, self.grid[0] * self.grid[1])
        return layer, *divmod(rest, self.grid[1])

    def block(self, operand: int, rank: int) -> tuple[slice, ...]:
        """Return which part of a tensor a rank has.

        Args:
            operand: 0 or 1; 2 is the result.
            rank: its number.

        Raises:
            ArgumentError: there is no such rank or tensor.
        """
        if not (0 <= operand <= 2 and 0 <= rank < self.ranks):
            raise ArgumentError(
                f"block {operand} of rank {rank}\n  Tensors are 0, 1, 2 (the result); ranks are 0 to {self.ranks - 1}."
            )
        layer, row, column = self.place(rank)
        rows, columns = self.grid
        m, n, k = self.labels
        own = {m: divided(self.sizes[m], rows)[row], n: divided(self.sizes[n], columns)[column]}
        if operand == 2:
            part = divided(own[m].stop - own[m].start, self.copies)[layer]
            own[m] = slice(own[m].start + part.start, own[m].start + part.stop)
        else:
            summed = self.layer_range(layer)
            parts, index = (columns, column) if operand == 0 else (rows, row)
            part = divided(summed.stop - summed.start, parts)[index]
            own[k] = slice(summed.start + part.start, summed.start + part.stop)
        return tuple(own.get(label, slice(0, self.sizes[label])) for label in self.terms[operand])

    def layer_range(self, layer: int) -> slice:
        """Return the summed indices of a layer."""
        return divided(self.sizes[self.labels[2]], self.copies)[layer]

    def panels(self, layer: int) -> list[Panel]:
        """Return the panels that a layer multiplies, in order; numbers count from the layer's first summed index."""
        summed = self.layer_range(layer)
        length = summed.stop - summed.start
        (rows, columns) = (divided(length, parts) for parts in self.grid)
        ends = {0, length, *(part.stop for part in (*rows, *columns)), *range(0, length, WIDTH)}
        cuts = sorted(ends)
        return [Panel(a, b, _part_of(columns, a), _part_of(rows, a)) for a, b in pairwise(cuts)]

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The extent of every label."""
        return self._problem.sizes

    @cached_property
    def labels(self) -> tuple[str, str, str]:
        """The labels that are cut over rows, over columns, and summed: the longest of each kind."""
        a, b, c = map(set, self.terms)
        kinds = [(a & c) - b, (b & c) - a, (a & b) - c]
        if not all(kinds):
            raise ArgumentError(
                f"{self.equation}: a grid needs a label of the first operand and the result, one of the second operand"
                " and the result, and one that is summed\n  Compute it in slices, without distribution=."
            )
        m, n, k = (max(kind, key=lambda label: (self.sizes[label], label)) for kind in kinds)
        return m, n, k

    @cached_property
    def terms(self) -> tuple[tuple[str, ...], ...]:
        """The labels of the operands and of the result."""
        equation = self._problem.equation
        return (*equation.inputs, equation.output)

    @cached_property
    def _problem(self) -> Problem:
        return make_problem(self.equation, [self.first, self.second], [None] * 2, "float64")


def divided(extent: int, parts: int) -> list[slice]:
    """Return an axis in parts that differ by one index at most.

    >>> divided(7, 3)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 7, None)]
    """
    return [slice(extent * i // parts, extent * (i + 1) // parts) for i in range(parts)]


def _part_of(parts: Sequence[slice], index: int) -> int:
    return next(number for number, part in enumerate(parts) if part.start <= index < part.stop)
