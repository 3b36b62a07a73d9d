"""From what people give, a configuration or an equation with shapes, to the space of its schedules."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from operator import index
from typing import Any

from einloom.dtypes import PAIRS
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
    shapes: Sequence[Any],
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
        operation = fuse(operation_of_equation(what, shapes, dtype))
    elif isinstance(what, Operation):
        operation = fuse(what)
    else:
        raise ArgumentError(
            f"there is no space of {what!r:.80}\n"
            "  Give an equation with shapes, a TensorOperationConfig or an Operation."
        )
    return CpuSpace(operation, machine or _typical(), tuple(schedules), threads, curves, teams)


def operation_of_equation(equation: str, shapes: Sequence[Any], dtype: object) -> Operation:
    """Return the one operation that an equation over C-contiguous operands of these shapes takes.

    Raises:
        ScheduleError: it takes several.
        EquationError, ShapeError, DTypeError: the equation, a shape or the type is none.
    """
    element = PAIRS.get(str(dtype), dtype) or "float64"
    problem = make_problem(equation, [_shape(each) for each in shapes], [None] * len(shapes), element)
    steps = plan_problem(problem, None, contraction_path(problem, "auto")).steps
    if len(steps) != 1:
        raise ScheduleError(f"a space is of a single operation; {equation} takes {len(steps)}")
    return steps[0].operation


def _shape(given: Any) -> tuple[int, ...]:
    try:
        return tuple(index(extent) for extent in given)
    except TypeError:
        raise ShapeError(f"{given!r:.80} is no shape\n  Give a tuple of integers for each operand.") from None


def _typical() -> Machine:
    """The typical machine of this kind of processor: the same everywhere, whatever this one has."""
    return MACHINES["neon" if platform.machine() in ("aarch64", "arm64") else "avx512"]
