"""`SlicedVariant`: a contraction cut into slices, compiled for certain strides and a number of threads."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from einloom.arrays.library import Array
from einloom.expression.slice_calls import Kind, SliceCalls, Words
from einloom.expression.variant import CompiledStep
from einloom.frozen import frozen
from einloom.ir.numbers import elements_of
from einloom.jit.arrays import array_address
from einloom.once import cached_property
from einloom.plan.slices import Lengths, Slicing, first_half
from einloom.plan.units import Unit
from einloom.targets.executable import scratch

__all__ = ["SlicedVariant"]


@frozen(slots=False)
class SlicedVariant:
    """Slices, compiled for certain strides; as many threads as there are may share them, to the same bits.

    Attributes:
        slicing: what is cut.
        kinds: what computes slices, by the lengths of their pieces.
        threads: how many share the slices.
        moves: how far the next piece of each cut (rows) is from the last in the operands and in the result (columns),
            in bytes.
    """

    slicing: Slicing
    kinds: dict[Lengths, Kind]
    threads: int
    moves: Words

    @property
    def steps(self) -> tuple[CompiledStep, ...]:
        """The steps of all kinds."""
        return tuple(step for kind in self.kinds.values() for variant in kind.variants for step in variant.steps)

    @property
    def is_interpreted(self) -> bool:
        """Whether there is no code."""
        return any(step.executable is None for step in self.steps)

    @property
    def scratch_bytes(self) -> int:
        """Scratch that a call needs, in bytes: for every thread, and for the sums at the ends of their runs."""
        return self._calls.scratch_bytes

    @cached_property
    def _calls(self) -> SliceCalls:
        return SliceCalls(self.slicing, self.kinds, self.threads, self.moves)

    def run(self, operands: Sequence[Array], result: Array) -> None:
        """Compute into `result`; arrays have the strides that the variant is for."""
        if self.is_interpreted:
            for place in range(self.slicing.places):
                self._interpret(place, operands, result)
            return
        with scratch(self.scratch_bytes) as begin:
            self._calls.run([array_address(array) for array in (*operands, result)], begin)

    def run_unit(self, unit: Unit, operands: Sequence[Array], result: Array) -> None:
        """Compute the part of the result that a unit is, or the sums of its slices where it is a part of that.

        The variant is one whose slices have results of their own (`Recipe.compile_units`).
        """
        inputs = operands[: len(self.slicing.problem.equation.inputs)]
        is_whole = unit.count == self.slicing.leaves
        if self.is_interpreted:
            if is_whole:
                self._interpret(unit.start // unit.count, operands, result)
            else:
                result[...] = self._sums(inputs, result.dtype, unit.start, unit.count).reshape(result.shape)
            return
        calls = SliceCalls(self.slicing, self.kinds, min(self.threads, unit.count), self.moves, unit)
        with scratch(calls.scratch_bytes) as begin:
            sums = calls.run([array_address(array) for array in (*operands, result)], begin)
            if sums:
                ctypes.memmove(array_address(result), sums, result.nbytes)

    def finish(self, place: int, sums: Array, result: Array) -> None:
        """Make a part of the result of all its sums."""
        kind = self._kind(place * self.slicing.leaves)
        assert kind.ending is not None
        kind.ending.run([sums], result)

    @property
    def sums_dtype(self) -> np.dtype[Any] | None:
        """NumPy's type of sums of slices, where it is not the result's."""
        wide = self.slicing.sum_type != self.slicing.problem.dtype
        return np.dtype(elements_of(self.slicing.sum_type).name) if wide else None

    def _interpret(self, place: int, operands: Sequence[Array], result: Array) -> None:
        """Compute a part of the result slice by slice: what threads share otherwise, said plainly."""
        slicing = self.slicing
        first, inputs = place * slicing.leaves, len(slicing.problem.equation.inputs)
        kind, (*views, part) = self._kind(first), slicing.views(first, [*operands, result])
        if kind.ending is None:
            kind.slice.run(views, part)
        else:
            kind.ending.run([self._sums(operands[:inputs], result.dtype, first, slicing.leaves), *views[inputs:]], part)

    def _sums(self, operands: Sequence[Array], dtype: np.dtype[Any], first: int, count: int) -> Array:
        """Return the sums of `count` slices from `first` on, all leaves below one node of the tree."""
        kind = self._kind(first)
        if count == 1:
            sums = np.empty(kind.slice.steps[-1].step.shape, self.sums_dtype or dtype)
            kind.slice.run(self.slicing.views(first, operands), sums)
            return sums
        half = first_half(count)
        left = self._sums(operands, dtype, first, half)
        assert kind.addition is not None
        kind.addition.run([self._sums(operands, dtype, first + half, count - half)], left)
        return left

    def _kind(self, number: int) -> Kind:
        indices = self.slicing.indices(np.array([number]))
        return self.kinds[tuple(self.slicing.lengths(indices)[0].tolist())]
