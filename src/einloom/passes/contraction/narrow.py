"""Contractions of types that are narrower in memory than in registers: what widening costs, where results are rounded.

Proposals are made as if all elements were of the type that is computed in; packs widen as they copy, kernels as they
load. An output that is stored in a narrower type is staged in the one that is computed in, outside all loops that add
to it. Products of groups: `groups`.
"""

from __future__ import annotations

import math
from dataclasses import replace

from einloom.ir.fused import FusedView
from einloom.ir.operation import DimType, Operation
from einloom.ir.schedule import OUTPUT, Digit, Schedule, ScheduledLoop, ScheduledPack
from einloom.passes.identify import vector_operand
from einloom.passes.model.cost import Cost
from einloom.passes.model.sizes import round_up

__all__ = ["in_computed_type", "staged_in_computed_type", "widening"]

WIDENS_VECTOR, WIDENS_ELEMENT = 0.2, 0.7
"""How much longer kernels compute that widen the vector operand as they load it, or the other, for every product."""

STAGED_BYTES = 1 << 20
"""Most bytes of a staged block: the second-level cache holds it beside what is packed."""


def in_computed_type(operation: Operation) -> Operation:
    """Return the operation with all elements in the type that is computed in."""
    dtype = operation.accumulate
    if all(operand.dtype == dtype for operand in operation.operands):
        return operation
    return replace(operation, operands=tuple(replace(operand, dtype=dtype) for operand in operation.operands))


def widening(operation: Operation, schedule: Schedule, cost: Cost) -> Cost:
    """Return the cost of a schedule whose kernels widen what is not packed."""
    if all(operand.dtype == operation.accumulate for operand in operation.inputs):
        return cost
    operation = FusedView.of(operation, schedule.fused).stand_in(operation)
    vector, packed = vector_operand(operation, schedule.prims), {pack.operand for pack in schedule.packs}
    longer = 1.0
    for position, operand in enumerate(operation.inputs):
        if position not in packed and operand.dtype != operation.accumulate:
            longer += WIDENS_VECTOR if position == vector else WIDENS_ELEMENT
    return cost._replace(arithmetic=cost.arithmetic * longer)


# ---- narrow outputs --------------------------------------------------------------------------------------------------


def staged_in_computed_type(operation: Operation, schedule: Schedule, always: bool = False) -> Schedule:
    """Stage an output that would be rounded more than once, or that tiles of another type are added to.

    Copied integers wrap after each operator as they would at the end, and are not staged. With `always` any narrow
    output is: some kernels store what they compute in alone.

    before: seq j:288 seq l:320 seq i:8 prim …
    after:  seq j:288 seq l:320 seq i:8 prim … pack out@1 i j
    """
    staged = any(pack.operand == OUTPUT for pack in schedule.packs)
    wraps = operation.output.dtype.is_integer and not operation.main.is_contraction
    if staged or wraps or not operation.narrows:
        return schedule
    view = FusedView.of(operation, schedule.fused)
    operation = view.stand_in(operation)
    adds = [i for i, loop in enumerate(schedule.loops) if _is_partial_sum(operation, loop)]
    grouped = any(pack.grouped for pack in schedule.packs)
    touched = any(not touch.does_nothing for touch in operation.last_touches)
    if not adds and not grouped and not touched and not always:
        return schedule
    depth = adds[0] if adds else len(schedule.loops)
    schedule, depth = _with_small_blocks(operation, schedule, depth, view)
    return replace(schedule, packs=(*schedule.packs, ScheduledPack(OUTPUT, depth, _layout(operation, schedule, depth))))


def _is_partial_sum(operation: Operation, loop: ScheduledLoop) -> bool:
    axis = operation.axis(loop.axis)
    return axis.role is DimType.K and loop.step < axis.extent


def _spans(operation: Operation, schedule: Schedule, depth: int) -> dict[str, int]:
    """Return how many indices of each axis of the output there are inside the first loops."""
    spans = {axis.name: axis.extent for axis in operation.axes if axis.role is not DimType.K}
    for loop in schedule.loops[:depth]:
        if loop.axis in spans:
            spans[loop.axis] = min(spans[loop.axis], loop.step)
    return spans


def _with_small_blocks(operation: Operation, schedule: Schedule, depth: int, view: FusedView) -> tuple[Schedule, int]:
    """Return the schedule with more loops around, so that the staged block fits, and the depth inside them."""
    size = operation.accumulate.size
    while size * math.prod((spans := _spans(operation, schedule, depth)).values()) > STAGED_BYTES:
        halves = {name: _half(schedule, depth, name, span, view.rows(name)) for name, span in spans.items()}
        if not (smaller := [name for name in spans if halves[name] < spans[name]]):
            break
        name = max(smaller, key=lambda axis: spans[axis])
        loops = (*schedule.loops[:depth], ScheduledLoop(name, halves[name]), *schedule.loops[depth:])
        packs = tuple(replace(pack, loop=pack.loop + (pack.loop > depth)) for pack in schedule.packs)
        schedule, depth = replace(schedule, loops=loops, packs=packs), depth + 1
    return schedule, depth


def _half(schedule: Schedule, depth: int, name: str, span: int, row: int) -> int:
    """Return half of the indices of an axis, in whole steps of the loops inside and in whole rows of a fused one."""
    inner = max((loop.step for loop in schedule.loops[depth:] if loop.axis == name), default=1)
    return round_up(-(-span // 2), math.lcm(inner, row))


def _layout(operation: Operation, schedule: Schedule, depth: int) -> tuple[Digit, ...]:
    """The staged block in the order of the output; of an empty one, whose strides may be 0, what it depends on."""
    spans, output = _spans(operation, schedule, depth), operation.output
    axes = operation.outermost_first(output, (a for a in operation.axes if a.name in spans))
    return tuple(Digit(axis.name) for axis in axes if spans[axis.name] > 1 and operation.stride(output, axis.name))
