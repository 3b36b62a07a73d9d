"""The driver of the passes: from an operation to a schedule that runs well, in a fraction of a millisecond."""

from __future__ import annotations

from einloom.ir.operation import Axis, DimType, Operation, Primitive
from einloom.ir.schedule import Loop, Prims, Schedule
from einloom.machine import Machine
from einloom.passes.block import block_contraction
from einloom.passes.fuse import fuse
from einloom.passes.identify import identify_primitive
from einloom.passes.parallelise import parallelise
from einloom.passes.split import balanced_block

__all__ = ["optimize_operation"]

COPY_BLOCK = 64
"""Indices of each axis that one call of a transposing primitive takes: both sides stay in L1."""


def optimize_operation(
    operation: Operation, machine: Machine, threads: int = 1, packing: bool = True
) -> tuple[Operation, Schedule]:
    """Return the operation with its axes fused, and a schedule for it.

    Args:
        operation: what is computed.
        machine: the target.
        threads: how many threads may share the work.
        packing: whether blocks of inputs may be copied into scratch.
    """
    operation = fuse(operation)
    prims = identify_primitive(operation)
    if operation.main.is_contraction:
        schedule = block_contraction(operation, prims, machine, packing)
    else:
        schedule = _block_element_wise(operation, prims)
    return operation, parallelise(operation, schedule, threads)


def _block_element_wise(operation: Operation, prims: Prims) -> Schedule:
    """Loops over whole axes outside; blocks of the two axes that the primitive takes where it transposes."""
    rest = [axis for axis in operation.axes if axis.name not in prims.names]
    loops = [Loop(axis.name, 1) for axis in sorted(rest, key=lambda a: -_output_stride(operation, a))]
    if prims.m and prims.n and _transposes(operation, prims):
        for name in (prims.m, prims.n):
            axis = operation.axis(name)
            step = balanced_block(axis.extent, COPY_BLOCK, 16)
            if step < axis.extent:
                loops.append(Loop(name, step))
    return Schedule(tuple(loops), prims)


def _transposes(operation: Operation, prims: Prims) -> bool:
    contiguous = [name for name in prims.names if abs(operation.stride(operation.output, name)) == 1]
    return operation.main in (Primitive.IDENTITY, Primitive.RELU) and prims.m not in contiguous


def _output_stride(operation: Operation, axis: Axis) -> int:
    return abs(operation.stride(operation.output, axis.name)) if axis.role is not DimType.K else 0
