"""From what people give, a configuration or an equation with shapes or arrays, to the space of its schedules."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from operator import index
from typing import Any

from einloom.arrays.library import element_strides, incoming
from einloom.dtypes import PAIRS, promoted
from einloom.errors import ArgumentError, ScheduleError, ShapeError
from einloom.ir.configuration import TensorOperationConfig
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_schedule
from einloom.machine import MACHINES, Machine
from einloom.passes.fuse import fuse
from einloom.plan.paths import contraction_path
from einloom.plan.problem import make_problem
from einloom.plan.steps import plan_problem
from einloom.space.on_cpu.space import CpuSpace

__all__ = ["operation_of_equation", "space_of"]


def space_of(
    what: object,
    shapes_or_arrays: Sequence[Any],
    dtype: object,
    machine: Machine | None,
    threads: int,
    known: Sequence[Schedule | str],
    curves: bool,
    teams: bool,
) -> CpuSpace:
    """Return the space of all schedules of what is given; see `einloom.space.cpu`."""
    schedules = [parse_schedule(each) if isinstance(each, str) else each for each in known]
    if isinstance(what, TensorOperationConfig):
        operation = what.operation
        schedules.append(what.schedule)
    elif isinstance(what, str):
        operation = fuse(operation_of_equation(what, shapes_or_arrays, dtype))
    elif isinstance(what, Operation):
        operation = fuse(what)
    else:
        raise ArgumentError(
            f"there is no space of {what!r:.80}\n"
            "  Give an equation with shapes or arrays, a TensorOperationConfig or an Operation."
        )
    return CpuSpace(operation, machine or _typical(), tuple(schedules), threads, curves, teams)


def operation_of_equation(
    equation: object, given: Sequence[Any], dtype: object, types: Sequence[object] = ()
) -> Operation:
    """Return the one operation that an equation takes.

    >>> print(operation_of_equation("ab->b", [(3, 5)], "float32"))
    sum first=zero last=none
    axis b 5 c
    axis a 3 k
    in0 float32 b=1 a=5
    out float32 b=1

    Args:
        equation: its text.
        given: an array, which has strides, or the shape of a C-contiguous one, for each operand.
        dtype: type to compute in; the arrays' common type, float64 for shapes, if None.
        types: of the operands as they lie; empty: all are of the type that is computed in.

    Raises:
        ArgumentError: the equation is no text.
        ScheduleError: it takes several.
        EquationError, ShapeError, DTypeError: the equation, a shape or the type is none.
    """
    if not isinstance(equation, str):
        raise ArgumentError(f"{equation!r:.80} is no equation\n  Give the text of one, or a TensorOperationConfig.")
    arrays = [incoming(each, f"operand {n}") if hasattr(each, "shape") else None for n, each in enumerate(given)]
    pairs = enumerate(zip(given, arrays))
    shapes = [_shape(each, n) if array is None else array.array.shape for n, (each, array) in pairs]
    strides = [None if array is None else element_strides(array.array) for array in arrays]
    if dtype is None:
        dtype = promoted(*[array.dtype for array in arrays if array is not None] or ["float64"])
    problem = make_problem(equation, shapes, strides, _computed(dtype), types=types)
    steps = plan_problem(problem, None, contraction_path(problem, "auto")).steps
    if len(steps) != 1:
        raise ScheduleError(
            f"{equation} takes {len(steps)} operations, not one\n  Give the equation of each of them by itself."
        )
    return steps[0].operation


def _shape(given: Any, position: int) -> tuple[int, ...]:
    try:
        return tuple(index(extent) for extent in given)
    except TypeError:
        raise ShapeError(
            f"operand {position} is {given!r:.80}\n  Give an array, or its shape as a tuple of integers."
        ) from None


def _computed(dtype: object) -> object:
    """Return a complex type for its name or NumPy's type, and anything else as it is."""
    return PAIRS.get(getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype), dtype)


def _typical() -> Machine:
    """The typical machine of this kind of processor: the same everywhere, whatever this one has."""
    return MACHINES["neon" if platform.machine() in ("aarch64", "arm64") else "avx512"]
