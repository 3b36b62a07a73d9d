"""Axes that are one run in the output, but not in an input, walked as one: full tiles where each leaves rests.

The axes c and d of 56 indices each are three and a half vectors of AVX-512; together they are 196 whole ones. The input
is packed straight, rows of d one behind the other, and kernels see one axis of 3,136 indices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from einloom.ir.fused import FusedView, rows_of
from einloom.ir.operation import Axis, Operation
from einloom.ir.schedule import Digit, Fused, Prims, Schedule, ScheduledPack
from einloom.machine import Machine
from einloom.passes.contraction.blocking import Blocking
from einloom.passes.contraction.plan import Plan
from einloom.passes.model.sizes import round_up

__all__ = ["fused_schedules"]

WIDE = 8
"""Axes of so many tiles are left alone: what their rests cost is little."""


def fused_schedules(
    operation: Operation, prims: Prims, machine: Machine, plan: Plan, most: int | None = None
) -> Iterator[Schedule]:
    """Yield schedules of a plan that packs both inputs, in which the primitive takes several axes as its m or n.

    before: prim m=d n=b k=f batch=e          (aefb,fdce->abcd)
    after:  fuse cd=c*d seq cd:336 … prim m=cd n=b k=f batch=e … pack in1@2 e f cd
    """
    tile = machine.vector_bits // 8 // operation.accumulate.size * 3
    m = _joined(operation, prims.m, WIDE * tile)
    n = _joined(operation, prims.n, WIDE * 8)
    if prims.m and prims.n and operation.axis(prims.m).role is operation.axis(prims.n).role:
        return  # A batch: its axes are no rows of an input each.
    for taken in dict.fromkeys(((m, None), (None, n), (m, n))):
        fused = tuple(each for each in taken if each is not None)
        if not fused or {each.name for each in fused} & set(operation.names):
            continue
        view = FusedView.of(operation, fused)
        taking = replace(prims, m=taken[0].name if taken[0] else prims.m, n=taken[1].name if taken[1] else prims.n)
        walked = view.stand_in(operation)
        schedule = Blocking(walked, taking, machine, most).schedule(plan)
        rows = None if schedule is None else _in_whole_rows(walked, view, schedule)
        if rows is not None:
            yield replace(rows, fused=fused)


def _joined(operation: Operation, name: str | None, enough: int) -> Fused | None:
    """The axis with those that lie around it in the output, as far as their roles agree, until there are enough."""
    if name is None or operation.axis(name).extent >= enough:
        return None
    output, axes = operation.output, [operation.axis(name)]
    while math.prod(axis.extent for axis in axes) < enough:
        reach = operation.stride(output, axes[0].name) * axes[0].extent
        outer = next((axis for axis in operation.axes if _lies(operation, axis, reach, axes[0])), None)
        if outer is None:
            break
        axes.insert(0, outer)
    names = tuple(axis.name for axis in axes)
    return Fused("".join(names).replace("*", ""), names) if len(axes) > 1 else None


def _lies(operation: Operation, axis: Axis, stride: int, inner: Axis) -> bool:
    return axis.role is inner.role and operation.stride(operation.output, axis.name) == stride


def _in_whole_rows(walked: Operation, view: FusedView, schedule: Schedule) -> Schedule | None:
    """The schedule with blocks of whole rows outside the packs of inputs whose rows lie apart, which they walk."""
    loops, packs = list(schedule.loops), list(schedule.packs)
    for position, operand in enumerate(walked.operands):
        for axis, parts in view.parts[operand.name].items():
            place = next((i for i, pack in enumerate(packs) if pack.operand == position), None)
            if place is None or all(digit.axis != axis for digit in packs[place].layout):
                return None  # No rows are packed: the operand is read in place, or its blocks are of one index.
            packs[place] = _straight(packs[place], axis)
            for i, loop in enumerate(loops[: packs[place].loop]):
                if loop.axis == axis:
                    loops[i] = replace(loop, step=round_up(loop.step, rows_of(parts)))
    return replace(schedule, loops=tuple(loops), packs=tuple(packs))


def _straight(pack: ScheduledPack, axis: str) -> ScheduledPack:
    """The pack without panels of the axis: rows of parts lie one behind the other."""
    last = max(i for i, digit in enumerate(pack.layout) if digit.axis == axis)
    kept = (digit for i, digit in enumerate(pack.layout) if digit.axis != axis or i == last)
    return replace(pack, layout=tuple(Digit(d.axis) if d.axis == axis else d for d in kept))
