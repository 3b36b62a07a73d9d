"""The schedule of operations that turn complex numbers into matrices: blocks small enough for the first-level cache.

The four pieces of a block are written one after the other (`einloom.ir.turned`), so it is read four times.
"""

from __future__ import annotations

from dataclasses import replace

from einloom.ir.operation import Operation, Primitive
from einloom.ir.schedule import ExecType, Prims, Schedule, ScheduledLoop
from einloom.passes.fuse import fuse
from einloom.passes.values import Context, Pass, State

__all__ = ["TURN"]

ALONG, ACROSS = 256, 16
"""Elements of a block along its contiguous axis, and along the other one."""


def turn(operation: Operation, threads: int) -> State:
    """Return the operation with axes fused, but for the last two, and its schedule.

    before: axis a 40 c, axis b 30 c, axis term 2 c, axis part 2 c; turn
    after:  seq a:16 seq b:256 prim m=b n=a
    """
    operation = _fused(operation)
    *axes, _, _ = operation.axes
    source, target = operation.operands
    axes.sort(key=lambda axis: -abs(operation.stride(target, axis.name)))
    m = axes[-1].name if axes else None
    others = [axis for axis in axes if axis.name != m]
    n = min(others, key=lambda axis: operation.distance(source, axis)).name if others else None
    loops: list[ScheduledLoop] = []
    for axis in axes:
        step = ALONG if axis.name == m else ACROSS if axis.name == n else 1
        if step < axis.extent or (axis.name not in (m, n) and axis.extent > 1):
            loops.append(ScheduledLoop(axis.name, step))
    if threads > 1 and loops:
        loops = _shared(operation, loops, threads)
    return operation, Schedule(tuple(loops) or (ScheduledLoop(m, ALONG),) if m else (), Prims(m, n))


def _shared(operation: Operation, loops: list[ScheduledLoop], threads: int) -> list[ScheduledLoop]:
    """Share the outermost loop among threads, in whole steps."""
    first = loops[0]
    trips = -(-operation.axis(first.axis).extent // first.step)
    step = -(-trips // threads) * first.step
    return [ScheduledLoop(first.axis, step, ExecType.SHARED), *loops] if trips > 1 else loops


def _fused(operation: Operation) -> Operation:
    """Fuse all axes but the last two: those of the matrices."""
    matrix = operation.axes[-2:]
    operands = tuple(replace(o, strides=o.strides[:-2]) for o in operation.operands)
    ends = [o.strides[-2:] for o in operation.operands]
    plain = fuse(replace(operation, axes=operation.axes[:-2], operands=operands, main=Primitive.IDENTITY))
    whole = tuple(replace(o, strides=(*o.strides, *end)) for o, end in zip(plain.operands, ends))
    return replace(operation, axes=(*plain.axes, *matrix), operands=whole)


def _apply(operation: Operation, schedule: Schedule, context: Context) -> State:
    return turn(operation, context.options.threads)


def _explain(before: State, after: State, context: Context) -> str:
    return f"{before[0].main}: {after[1]}"


TURN = Pass("turn", _apply, _explain)
"""For the operations of `TURNS` alone."""
