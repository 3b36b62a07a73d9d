"""Vectors along an axis of an input, where the output's innermost one is too short for them.

The output is computed in scratch, where that axis is the innermost one, and a copy turns what is complete. An axis and
those around it in the input are one axis of the kernels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from einloom.ir.fused import FusedView
from einloom.ir.operation import Axis, DimType, Operand, Operation
from einloom.ir.schedule import Prims, Schedule
from einloom.machine import Machine
from einloom.passes.contraction.blocking import Blocking
from einloom.passes.contraction.fused_rows import fused_axes, in_whole_rows
from einloom.passes.contraction.plan import Plan, Staging
from einloom.passes.identify import LARGER, prims_along, vector_operand

__all__ = ["schedules_along_inputs"]

SHORT = 64
"""Bytes of the output's innermost axis from which on it is long enough: a cache line."""

TILES = 4
"""Vectors that are enough: no further axes are fused. A large input is read as it lies, in runs as long as they are."""

PARTS = 16
"""Into how many parts a block of k is cut where a large input is copied: few rows, and long ones, as they lie in it."""

COLUMNS = 16
"""Columns that are enough: of axes that have as many the closest one in the output is taken."""


def schedules_along_inputs(
    operation: Operation, prims: Prims, machine: Machine, most: int | None = None
) -> Iterator[Schedule]:
    """Yield schedules whose vectors run along axes that are runs of an input, where vectors along the output are short.

    before: prim m=a n=b k=d                              (bd,dca->cba; a 5, b 504, c 24, d 1840)
    after:  fuse ca=c*a seq b:252 seq d:460 … prim m=ca n=b k=d … pack out@1 b ca
    """
    lanes = machine.vector_bits // 8 // operation.accumulate.size
    m = operation.axis(prims.m) if prims.m else None
    if m is None or m.role is DimType.C:
        return
    is_short = m.extent * operation.accumulate.size < SHORT
    large = None if is_short else _turned_input(operation, prims)
    if not is_short and large is None:
        return
    enough = TILES * lanes if large is None else operation.points
    for role, operand in ((DimType.M, operation.inputs[0]), (DimType.N, operation.inputs[-1])):
        run = _run(operation, operand, role, enough)
        if large is not None and not (operand is large and run and operation.stride(operand, run[-1].name) == 1):
            continue  # The large input is to be read as it lies.
        if run and (len(run) > 1 or run[0] is not m):
            yield from _along(operation, run, machine, most, PARTS if large is not None else 1)


def _turned_input(operation: Operation, prims: Prims) -> Operand | None:
    """The input that packs would transpose, if it is many times as large as the output."""
    operand = operation.inputs[vector_operand(operation, prims)]
    large = operation.elements(operand) > LARGER * operation.elements(operation.output)
    return operand if large and operation.stride(operand, prims.m or "") != 1 else None


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


def _along(operation: Operation, run: list[Axis], machine: Machine, most: int | None, parts: int) -> Iterator[Schedule]:
    """Yield schedules with vectors along a run, with packs of the inputs where they may pay, of so many parts of k."""
    fused = (fused_axes(axis.name for axis in run),) if len(run) > 1 else ()
    if {each.name for each in fused} & set(operation.names):
        return
    view = FusedView.of(operation, fused)
    walked = view.stand_in(operation)
    prims = prims_along(walked, walked.axis(fused[0].name if fused else run[0].name))
    blocking = Blocking(walked, _with_long_columns(walked, prims), machine, most)
    gathers = blocking.a.strides[prims.m or ""] != 1
    for packs_vector, packs_element in ((gathers, False), (True, gathers), (True, True)):
        nothing = not (packs_vector or packs_element)
        plan = Plan("along an input", packs_vector, packs_element, staging=Staging.SUMS, few_steps=nothing)
        schedule = blocking.schedule(replace(plan, k_parts=parts, long_runs=parts > 1) if packs_vector else plan)
        rows = None if schedule is None else in_whole_rows(walked, view, schedule)
        if rows is not None:
            yield replace(rows, fused=fused)


def _with_long_columns(operation: Operation, prims: Prims) -> Prims:
    """The longest axis of the columns, where the closest one in the output is short: scratch takes any order."""
    if prims.n is None:
        return prims
    role = operation.axis(prims.n).role
    columns = [axis for axis in operation.axes if axis.role is role and axis.name != prims.m]
    columns.sort(key=lambda axis: operation.distance(operation.output, axis))
    return replace(prims, n=max(columns, key=lambda axis: min(axis.extent, COLUMNS)).name)
