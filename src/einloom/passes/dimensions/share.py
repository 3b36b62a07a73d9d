"""Parallelisation: sequential dimensions become shared and go first."""

from __future__ import annotations

import math
from dataclasses import replace

from einloom.ir.operation import DimType, Operation
from einloom.ir.schedule import ExecType, Schedule
from einloom.passes.values import Context, Pass, State

__all__ = ["SHARE_DIMENSIONS", "share_dimensions"]


def share_dimensions(operation: Operation, schedule: Schedule, target: int) -> Schedule:
    """Return the schedule with up to `target` shared iterations.

    In the order of the list a loop becomes shared if it is not over a k and the shared iterations stay within the
    target; nothing is added where there are as many already.

    before: seq k:… seq m:4 seq n:8 prim …      (target 16)
    after:  shared m:4 seq k:… seq n:8 prim …
    """
    iterations = math.prod(operation.axis(loop.axis).extent for loop in schedule.shared)
    loops = list(schedule.loops)
    enough = iterations >= target
    for position, loop in enumerate(loops):
        axis = operation.axis(loop.axis)
        free = loop.kind is ExecType.SEQ and axis.role is not DimType.K
        if not enough and free and iterations * axis.extent <= target:
            loops[position] = loop._replace(kind=ExecType.SHARED)
            iterations *= axis.extent
    return replace(schedule, loops=tuple(sorted(loops, key=lambda loop: loop.kind is not ExecType.SHARED)))


def _apply(operation: Operation, schedule: Schedule, context: Context) -> State:
    return operation, share_dimensions(operation, schedule, context.options.threads)


def _explain(before: State, after: State, context: Context) -> str:
    operation, schedule = after
    shared = " ".join(f"{loop.axis}:{operation.axis(loop.axis).extent}" for loop in schedule.shared)
    return f"{shared or 'nothing'} shared: at most {context.options.threads} iterations are asked for"


SHARE_DIMENSIONS = Pass("parallelise", _apply, _explain)
