"""The driver of the passes: from an operation to a schedule that runs well, in a fraction of a millisecond."""

from __future__ import annotations

from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.machine import Machine
from einloom.passes.block import block_contraction
from einloom.passes.fuse import fuse
from einloom.passes.identify import identify_primitive
from einloom.passes.parallelise import parallelise
from einloom.passes.stage import block_element_wise

__all__ = ["optimize_operation"]


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
        schedule = block_element_wise(operation, prims, machine, packing)
    return operation, parallelise(operation, schedule, threads)
