"""Types that there is no code for: NumPy computes them, step by step along the path that einloom has planned.

These are Python objects, long doubles, time spans, and whatever else `einloom.dtypes` does not name. The first
expression of such a type says so with a `FallbackWarning`; under `settings(fallback="error")` it is an error.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from einloom.arrays.library import Array
from einloom.config import Fallback, current_settings
from einloom.dtypes import COMPUTED, DType, Kind
from einloom.errors import DTypeError, FallbackWarning
from einloom.expression.types import ADVICE, FOREIGN, computed_by_numpy
from einloom.frozen import frozen
from einloom.ir import meanings
from einloom.ir.operation import DimType, Operand, Operation, Primitive, Touch
from einloom.plan.carriers import carrier
from einloom.plan.finish import Finish
from einloom.plan.steps import PRODUCTS

__all__ = ["Travel", "allow_fallback", "compute_with_numpy", "travel_of"]

_numpy_einsum = np.einsum  # its own, also in a program that puts einloom's in its place

_told: set[str] = set()


@frozen
class Travel:
    """How elements get through an expression.

    Attributes:
        unit: what they travel as.
        parts: how many of it make one element.
        by_numpy: whether there is no code for them.
    """

    unit: DType
    parts: int = 1
    by_numpy: bool = False

    @property
    def alignment(self) -> int:
        """What addresses must be multiples of, in bytes."""
        return 1 if self.by_numpy else self.unit.real.size


def travel_of(label: str, dtype: np.dtype[Any], is_copy: bool, finish: Finish, where: str) -> Travel:
    """Return how elements of a type travel: as they are, copies as other types of their size, the rest by NumPy.

    What becomes of sums is code for floats and integers, and much of it for complex numbers; else NumPy's.

    Raises:
        DTypeError: nobody computes with them.
    """
    if is_copy and not dtype.hasobject:
        return Travel(*carrier(dtype))
    unit = COMPUTED.get(label)
    if unit is not None and _is_finished_in_code(unit, finish):
        return Travel(unit)
    if unit is not None and label in FOREIGN:
        raise DTypeError(
            f"beta and operators together would round sums of type {label} in between\n  {where}\n"
            "  Give dtype='float32' and convert the result, or call with one of them after the other."
        )
    if label in FOREIGN or not (is_copy or computed_by_numpy(dtype)):
        raise DTypeError(f"no arithmetic on operands of type {label}\n  {where}\n  {ADVICE}")
    allow_fallback(label, where)
    _say_once(label, where)
    return Travel(DType(label, dtype.itemsize, Kind.FLOAT), by_numpy=True)


def _is_finished_in_code(unit: DType, finish: Finish) -> bool:
    """Whether there is code for what becomes of sums.

    Where narrow types are added to, and operators follow, it would round or wrap in between.
    """
    if not (finish.constants or finish.epilogue):
        return True
    if unit.kind is Kind.COMPLEX:
        return _is_complex_finish_in_code(finish)
    rounds = unit.accumulate != unit and finish.beta != 0 and bool(finish.epilogue)
    return unit.kind is not Kind.BOOL and not rounds


def _is_complex_finish_in_code(finish: Finish) -> bool:
    """Whether there is code for operators on complex numbers: products, and what is done to each part alone."""
    alone = {Primitive.ADD, Primitive.SUB, Primitive.NEGATE}
    return {*alone, *PRODUCTS} >= {each.primitive for each in finish.epilogue}


def allow_fallback(label: str, where: str) -> None:
    """Refuse to let NumPy compute if the settings want so.

    Raises:
        DTypeError: they do.
    """
    if current_settings().fallback is Fallback.ERROR:
        raise DTypeError(f"no code for elements of type {label}, and settings(fallback='error')\n  {where}\n  {ADVICE}")


def _say_once(label: str, where: str) -> None:
    if label not in _told:
        text = f"no code for elements of type {label}: NumPy computes {where}, and whatever else is of this type"
        warnings.warn(text, FallbackWarning, stacklevel=_frames_of_einloom() + 1)
        _told.add(label)


def _frames_of_einloom() -> int:
    """Return how many frames lie between the caller of this function and the program that called einloom."""
    frame, count = inspect.currentframe(), -1
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "einloom":
        frame, count = frame.f_back, count + 1
    return count


def compute_with_numpy(operation: Operation, arrays: Sequence[Array]) -> None:
    """Compute an operation on arrays that begin with its operands' first elements; the last one is written."""
    axes = [i for i, axis in enumerate(operation.axes) if axis.role is not DimType.K]
    inputs = operation.main.inputs
    *extras, output = (
        _view(operation, array, operand, axes) for array, operand in zip(arrays[inputs:], operation.operands[inputs:])
    )
    value = _products(operation, arrays[:inputs]).reshape(output.shape)
    first = operation.first_touch
    if not (first.initialises or operation.main is Primitive.IDENTITY):
        value = value + _touched(first, output, extras, inputs)
    for touch in operation.last_touches:
        value = _touched(touch, value, extras, inputs)
    output[...] = value


def _view(operation: Operation, array: Array, operand: Operand, axes: Sequence[int]) -> Array:
    extents = [operation.axes[i].extent for i in axes]
    return as_strided(array, extents, [operand.strides[i] * array.itemsize for i in axes])


def _touched(touch: Touch, value: Array, extras: Sequence[Array], inputs: int) -> Array:
    word = touch.primitive.value
    if touch.does_nothing:
        return value
    if touch.operand is None:
        return meanings.UNARY[word](value)
    return meanings.BINARY[word](value, extras[touch.operand - inputs])


def _products(operation: Operation, arrays: Sequence[Array]) -> Array:
    """Return the sums of products, along the axes of the output that are longer than 1."""
    axes = [i for i, axis in enumerate(operation.axes) if axis.extent != 1]
    subscripts = _subscripts(operation, axes)
    views = [_view(operation, *each) for each in zip(arrays, operation.inputs, subscripts)]
    sums = np.empty([operation.axes[i].extent for i in subscripts[-1]], arrays[0].dtype)
    kept = [subscripts[0].index(i) for i in subscripts[-1] if len(views) == 1]
    if operation.main is Primitive.IDENTITY:
        sums[...] = views[0].transpose(kept)
    elif sums.dtype.kind == "m":  # time spans, for which NumPy has sums, but no einsum
        summed = [place for place in range(views[0].ndim) if place not in kept]
        view = views[0].transpose(*kept, *summed)
        np.add.reduce(view, axis=tuple(range(len(kept), view.ndim)), out=sums)
    else:
        numbers = [[axes.index(i) for i in along] for along in subscripts]
        given: list[Any] = [each for pair in zip(views, numbers) for each in pair]
        # NumPy's product of matrices, which `optimize` allows, loses count of objects when their arithmetic raises.
        _numpy_einsum(*given, numbers[-1], out=sums, optimize=sums.dtype.kind != "O")
    return sums


def _subscripts(operation: Operation, axes: Sequence[int]) -> list[list[int]]:
    """Return which axes inputs and output are viewed along: those that they depend on.

    The first takes what no other input has.
    """
    used = [[i for i in axes if operand.strides[i]] for operand in operation.inputs]
    used[0] = [i for i in axes if i in used[0] or not any(i in others for others in used[1:])]
    return [*used, [i for i in axes if operation.axes[i].role is not DimType.K]]
