"""Dimension splitting on request: no primitive takes more than a given number of indices of any axis."""

from __future__ import annotations

from dataclasses import replace

from einloom.ir.fused import FusedView
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule, ScheduledLoop
from einloom.passes.contraction.narrow import staged_in_computed_type
from einloom.passes.values import Context, Pass, State

__all__ = ["SPLIT", "split"]


def split(operation: Operation, schedule: Schedule, most: int) -> Schedule:
    """Return the schedule with an innermost loop over every axis of which the primitive takes more than `most`.

    before: seq i:64 prim m=j n=i         (j 100, at most 40)
    after:  seq i:64 seq j:40 seq i:32 prim m=j n=i
    """
    added = []
    extents = {axis.name: axis.extent for axis in FusedView.of(operation, schedule.fused).axes}
    for name in schedule.prims.names:
        extent = extents[name]
        steps = [loop.step for loop in schedule.loops if loop.axis == name]
        block = min([extent, *steps])
        if block > most:
            group = _group(schedule) if name == schedule.prims.k else 1
            limit = most - most % group
            added.append(ScheduledLoop(name, limit if block == extent else _largest_divisor(block, limit, group)))
    return replace(schedule, loops=(*schedule.loops, *added))


def _group(schedule: Schedule) -> int:
    """Return how many neighbours along k the primitive multiplies at once: they stay together."""
    return max((pack.group for pack in schedule.packs), default=1)


def _largest_divisor(block: int, most: int, group: int) -> int:
    """Return the largest part of a block, no more than `most`, that consists of whole groups as both do."""
    return next(part for part in range(most, 0, -group) if block % part == 0)


def _apply(operation: Operation, schedule: Schedule, context: Context) -> State:
    most = context.options.max_kernel_size
    if most is None:
        return operation, schedule
    return operation, staged_in_computed_type(operation, split(operation, schedule, most))  # A sum may be cut now.


def _explain(before: State, after: State, context: Context) -> str:
    most = context.options.max_kernel_size
    if most is None:
        return "no: kernels are as large as suits the caches"
    added = " ".join(f"{loop.axis}:{loop.step}" for loop in after[1].loops[len(before[1].loops) :])
    return f"{added}: at most {most} indices a kernel" if added else f"no: no kernel takes more than {most} indices"


SPLIT = Pass("split", _apply, _explain)
