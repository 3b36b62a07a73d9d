"""The public functions on arrays: `einsum`, `compile`, `contract_path`. What they rest on lies in the floors below."""

from __future__ import annotations

import importlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from einloom.dtypes import DTYPES
from einloom.errors import DTypeError, EquationError
from einloom.expression import Expression
from einloom.ir.schedule import Schedule
from einloom.machine import Machine
from einloom.plan.arrays import Array, element_strides
from einloom.plan.equation import interleaved_equation
from einloom.plan.problem import make_problem
from einloom.plan.steps import contraction_path

__all__ = ["clear_cache", "compile", "contract_path", "einsum"]

CACHED_EXPRESSIONS = 1024

_lock = threading.Lock()
_expressions: OrderedDict[tuple[Any, ...], Expression] = OrderedDict()


def einsum(
    equation: Any,
    *operands: Any,
    out: Array | None = None,
    dtype: object = None,
    optimize: Any = "auto",
    threads: int | None = None,
) -> Any:
    """Evaluate an einsum with code that was compiled for these shapes and strides.

    >>> A, B = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)
    >>> einsum("ab,bc->ac", A, B).shape
    (2, 4)

    Args:
        equation: as for `numpy.einsum`; or the interleaved form `A, [0, 1], B, [1, 2], [0, 2]`.
        operands: arrays of any strides; arrays of other libraries come in through DLPack.
        out: takes the result and is returned; exact shape and type, and no byte shared with an operand.
        dtype: type to compute in; the operands' common type if None.
        optimize: what `opt_einsum` takes, for three and more operands.
        threads: how many threads; the settings' if None.

    Returns:
        A fresh C-contiguous array of the first operand's library, a NumPy scalar for a result without axes, or `out`.

    Raises:
        EquationError, ShapeError, DTypeError, StrideError, OverlapError: nothing has been written.
    """
    if not isinstance(equation, str):
        equation, operands = interleaved_equation([equation, *operands])  # type: ignore[assignment]
    if not operands:
        raise EquationError(f"no operands for the equation\n  {equation}")
    arrays = [_as_array(operand) for operand in operands]
    expression = _cached_expression(equation, arrays, _computed_type(equation, arrays, dtype), optimize, threads)
    result = expression(*arrays, out=None if out is None else out)
    return result if out is not None else _as_kind_of(operands[0], result)


def compile(
    equation: str,
    *shapes_or_arrays: Any,
    dtype: object = None,
    optimize: Any = "auto",
    schedule: Schedule | str | None = None,
    threads: int | None = None,
    target: str | Machine = "cpu",
) -> Expression:
    """Compile an einsum for shapes (taken as C-contiguous) or for arrays (with their strides).

    >>> f = compile("abc,cd->abd", (8, 9, 10), (10, 11), dtype="float32")
    >>> f.output_shape
    (8, 9, 11)

    Args:
        equation: as for `numpy.einsum`.
        shapes_or_arrays: one an operand.
        dtype: type to compute in; float64 for shapes, the common type for arrays, if None.
        optimize: what `opt_einsum` takes, for three and more operands.
        schedule: a `Schedule` or its text, instead of the heuristic one, for one or two operands.
        threads: how many threads; the settings' at each call if None.
        target: `"cpu"`, `"interpreter"`, or a `Machine`.

    Raises:
        EquationError, ShapeError, DTypeError, ScheduleError, UnsupportedTarget.
    """
    arrays = [item if hasattr(item, "dtype") else None for item in shapes_or_arrays]
    shapes = [tuple(item.shape) if hasattr(item, "shape") else tuple(item) for item in shapes_or_arrays]
    strides = [element_strides(array) if isinstance(array, np.ndarray) else None for array in arrays]
    known = [np.asarray(array) for array in arrays if array is not None]
    computed = _computed_type(equation, known, dtype)
    return Expression(equation, shapes, computed, strides, optimize, schedule, threads, target)


def contract_path(equation: Any, *operands_or_shapes: Any, optimize: Any = "auto") -> tuple[list[Any], Any]:
    """Return the contraction path and its description, as `opt_einsum.contract_path` does.

    >>> contract_path("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5))[0]
    [(0, 1), (0, 1)]
    """
    if not isinstance(equation, str):
        equation, operands_or_shapes = interleaved_equation([equation, *operands_or_shapes])  # type: ignore[assignment]
    shapes = [tuple(item.shape) if hasattr(item, "shape") else tuple(item) for item in operands_or_shapes]
    make_problem(equation, shapes, [None] * len(shapes), "float64")
    return contraction_path(equation, shapes, optimize)


def clear_cache() -> None:
    """Forget every expression that `einsum` compiled, and every kernel of `einloom.primitives`."""
    with _lock:
        _expressions.clear()
    from einloom.primitives.callables import KERNELS  # Late: most programs never need primitives.

    KERNELS.clear()


def _cached_expression(
    equation: str, arrays: Sequence[Array], dtype: str, optimize: Any, threads: int | None
) -> Expression:
    shapes = tuple(array.shape for array in arrays)
    try:
        key = (
            equation,
            shapes,
            dtype,
            tuple(map(tuple, optimize)) if isinstance(optimize, list) else optimize,
            threads,
        )
        hash(key)
    except TypeError:
        return Expression(equation, shapes, dtype, None, optimize, None, threads)
    with _lock:
        expression = _expressions.get(key)
        if expression is not None:
            _expressions.move_to_end(key)
            return expression
    strides = [element_strides(array) for array in arrays]
    expression = Expression(equation, shapes, dtype, strides, optimize, None, threads)
    with _lock:
        _expressions[key] = expression
        if len(_expressions) > CACHED_EXPRESSIONS:
            _expressions.popitem(last=False)
    return expression


def _computed_type(equation: str, arrays: Sequence[Array], dtype: object) -> str:
    """The name of the type to compute in, as NumPy promotes; a single operand of any type may be copied as it is."""
    result = np.dtype(dtype) if dtype is not None else np.result_type(*arrays) if arrays else np.dtype(np.float64)  # type: ignore[call-overload]
    if result.name in DTYPES and all(array.dtype.kind == "f" for array in arrays):
        return result.name
    if len(arrays) == 1 and (dtype is None or arrays[0].dtype == result):
        return arrays[0].dtype.str
    types = ", ".join(str(array.dtype) for array in arrays)
    raise DTypeError(
        f"no code for operands of type {types or result}\n  {equation}\n"
        f"  einloom computes in {' and '.join(DTYPES)}: convert the operands with astype()."
    )


def _as_array(operand: Any) -> Array:
    if isinstance(operand, np.ndarray):
        return operand
    if hasattr(operand, "__dlpack__") and not isinstance(operand, np.generic):
        return np.from_dlpack(operand)
    return np.asarray(operand)


def _as_kind_of(operand: Any, result: Any) -> Any:
    """Hand the result over in the library that the first operand came from."""
    if isinstance(operand, (np.ndarray, np.generic)) or not hasattr(operand, "__dlpack__"):
        return result
    library = importlib.import_module(type(operand).__module__.partition(".")[0])
    return library.from_dlpack(np.asarray(result))
