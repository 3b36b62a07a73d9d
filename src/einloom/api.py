"""The public functions on arrays: `einsum`, `compile`, `contract_path`. What they rest on lies in the floors below."""

from __future__ import annotations

import importlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from operator import index
from typing import Any, Protocol, runtime_checkable

import numpy as np

from einloom.dtypes import DTYPES
from einloom.errors import DTypeError, EquationError, ShapeError
from einloom.expression import Expression
from einloom.ir.schedule import Schedule
from einloom.machine import Machine
from einloom.plan.arrays import Array, element_strides
from einloom.plan.equation import caret_lines, interleaved_equation
from einloom.plan.paths import described_path
from einloom.plan.problem import make_problem

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
    text, given = _text_and_operands(equation, operands)
    arrays = [_as_array(operand, position) for position, operand in enumerate(given)]
    expression = _cached_expression(text, arrays, _computed_type(text, arrays, dtype), optimize, threads)
    result = expression(*arrays, out=out)
    return result if out is not None else _as_kind_of(given[0], result)


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
    if not isinstance(equation, str):
        raise EquationError(f"the equation is a {type(equation).__name__}; compile takes its text")
    shapes = [_shape_of(item, position) for position, item in enumerate(shapes_or_arrays)]
    strides = [element_strides(item) if isinstance(item, np.ndarray) else None for item in shapes_or_arrays]
    known = [_as_array(item, position) for position, item in enumerate(shapes_or_arrays) if isinstance(item, Shaped)]
    computed = _computed_type(equation, known, dtype)
    return Expression(equation, shapes, computed, strides, optimize, schedule, threads, target)


def contract_path(equation: Any, *operands_or_shapes: Any, optimize: Any = "auto") -> tuple[list[Any], Any]:
    """Return the contraction path and its description, as `opt_einsum.contract_path` does.

    >>> contract_path("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5))[0]
    [(0, 1), (0, 1)]
    """
    text, given = _text_and_operands(equation, operands_or_shapes)
    shapes = [_shape_of(item, position) for position, item in enumerate(given)]
    return described_path(make_problem(text, shapes, [None] * len(shapes), "float64"), optimize)


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
    # Equal keys mean the same: True and 1, or 1.0 and 1 in a path, are told apart.
    path = repr(optimize) if isinstance(optimize, (list, tuple)) else optimize
    key = (equation, shapes, dtype, type(path), path, type(threads), threads)
    try:
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


def _text_and_operands(equation: Any, operands: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """Return the equation's text and the operands of either form of call."""
    text, given = (equation, operands) if isinstance(equation, str) else interleaved_equation([equation, *operands])
    if not given:
        raise EquationError(f"no operands for the equation\n{caret_lines(text, ())}")
    return text, given


@runtime_checkable
class Shaped(Protocol):
    """An array of any library: what has extents."""

    @property
    def shape(self) -> Sequence[int]:
        """The extents."""
        ...


def _shape_of(item: Any, position: int) -> tuple[int, ...]:
    try:
        return tuple(index(extent) for extent in (item.shape if isinstance(item, Shaped) else item))
    except TypeError:
        raise ShapeError(
            f"operand {position} is {item!r:.80}\n  Give an array, or its shape as a tuple of integers."
        ) from None


def _computed_type(equation: str, arrays: Sequence[Array], dtype: object) -> str:
    """The name of the type to compute in, as NumPy promotes; a single operand of any type may be copied as it is."""
    result = _common_type(equation, arrays) if dtype is None else _numpy_type(dtype)
    if result.name in DTYPES and all(array.dtype.kind == "f" for array in arrays):
        return result.name
    if len(arrays) == 1 and (dtype is None or arrays[0].dtype == result):
        return arrays[0].dtype.str
    raise _no_code(equation, arrays, result.name)


def _common_type(equation: str, arrays: Sequence[Array]) -> np.dtype[Any]:
    try:
        return np.result_type(*arrays) if arrays else np.dtype(np.float64)
    except TypeError:
        raise _no_code(equation, arrays, "none") from None


def _numpy_type(dtype: Any) -> np.dtype[Any]:
    try:
        return np.dtype(dtype)
    except (TypeError, ValueError):
        raise DTypeError(f"dtype={dtype!r} is no data type\n  Pass one of {', '.join(DTYPES)}.") from None


def _no_code(equation: str, arrays: Sequence[Array], result: str) -> DTypeError:
    types = ", ".join(str(array.dtype) for array in arrays[:8])
    return DTypeError(
        f"no code for operands of type {types or result}\n{caret_lines(equation, ())}\n"
        f"  einloom computes in {' and '.join(DTYPES)}: convert the operands with astype()."
    )


def _as_array(operand: Any, position: int) -> Array:
    if isinstance(operand, np.ndarray):
        return operand
    try:
        if hasattr(operand, "__dlpack__") and not isinstance(operand, np.generic):
            return np.from_dlpack(operand)
        return np.asarray(operand)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise DTypeError(f"operand {position} is a {type(operand).__name__}, no array\n  {error}") from error


def _as_kind_of(operand: Any, result: Any) -> Any:
    """Hand the result over in the library that the first operand came from."""
    if isinstance(operand, (np.ndarray, np.generic)) or not hasattr(operand, "__dlpack__"):
        return result
    library = importlib.import_module(type(operand).__module__.partition(".")[0])
    return library.from_dlpack(np.asarray(result))
