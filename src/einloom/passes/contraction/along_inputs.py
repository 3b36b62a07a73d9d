"""Vectors along an axis of an input, where the output's innermost one is too short for them.

The output is computed in scratch, where that axis is the innermost one, and a copy turns what is complete. An axis and
those around it in the input are one axis of the kernels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from einloom.ir.fused import FusedView
from einloom.ir.operation import Axis, DimType, Operand, Operation
from einloom.ir.schedule import Prims, Schedule
from einloom.machine import Machine
from einloom.passes.contraction.blocking import Blocking
from einloom.passes.contraction.fused_rows import fused_axes, in_whole_rows
from einloom.passes.contraction.plan import Plan, Staging
from einloom.passes.identify import LARGER, prims_along, vector_operand
from einloom.passes.model.microarchitectures import kept_in_last_level

__all__ = [
    "is_short",
    "schedules_along_inputs",
    "schedules_of_far_input",
    "schedules_of_packed_input",
    "schedules_where_it_lies",
]

SHORT = 64
"""Bytes of the output's innermost axis from which on it is long enough: a cache line."""

TILES = 4
"""Vectors that are enough: no further axes are fused. A large input is read as it lies, in runs as long as they are."""

COLUMNS = 16
"""Columns that are enough: of axes that have as many the closest one in the output is taken."""

FEW_COLUMNS = 128
"""Columns up to which it takes a good part of computing with an input to copy it."""

_PLAN = Plan("along an input", packs_vector=False, packs_element=False, staging=Staging.SUMS)
IN_PLACE = (_PLAN, _PLAN._replace(long_runs=True), _PLAN._replace(long_runs=True, few_steps=True))
"""Nothing is copied but the output. Of sums over rows in many pages a part may be taken at a time."""

COPIED = (_PLAN, _PLAN._replace(packs_vector=True), _PLAN._replace(packs_vector=True, packs_element=True))
"""Inputs may be copied."""

LARGE = (*IN_PLACE, COPIED[1]._replace(k_parts=16, long_runs=True))
"""The input that is read as vectors may be copied in a few long rows, as they lie in a large one."""

SHORTER = (IN_PLACE[0], IN_PLACE[2])
"""Of shorter runs: to read these in longer rows gains a hundredth at most."""


def schedules_along_inputs(
    operation: Operation, prims: Prims, machine: Machine, most: int | None = None
) -> Iterator[Schedule]:
    """Yield schedules whose vectors run along axes that are runs of an input, where vectors along the output are worse.

    before: prim m=a n=b k=d                              (bd,dca->cba; a 5, b 504, c 24, d 1840)
    after:  fuse ca=c*a seq b:252 seq d:460 … prim m=ca n=b k=d … pack out@1 b ca
    """
    m = operation.axis(prims.m) if prims.m else None
    if m is None or m.role is DimType.C:
        return
    lanes, short = machine.vector_bits // 8 // operation.accumulate.size, is_short(operation, m)
    turned = operation.inputs[vector_operand(operation, prims)]
    for role, operand in ((DimType.M, operation.inputs[0]), (DimType.N, operation.inputs[-1])):
        run = _run(operation, operand, role, TILES * lanes if short else 1)
        if not run:
            continue
        if len(run) == 1 and run[0] is m:  # Nothing is turned, but several axes may be one run of the input.
            if _columns(operation, m.role) > COLUMNS:
                yield from schedules_of_far_input(operation, prims, machine, most)
            continue
        along = prims_along(operation, run[-1])
        if short:
            yield from _along(operation, along, run, machine, most, COPIED)
        elif operand is turned and _is_large(operation, operand):
            yield from schedules_where_it_lies(operation, along, machine, most)
        else:
            yield from schedules_of_far_input(operation, along, machine, most)


def is_short(operation: Operation, m: Axis) -> bool:
    """Whether vectors along the output's innermost axis are parts of cache lines."""
    return m.extent * operation.accumulate.size < SHORT


def schedules_of_far_input(
    operation: Operation, prims: Prims, machine: Machine, most: int | None = None
) -> Iterator[Schedule]:
    """Yield schedules that read an input as it lies, vectors along its contiguous axis m, and stage the output.

    They are worth trying where memory has to give or take what the last level does not keep of both. With many columns
    a copy that turns the input would cost little. Of a batch each product counts by itself.
    """
    operand, role = operation.inputs[vector_operand(operation, prims)], operation.axis(prims.m or "").role
    products = math.prod(axis.extent for axis in operation.axes if axis.role is DimType.C)
    moved = sum(operation.elements(each) * each.dtype.size for each in (operand, operation.output))
    is_far = moved // max(products, 1) > kept_in_last_level(machine)
    if is_far and _columns(operation, role) <= FEW_COLUMNS:
        yield from schedules_where_it_lies(operation, prims, machine, most)


def schedules_of_packed_input(
    operation: Operation, prims: Prims, machine: Machine, most: int | None
) -> Iterator[Schedule]:
    """Yield schedules that pack an input, vectors along m, and turn the output."""
    if prims.m is not None:
        yield from _along(operation, prims, [operation.axis(prims.m)], machine, most, COPIED[1:])


def _columns(operation: Operation, role: DimType) -> int:
    """Return how many columns share the rows of the operand whose axes have a role."""
    return math.prod(axis.extent for axis in operation.axes if axis.role not in (role, DimType.K, DimType.C))


def schedules_where_it_lies(
    operation: Operation, prims: Prims, machine: Machine, most: int | None
) -> Iterator[Schedule]:
    """Yield schedules with vectors along m and the axes around it as one, and in a shorter run: of two axes, or of one.

    Blocks of three axes hold all of the inner two, which may be more than a cache does. What is many times as large as
    the output may be copied, in rows as it lies.
    """
    operand = operation.inputs[vector_operand(operation, prims)]
    if prims.m is None or operation.stride(operand, prims.m) != 1:
        return
    run = _run(operation, operand, operation.axis(prims.m).role, operation.points)
    yield from _along(operation, prims, run, machine, most, LARGE if _is_large(operation, operand) else IN_PLACE)
    if len(run) > 1:
        yield from _along(operation, prims, run[-min(len(run) - 1, 2) :], machine, most, SHORTER)


def _is_large(operation: Operation, operand: Operand) -> bool:
    """Whether an input is many times as large as the output."""
    return operation.elements(operand) > LARGER * operation.elements(operation.output)


def _run(operation: Operation, operand: Operand, role: DimType, enough: int) -> list[Axis]:
    """Return axes of a role that follow each other in an operand, outermost first, until they are enough."""
    own = [axis for axis in operation.axes if axis.role is role and operation.stride(operand, axis.name)]
    own.sort(key=lambda axis: operation.distance(operand, axis))
    run = own[:1]
    for axis in own[1:]:
        if operation.stride(operand, axis.name) != operation.stride(operand, run[0].name) * run[0].extent:
            break
        if math.prod(each.extent for each in run) >= enough:
            break
        run.insert(0, axis)
    return run


def _along(
    operation: Operation, prims: Prims, run: list[Axis], machine: Machine, most: int | None, plans: Iterable[Plan]
) -> Iterator[Schedule]:
    """Yield the schedules of plans with vectors along a run; where they do not lie along it, they are packed."""
    fused = (fused_axes(axis.name for axis in run),) if len(run) > 1 else ()
    if {each.name for each in fused} & set(operation.names):
        return
    view = FusedView.of(operation, fused)
    walked = view.stand_in(operation)
    own = prims_along(walked, walked.axis(fused[0].name if fused else run[0].name))
    prims = replace(own, k=prims.k, batch=prims.batch)
    blocking = Blocking(walked, _with_long_columns(walked, prims), machine, most)
    gathers = blocking.a.strides[prims.m or ""] != 1
    for plan in plans:
        if gathers and not plan.packs_vector:
            continue
        schedule = blocking.schedule(plan)
        rows = None if schedule is None else in_whole_rows(walked, view, fused, schedule)
        if rows is not None:
            yield rows


def _with_long_columns(operation: Operation, prims: Prims) -> Prims:
    """The longest axis of the columns, where the closest one in the output is short: scratch takes any order."""
    if prims.n is None:
        return prims
    role = operation.axis(prims.n).role
    columns = [axis for axis in operation.axes if axis.role is role and axis.name != prims.m]
    columns.sort(key=lambda axis: operation.distance(operation.output, axis))
    return replace(prims, n=max(columns, key=lambda axis: min(axis.extent, COLUMNS)).name)
