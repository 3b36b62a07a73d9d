"""The driver of the passes: from an operation to a schedule that runs well, in a fraction of a millisecond."""

from __future__ import annotations

from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.machine import Machine
from einloom.passes.block_contraction import block_contraction
from einloom.passes.block_elementwise import block_element_wise
from einloom.passes.fuse import fuse
from einloom.passes.identify import identify_primitive
from einloom.passes.parallelise import parallelise
from einloom.passes.space_filling_curve import follow_curve
from einloom.passes.split import limit_kernels
from einloom.passes.vectorise_large_input import turn_contraction

__all__ = ["optimize_operation"]


def optimize_operation(
    operation: Operation,
    machine: Machine,
    threads: int = 1,
    packing: bool = True,
    max_kernel_size: int | None = None,
    min_kernel_size: int | None = None,
    sfc: bool = False,
) -> tuple[Operation, Schedule]:
    """Return the operation with its axes fused, and a schedule for it.

    Args:
        operation: what is computed.
        machine: the target.
        threads: how many threads may share the work.
        packing: whether blocks of inputs may be copied into scratch.
        max_kernel_size: most indices of an axis that one call of a primitive takes; None: what suits the caches.
        min_kernel_size: axes of at least this many indices take in no other axis; None: whatever can fuse does.
        sfc: whether blocks of the output follow a space-filling curve.
    """
    operation = fuse(operation, min_kernel_size)
    prims = identify_primitive(operation)
    if operation.main.is_contraction:
        turned = turn_contraction(operation, machine) if packing and max_kernel_size is None else None
        schedule = turned or block_contraction(operation, prims, machine, packing, max_kernel_size)
    else:
        schedule = block_element_wise(operation, prims, machine, packing)
    schedule = parallelise(operation, schedule, threads)
    if max_kernel_size is not None:
        schedule = limit_kernels(operation, schedule, max_kernel_size)
    return operation, follow_curve(operation, schedule) if sfc else schedule
