"""Contractions as sums of outer products, in square tiles of sums (SME): vectors of both inputs lie in order.

The proposals are those of any contraction, with blocks as large as all tiles together and both inputs packed such that
the axis that their vectors run along is the innermost one, where they do not lie so.

    before  seq a:64 seq c:32 prim m=c n=a k=b pack in1@0 c:32 b c pack in0@1 a b
    after   seq a:64 seq c:32 prim m=c n=a k=b pack in1@0 c:32 b c pack in0@1 b a
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from einloom.dtypes import FLOAT32, FLOAT64
from einloom.ir.operation import Operation, Primitive
from einloom.ir.schedule import OUTPUT, Prims, Schedule, ScheduledPack
from einloom.kernels.contraction.outer import FEWEST_STEPS
from einloom.kernels.verbs.abilities import OUTER_SHAPES
from einloom.kernels.verbs.products import vectors_of
from einloom.machine import Machine
from einloom.passes.contraction.blocking import Blocking
from einloom.passes.contraction.narrow import in_computed_type, staged_in_computed_type
from einloom.passes.contraction.plan import Plan
from einloom.passes.identify import takes_outer_products, vector_operand
from einloom.passes.model.cost import Cost, CostModel
from einloom.passes.model.rates import rates_of
from einloom.passes.model.tiles import block_targets
from einloom.passes.parallelise import parallelise
from einloom.passes.values import Context

__all__ = ["OuterModel", "outer_proposals", "outer_schedules"]

PLANS = (
    Plan("outer products, in place", packs_vector=False, packs_element=False),
    Plan("outer products, element in place", packs_element=False),
    Plan("outer products, vector in place", packs_vector=False, panels=True),
    Plan("outer products, vector block", panels=True),
    Plan("outer products, element once", element_first=True, panels=True),
    Plan("outer products, five loops", vector_inside=True, panels=True),
)

ENTRY = 150
"""Cycles of a call besides its products: into streaming mode and out of it, a caller's vectors saved. An estimate."""


def outer_schedules(operation: Operation, prims: Prims, context: Context) -> Iterator[tuple[str, Schedule, Cost]]:
    """Yield (family, schedule, cost) of proposals for floats, where the machine sums their outer products."""
    machine, dtype, given = context.machine, operation.accumulate, operation
    operation = in_computed_type(given)
    has_tiles = dtype == FLOAT32 or (dtype == FLOAT64 and "sme_f64f64" in machine.features)
    if not machine.streaming_bits or not has_tiles or not context.options.packing:
        return
    model = OuterModel(operation, context)
    for family, schedule in outer_proposals(operation, prims, context):
        if _widens_in_packs(given, schedule):
            yield family, staged_in_computed_type(given, schedule, always=True), model.cost(schedule)


def _widens_in_packs(given: Operation, schedule: Schedule) -> bool:
    """Whether all inputs that are narrower than what is computed in are packed."""
    packed = {pack.operand for pack in schedule.packs}
    return all(i in packed or operand.dtype == given.accumulate for i, operand in enumerate(given.inputs))


def outer_proposals(operation: Operation, prims: Prims, context: Context) -> Iterator[tuple[str, Schedule]]:
    """Yield (family, schedule) of those whose blocks fill tiles."""
    if operation.main not in (Primitive.GEMM, Primitive.BRGEMM) or None in (prims.m, prims.n, prims.k):
        return
    if not takes_outer_products(operation, prims):
        return
    size = operation.accumulate.size
    side, (across, down) = context.machine.streaming_bits // 8 // size, OUTER_SHAPES[size]
    tile = across * side, down * side
    blocking = Blocking(operation, prims, context.machine, context.options.max_kernel_size, tile)
    for plan in PLANS:
        schedule = blocking.schedule(plan)
        schedule = None if schedule is None else _in_order(operation, schedule)
        if schedule is not None and _fills(operation, schedule, side):
            yield plan.family, schedule


class OuterModel:
    """What such schedules cost: as if one outer product began in each cycle, and calls took `ENTRY` more.

    A block of the vector operand is read once for as many columns as all tiles have, not as registers hold.
    """

    def __init__(self, operation: Operation, context: Context) -> None:
        machine, size = context.machine, operation.accumulate.size
        columns = machine.streaming_bits // 8 // size * OUTER_SHAPES[size][1]
        self.reread = min(block_targets(machine, operation.accumulate, columns).tile_n / columns, 1.0)
        self.operation, self.threads = operation, context.options.threads
        self.entry = ENTRY * CostModel(operation, machine).cycle
        self.model = CostModel(operation, _with_tiles(machine, size), may_leave=False)

    def cost(self, schedule: Schedule) -> Cost:
        """Return the predicted seconds of a schedule."""
        cost = self.model.cost(parallelise(self.operation, schedule, self.threads), self.threads)
        calls = self.model.flow(schedule).walk.runs[len(schedule.loops)]
        arithmetic = cost.arithmetic + calls * self.entry / self.threads
        return cost._replace(arithmetic=arithmetic, near=self.reread * cost.near)


def _with_tiles(machine: Machine, size: int) -> Machine:
    """Return a machine whose vectors multiply and add as fast as the tiles do."""
    isa, side = vectors_of(machine.vectors, FLOAT32 if size == 4 else FLOAT64), machine.streaming_bits // 8 // size
    faster = side * side / (isa.bits // 8 // size * isa.fmas_per_cycle)
    rates = rates_of(machine)
    return replace(machine, rates=replace(rates, float32=rates.float32 * faster, float64=rates.float64 * faster))


def _in_order(operation: Operation, schedule: Schedule) -> Schedule | None:
    """Return the schedule with packs whose vectors lie in order; None where an input is read that has none."""
    vector, prims = vector_operand(operation, schedule.prims), schedule.prims
    along = {vector: prims.m, 1 - vector: prims.n}
    packed = {pack.operand for pack in schedule.packs}
    places = [(operation.inputs[i], along[i]) for i in (0, 1) if i not in packed]
    if OUTPUT not in packed:
        places.append((operation.output, prims.m))
    if any(axis is None or operation.stride(operand, axis) != 1 for operand, axis in places):
        return None
    return replace(schedule, packs=tuple(_innermost(pack, along.get(pack.operand)) for pack in schedule.packs))


def _innermost(pack: ScheduledPack, axis: str | None) -> ScheduledPack:
    last = [digit for digit in pack.layout if digit.axis == axis and digit.step == 1]
    return replace(pack, layout=(*(digit for digit in pack.layout if digit not in last), *last)) if last else pack


def _fills(operation: Operation, schedule: Schedule, side: int) -> bool:
    """Whether what the primitive takes fills half of a tile, and is worth entering the mode for."""
    taken = {axis.name: axis.extent for axis in operation.axes}
    for loop in schedule.loops:
        taken[loop.axis] = min(taken[loop.axis], loop.step)
    m, n, *summed = (taken[name] for name in (schedule.prims.m, schedule.prims.n, schedule.prims.k) if name)
    return 2 * min(m, n) >= side and math.prod(summed) >= FEWEST_STEPS
