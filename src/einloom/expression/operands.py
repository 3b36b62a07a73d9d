"""What an expression is called with: operands that code can read in place, and an output that it can write in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from einloom.arrays.check import (
    check_disjoint,
    check_dtype,
    check_itself,
    check_shape,
    check_writable,
)
from einloom.arrays.fresh import fresh
from einloom.arrays.library import Array, Imported, array_of, element_strides, incoming, label_of, region_of
from einloom.dtypes import COMPUTED, DTYPES, promoted
from einloom.errors import DTypeError, EquationError, ShapeError
from einloom.expression.types import FOREIGN, known_type, stands_in
from einloom.expression.weak import taken
from einloom.frozen import frozen
from einloom.ir.numbers import narrowed, widened
from einloom.jit.arrays import array_address
from einloom.plan.finish import PLAIN, Finish

__all__ = ["Expected", "Output"]


@frozen
class Expected:
    """What an expression is compiled for, as far as the operands of a call are concerned.

    Attributes:
        shapes: of the operands.
        output_shape: of the result.
        labels: names of the types of the operands' elements.
        label: name of the type of the result's.
        dtype: NumPy's type that stands for it.
        unit: size in bytes of what elements of it travel as; addresses are multiples of it, or of a smaller element.
        where: the equation as messages quote it.
        finish: what becomes of the sums: whether `out` is read, and what is conjugated.
    """

    shapes: tuple[tuple[int, ...], ...]
    output_shape: tuple[int, ...]
    labels: tuple[str, ...]
    label: str
    dtype: np.dtype[Any]
    unit: int
    where: str
    finish: Finish = PLAIN

    def operands(self, given: Sequence[Any]) -> list[Imported]:
        """Return the memory of the operands as they came, of the right shapes.

        Raises:
            EquationError, ShapeError, DTypeError: another number of them, another shape, or no arrays.
        """
        self._check_count(len(given))
        found = [self._incoming(operand, position) for position, operand in enumerate(given)]
        self.check_shapes([operand.array.shape for operand in found])
        return found

    def _incoming(self, operand: Any, position: int) -> Imported:
        scales = self.finish.scales and position == len(self.labels) - len(self.finish.operands)
        return taken(operand, self.labels[position], scales) or incoming(operand, f"operand {position}")

    def check_shapes(self, shapes: Sequence[tuple[int, ...]]) -> None:
        """Refuse operands of other shapes.

        Raises:
            EquationError, ShapeError: another number of them, or another shape.
        """
        self._check_count(len(shapes))
        for position, (found, shape) in enumerate(zip(shapes, self.shapes)):
            if found != shape:
                raise ShapeError(
                    f"operand {position} has shape {found}, the expression was compiled for {shape}\n"
                    f"  {self.where}\n  Compile another expression for this shape."
                )

    def _check_count(self, count: int) -> None:
        if count != len(self.shapes):
            raise EquationError(
                f"operands: {len(self.shapes)} in the expression, {count} in the call\n  {self.where}\n"
                "  Pass as many as it was compiled for, without constants; the array for the result is out=."
            )

    def readable(self, operand: Imported, position: int) -> Array:
        """Return an operand as code can read it: as it is, or a copy of the right type and alignment.

        Raises:
            DTypeError: its type cannot be converted safely to the one that is computed in.
        """
        array, label = operand.array, self.labels[position]
        if position in self.finish.conj and array.dtype.kind in "cO":
            array = np.asarray(array.conj())  # NumPy makes a scalar of an array without axes.
            operand = Imported(array, operand.dtype)
        if operand.dtype != label:
            if not _is_safe(operand, label, self.dtype):
                raise DTypeError(
                    f"operand {position} has type {operand.dtype}, the expression computes in {label}\n"
                    f"  {self.where}\n  Convert it: operand.astype({label!r})."
                )
            return _converted(operand, label, self.dtype)
        return array if self._fits(array) else array.copy()

    def are_read(self, operands: Sequence[Any]) -> bool:
        """Whether operands are NumPy's arrays that code reads in place, and their types say what their elements are."""
        return all(
            type(operand) is np.ndarray and label_of(operand.dtype) == label and self._fits(operand)
            for operand, label in zip(operands, self.labels)
        )

    def _fits(self, array: Array) -> bool:
        """Whether code can work on an array in place: its elements lie at multiples of what they travel as."""
        return element_strides(array) is not None and array_address(array) % min(self.unit, array.itemsize) == 0

    def output(self, out: Any, operands: Sequence[Imported], dtype: np.dtype[Any]) -> Output:
        """Return where to write the result for `out`, for None a fresh array of a type: NumPy's, or a stand-in for it.

        Raises:
            DTypeError, ShapeError, StrideError, OverlapError: it cannot take the result; nothing has been written.
        """
        if out is None:
            self.finish.check_fresh(self.where)
            result = self._fresh(dtype)
            return Output(result, result)
        given = array_of(out, "out", self.where)
        check_dtype("out", given.dtype, self.label, self.where, computes=True)
        check_shape("out", given.array.shape, self.output_shape, self.where)
        check_writable("out", given.array.flags.writeable, self.where)
        region = region_of("out", given, written=True)
        check_itself(region, self.where)
        inputs = [region_of(f"operand {position}", operand) for position, operand in enumerate(operands)]
        check_disjoint([*inputs, region], where=self.where)
        if self._fits(given.array):
            return Output(given.array, given.array)
        return Output(given.array.copy("C"), given.array)  # with what it holds, which `beta` may multiply

    def result_type(self, operands: Sequence[Imported]) -> np.dtype[Any]:
        """Return NumPy's type of a fresh result: the one that it knows by that name, or a stand-in beside such."""
        known = known_type(self.label, self.dtype)
        is_foreign = any(map(stands_in, operands)) and all(each.array.dtype != known for each in operands)
        return self.dtype if is_foreign else known

    def _fresh(self, dtype: np.dtype[Any]) -> Array:
        try:
            return fresh(self.output_shape, dtype)
        except ValueError as error:
            rank = len(self.output_shape)
            raise ShapeError(f"NumPy has no room for a result of {rank} axes: {error}\n  {self.where}") from None


def _is_safe(operand: Imported, label: str, dtype: np.dtype[Any]) -> bool:
    if label in FOREIGN or operand.dtype in FOREIGN:
        known = operand.dtype in COMPUTED and label in COMPUTED
        return known and promoted(operand.dtype, label).name == label
    wanted = label if label in DTYPES else dtype
    return np.can_cast(operand.array, wanted, "safe")  # NumPy 1 promotes arrays without axes by their values.


def _converted(operand: Imported, label: str, dtype: np.dtype[Any]) -> Array:
    if label in FOREIGN or operand.dtype in FOREIGN:
        return narrowed(widened(operand.array, COMPUTED[operand.dtype]), COMPUTED[label])
    return operand.array.astype(label if label in DTYPES else dtype)


@frozen
class Output:
    """Where code writes, and the array that takes the result in the end: another one if its alignment does not suit."""

    written: Array
    final: Array

    def finish(self) -> None:
        """Bring the result to where it belongs."""
        if self.written is not self.final:
            np.copyto(self.final, self.written)
