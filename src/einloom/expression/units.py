"""`UnitProgram`: what computes units of a contraction's slices in any process. It pickles, and compiles where it runs.

Whoever computes a unit gets the same bits: code for one thread, chosen by the contraction and the vector ISA alone, and
a tree of sums that the number of slices decides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np

from einloom.arrays.fresh import fresh
from einloom.arrays.library import Array
from einloom.expression.expression import Expression
from einloom.expression.predicted import predicted_seconds
from einloom.expression.recipe import Recipe
from einloom.expression.sliced import SlicedVariant
from einloom.frozen import frozen
from einloom.once import OnceTable, cached_property
from einloom.plan.cuts import cuts_for
from einloom.plan.slices import Slicing
from einloom.plan.units import Unit, Work

__all__ = ["UnitProgram", "added", "unit_program"]

PROGRAMS = 64
LEAST_SLICES = 64
"""Slices that a contraction is cut into for the sake of those who share it, where its size allows."""

LEAST_SECONDS = 0.5
"""Predicted time of what is handed out at once: long against handing it out, some 10 ms of all processes of Dask."""

LEAST_TASKS = 64
"""Tasks, if there are so many slices: what is left at the end, when some have nothing more to do, is short."""

_compiled: OnceTable[SlicedVariant] = OnceTable(PROGRAMS)


@frozen(slots=False)
class UnitProgram:
    """What computes units.

    Attributes:
        recipe: how slices are compiled.
        dtype: NumPy's type of the result, or one that stands for it.
        work: the units.
        seconds: that a slice takes, as predicted on the machine that planned.
    """

    recipe: Recipe
    dtype: np.dtype[Any]
    work: Work
    seconds: float

    @cached_property
    def digest(self) -> str:
        """What tells the contraction, its cuts and its path from others, however large its units are."""
        problem, cuts = self.recipe.problem, self.work.slicing.cuts
        return sha256(repr((problem, self.recipe.path, cuts, self.dtype.str)).encode()).hexdigest()

    def compute(self, unit: Unit, operands: Sequence[Array], threads: int) -> Array:
        """Return the part of the result that a unit is, or the sums of its slices where it is a part of that."""
        variant = self._variant(threads)
        whole = self.work.is_whole(unit)
        result = fresh(self.shape(self.work.place(unit)), self.dtype if whole else variant.sums_dtype or self.dtype)
        variant.run_unit(unit, operands, result)
        return result

    def finished(self, place: int, sums: Array) -> Array:
        """Return the part of the result that all sums of a place make."""
        result = fresh(self.shape(place), self.dtype)
        self._variant(1).finish(place, sums, result)
        return result

    def shape(self, place: int) -> tuple[int, ...]:
        """Return the shape of a part of the result."""
        return tuple(len(range(n)[part]) for n, part in zip(self.output_shape, self.part(place)))

    def part(self, place: int) -> tuple[slice, ...]:
        """Return which part of the result a place is."""
        slicing = self.work.slicing
        piece = slicing.piece(place * slicing.leaves)
        return tuple(piece.get(label, slice(None)) for label in slicing.problem.equation.output)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        return self.recipe.problem.output_shape

    @cached_property
    def bytes(self) -> int:
        """Memory that a process needs, in bytes: operands, scratch of one thread, two results of tasks.

        The largest operand counts three times: while it arrives there are what came and what is sent on.
        """
        results = 2 * self.work.neighbours * self.part_bytes
        return self.operand_bytes + 2 * max(self._sizes) + self._variant(1).scratch_bytes + results

    @property
    def operand_bytes(self) -> int:
        """Memory of the operands, in bytes."""
        return sum(self._sizes)

    @property
    def _sizes(self) -> list[int]:
        problem, parts = self.recipe.problem, self.recipe.parts
        return [parts * math.prod(shape) * problem.operand_type(i).size for i, shape in enumerate(problem.shapes)]

    @property
    def part_bytes(self) -> int:
        """Memory of the result of a unit, in bytes."""
        return math.prod(self.shape(0)) * (self._variant(1).sums_dtype or self.dtype).itemsize

    def _variant(self, threads: int) -> SlicedVariant:
        return _compiled.get((self.digest, threads), lambda: self.recipe.compile_units(threads))

    def with_grain(self, grain: int) -> UnitProgram:
        """Return the same with units of at most so many slices."""
        return replace(self, work=Work(self.work.slicing, grain))


def unit_program(expression: Expression) -> UnitProgram | None:
    """Return what computes a contraction in units; None: it is too small to be shared."""
    recipe = expression.recipe
    limited = () if recipe.slicing is None else recipe.slicing.cuts
    cuts = cuts_for(recipe.problem, recipe.path, LEAST_SLICES, limited)
    if not cuts:
        return None
    slicing = Slicing(recipe.problem, recipe.path, cuts)
    recipe = replace(recipe, slicing=slicing, records=None)
    seconds = predicted_seconds(recipe) / len(slicing)
    return UnitProgram(recipe, expression.travels_as, Work(slicing, _grain(slicing, seconds)), seconds)


def added(left: Array, right: Array) -> Array:
    """Return the sum of two units, to the bits that generated code adds them to."""
    return np.add(left, right, out=np.empty_like(left))


def _grain(slicing: Slicing, seconds: float) -> int:
    """Return how many slices are handed out at once, at most: a power of two."""
    most = min(max(len(slicing) // LEAST_TASKS, 1), LEAST_SECONDS / max(seconds, 1e-9) + 1)
    return 1 << int(most).bit_length() - 1
