"""Contractions whose products are those of groups: neighbours along k that lie side by side, multiplied at once.

For vectors the proposals are those of any contraction with groups as elements: a group is 4 bytes long, and k has that
many times fewer steps. Matrix tiles have a nest of their own (`matrix_tiles.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from einloom.dtypes import FLOAT32, FLOAT64, LOWERED, RAISED, DType
from einloom.group_products import GROUP, GroupProducts, outer_products_of, products_of, takes_scalable
from einloom.ir.layout import ALIASED, SPREAD
from einloom.ir.operation import Operand, Operation, Primitive
from einloom.ir.schedule import OUTPUT, Prims, Schedule, ScheduledPack
from einloom.kernels.verbs.products import vectors_of
from einloom.machine import Machine
from einloom.passes.contraction.blocking import Blocking
from einloom.passes.contraction.matrix_tiles import tiled_schedule
from einloom.passes.contraction.outer import OuterModel, outer_proposals
from einloom.passes.contraction.plan import Plan
from einloom.passes.identify import takes_outer_products, vector_operand
from einloom.passes.model.cost import Cost, CostModel
from einloom.passes.model.rates import rates_of
from einloom.passes.parallelise import parallelise
from einloom.passes.values import Context

__all__ = ["grouped_schedules"]

PLANS = (
    Plan("groups, vector block", packs_element=False),
    Plan("groups, vector block, element packed"),
    Plan("groups, element once", element_first=True, panels=True),
    Plan("groups, five loops", vector_inside=True, panels=True),
)
"""Vectors of groups are always packed: no tensor has pairs of rows side by side."""

BLOCKED_TILE = (8, 12)
"""Sums along m and n of a kernel that multiplies two rows by two columns: 24 registers, four for rows."""

BIASED_TILES = 3
"""Tiles beside each other of which one has a column more."""


def grouped_schedules(operation: Operation, prims: Prims, context: Context) -> Iterator[tuple[str, Schedule, Cost]]:
    """Yield (family, schedule, cost) of proposals that multiply groups, where the machine does so."""
    if prims.k is None or not context.options.packing:
        return
    most = context.options.max_kernel_size
    for products in _products(operation, prims, context.machine):
        if most is not None and most < products.group:
            continue
        counted = _in_groups(operation, prims.k, products)
        cost = _cost(counted, products, context)
        for family, schedule in _proposed(counted, operation, prims, products, context):
            restored = _restored(operation, schedule, products)
            if restored is not None:
                yield family, restored, cost(schedule)


def _cost(counted: Operation, products: GroupProducts, context: Context) -> Callable[[Schedule], Cost]:
    """Return what says how long a schedule takes."""
    if products.outer:
        return OuterModel(counted, context).cost
    operation = counted if products.tile is None else _spread(counted)
    model, threads = (
        CostModel(operation, _machine_of(products, context.machine), may_leave=False),
        context.options.threads,
    )
    return lambda schedule: model.cost(parallelise(counted, schedule, threads), threads)


def _proposed(
    counted: Operation, operation: Operation, prims: Prims, products: GroupProducts, context: Context
) -> Iterator[tuple[str, Schedule]]:
    """Yield (family, schedule) with k counted in groups."""
    if products.tile is not None:
        other = operation.inputs[1 - vector_operand(operation, prims)]
        in_place = _lies_in_groups(operation, other, prims, products.group)
        stages = operation.output.dtype != operation.accumulate
        yield "tiles", tiled_schedule(counted, prims, products.tile, context.machine, in_place, stages)
        return
    if products.outer:
        for family, schedule in outer_proposals(counted, prims, context):
            yield f"groups, {family}", schedule
        return
    tile = _tile(products, context.machine)
    blocking = Blocking(counted, prims, context.machine, context.options.max_kernel_size, tile)
    for plan in PLANS:
        schedule = blocking.schedule(plan)
        if schedule is not None:
            yield plan.family, schedule


def _tile(products: GroupProducts, machine: Machine) -> tuple[int, int] | None:
    """Return the sums along m and n of a kernel that has its vectors in registers; None: the usual microkernel's.

    Two or three vectors and an element of the inputs take registers, and what products keep for themselves. Where the
    first tile has a column more, there are several tiles beside each other.
    """
    if products.bytes > GROUP:
        return BLOCKED_TILE
    groups = products.second, products.first
    isa = vectors_of(machine.vectors, FLOAT32, groups, takes_scalable(groups, machine))
    registers = isa.registers
    biased = products.first in (RAISED, LOWERED)
    if not biased and (registers == machine.registers or registers > 24):
        return None
    vectors = 3 if registers > 24 else 2
    columns = (registers - vectors - 1) // vectors - biased
    return vectors * isa.bits // (8 * GROUP), columns * (BIASED_TILES if biased else 1)


def _products(operation: Operation, prims: Prims, machine: Machine) -> Iterator[GroupProducts]:
    """Yield the fastest products of groups that the machine has, and those in tiles of outer products."""
    if operation.main not in (Primitive.GEMM, Primitive.BRGEMM):
        return
    vector = vector_operand(operation, prims)
    types = operation.inputs[1 - vector].dtype, operation.inputs[vector].dtype
    held = operation.accumulate if operation.rounds_sums else operation.output.dtype
    in_tiles = takes_outer_products(operation, prims)
    for found in (outer_products_of(*types, machine, held), products_of(*types, machine, held)):
        if found is not None and (in_tiles or not (found.tile or found.outer)):
            yield found


def _spread(counted: Operation) -> Operation:
    """Return the operation with rows apart that would fall into few sets of a cache.

    Tiles take whole lines, each once for a panel of the other operand: nothing is lost where they push each other out.
    """
    operands = (
        replace(each, strides=tuple(s + SPREAD if s and s % ALIASED == 0 else s for s in each.strides))
        for each in counted.operands
    )
    return replace(counted, operands=tuple(operands))


def _in_groups(operation: Operation, k: str, products: GroupProducts) -> Operation:
    """Return the operation on groups as elements: what is contiguous stays so, and k has fewer steps."""
    group = products.group
    axes = tuple(replace(axis, extent=-(-axis.extent // group)) if axis.name == k else axis for axis in operation.axes)
    element = FLOAT32 if products.bytes == GROUP else FLOAT64
    operands = tuple(_on_groups(operand, operation, k, group, element) for operand in operation.operands)
    return replace(operation, axes=axes, operands=operands)


def _on_groups(operand: Operand, operation: Operation, k: str, group: int, element: DType) -> Operand:
    if operation.stride(operand, k) != 1:
        return replace(operand, dtype=element)
    strides = (
        1 if axis.name == k else stride // group if stride % group == 0 else stride
        for axis, stride in zip(operation.axes, operand.strides)
    )
    return replace(operand, dtype=element, strides=tuple(strides))


def _machine_of(products: GroupProducts, machine: Machine) -> Machine:
    """Return a machine whose multiply-adds are as fast as these products."""
    rates = rates_of(machine)
    rate = rates.float32 * products.rate
    return replace(machine, rates=replace(rates, float32=rate, float64=rate))


def _restored(operation: Operation, schedule: Schedule, products: GroupProducts) -> Schedule | None:
    """Return the schedule with k counted in elements again; None where an input would not lie in groups."""
    k, group = schedule.prims.k, products.group
    loops = tuple(loop._replace(step=loop.step * group) if loop.axis == k else loop for loop in schedule.loops)
    packs: list[ScheduledPack] = []
    vector = vector_operand(operation, schedule.prims)
    taken = {1 - vector: products.first, vector: products.second}
    for pack in schedule.packs:
        if pack.operand == OUTPUT:
            packs.append(pack)
            continue
        if sum(digit.axis == k for digit in pack.layout) != 1:
            return None
        packs.append(replace(pack, grouped=taken[pack.operand]))
    packed = {pack.operand for pack in packs}
    in_place = [(operand, taken[i]) for i, operand in enumerate(operation.inputs) if i not in packed]
    if not all(o.dtype == t and _lies_in_groups(operation, o, schedule.prims, group) for o, t in in_place):
        return None
    return replace(schedule, loops=loops, packs=tuple(packs))


def _lies_in_groups(operation: Operation, operand: Operand, prims: Prims, group: int) -> bool:
    """Whether an operand may be read in place: contiguous along k, and whole groups apart along all else."""
    if prims.k is None or operation.stride(operand, prims.k) != 1 or operation.axis(prims.k).extent % group:
        return False
    taken = (name for name in (prims.m, prims.n, prims.batch) if name is not None)
    return all(operation.stride(operand, name) % group == 0 for name in taken)
