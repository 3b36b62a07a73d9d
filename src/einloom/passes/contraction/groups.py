"""Contractions whose products are those of groups: neighbours along k that lie side by side, multiplied at once.

For vectors the proposals are those of any contraction with groups as elements: a group is 4 bytes long, and k has that
many times fewer steps. Matrix tiles have a nest of their own, for they compute faster than the second-level cache is
read: a panel of the vector operand stays in the first-level one, which bounds k, while many rows of the other operand
pass. These are packed where several panels meet them: tiles read whole lines, of which rows that begin anywhere in one
take two each. Copies wait for memory while nothing is computed, so each operand is packed as rarely as can be: a block
of the vector operand once with all of k, for as much of the output as scratch has room for. Its panels follow each
other in memory, which processors notice and fetch in time from beyond L2:

    seq j:1600   pack the vector operand's block, all of k
      seq i:544    stage the output's block, if there are several of k
        seq l:544    pack the rows of the other operand
          seq j:32
            tiles of 32 x 32 sums

Where rows with all of k fit into L2, they are packed so, and fewer columns of the output are staged at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from einloom.dtypes import FLOAT32, FLOAT64, LOWERED, RAISED, DType
from einloom.group_products import GROUP, GroupProducts, outer_products_of, products_of, takes_scalable
from einloom.ir.layout import ALIASED, SPREAD
from einloom.ir.operation import DimType, Operand, Operation, Primitive
from einloom.ir.schedule import OUTPUT, Digit, Prims, Schedule, ScheduledLoop, ScheduledPack
from einloom.kernels.verbs.products import vectors_of
from einloom.machine import Machine
from einloom.passes.contraction.blocking import Blocking
from einloom.passes.contraction.outer import OuterModel, outer_proposals
from einloom.passes.contraction.plan import Plan
from einloom.passes.identify import takes_outer_products, vector_operand
from einloom.passes.model.cost import Cost, CostModel
from einloom.passes.model.rates import rates_of
from einloom.passes.model.sizes import balanced_block, round_up
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

STEP = 16
"""Groups of k that tiles take at once."""

BLOCKED_TILE = (8, 12)
"""Sums along m and n of a kernel that multiplies two rows by two columns: 24 registers, four for rows."""

BIASED_TILES = 3
"""Tiles beside each other of which one has a column more."""

ROWS_SHARE, PANEL_SHARE = 0.28, 0.8
"""Shares of L2 that the rows of the other operand may take, and of L1 that a panel of the vector operand takes."""

BLOCK_ONCE, BLOCK, STAGED = 0.4, 4.0, 2.0
"""What a block of the vector operand may take, in multiples of L2, where it meets all rows at once and where it is read
again for others; and a staged block of the output.
"""

NEAR, TOGETHER = 2, 4
"""Panels of k up to which rows are packed with all of it: the output is then staged by so many panels of columns alone,
which stay in L2.
"""

PANELS = 3
"""Panels from which on the rows that meet them are packed."""


def grouped_schedules(operation: Operation, prims: Prims, context: Context) -> Iterator[tuple[str, Schedule, Cost]]:
    """Yield (family, schedule, cost) of proposals that multiply groups, where the machine does so."""
    if prims.k is None or not context.options.packing:
        return
    for products in _products(operation, prims, context.machine):
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
    model, threads = CostModel(operation, _machine_of(products, context.machine)), context.options.threads
    return lambda schedule: model.cost(parallelise(counted, schedule, threads), threads)


def _proposed(
    counted: Operation, operation: Operation, prims: Prims, products: GroupProducts, context: Context
) -> Iterator[tuple[str, Schedule]]:
    """Yield (family, schedule) with k counted in groups."""
    if products.tile is not None:
        yield "tiles", _tiled(counted, operation, prims, products, context.machine)
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
    loops = tuple(replace(loop, step=loop.step * group) if loop.axis == k else loop for loop in schedule.loops)
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


def _tiled(
    counted: Operation, operation: Operation, prims: Prims, products: GroupProducts, machine: Machine
) -> Schedule:
    """Return the schedule of matrix tiles, k counted in groups."""
    assert products.tile is not None and prims.k is not None
    width, vector = products.tile[0], vector_operand(operation, prims)
    extents = {axis.name: axis.extent for axis in counted.axes}
    outer, reduced = _single_indices(counted, prims)
    stages = operation.output.dtype != operation.accumulate
    blocks = _tile_blocks(extents, prims, products.tile, machine, stages, bool(reduced))
    sums = [*reduced, *_loop(prims.k, blocks.panel, extents)]
    loops = [*outer, *_loop(prims.m, blocks.across, extents)]
    packs = [_panels(counted, prims, vector, len(loops), width)]
    loops += _loop(prims.n, blocks.down, extents)
    rows = len(loops) if blocks.near else len(loops) + len(sums)
    within = {**extents, prims.m or "": blocks.across}
    loops += _loop(prims.m, TOGETHER * width, within) if blocks.near else []
    if stages and sums:
        packs.append(_staged(counted, prims, len(loops), width))
    in_place = _lies_in_groups(operation, operation.inputs[1 - vector], prims, products.group)
    if not in_place or blocks.across > (PANELS - 1) * width:
        packs.append(_rows(counted, prims, 1 - vector, rows))
    return Schedule((*loops, *sums, *_loop(prims.m, width, within)), prims, tuple(packs))


@dataclass(frozen=True, slots=True)
class _TileBlocks:
    """Blocks of the nest of matrix tiles, in indices and groups.

    Attributes:
        panel: groups of k that tiles take in one go.
        down: rows of the other operand.
        across: columns of the vector operand's block.
        near: whether rows are packed with all of k, so that a staged block is left after a few panels.
    """

    panel: int
    down: int
    across: int
    near: bool


def _tile_blocks(
    extents: dict[str, int], prims: Prims, tile: tuple[int, int], machine: Machine, stages: bool, reduced: bool
) -> _TileBlocks:
    """Return the blocks; `stages`: sums that are not complete are staged; `reduced`: other axes are summed as well."""
    (width, height), k = tile, extents[prims.k or ""]
    columns, rows = (1 if name is None else extents[name] for name in (prims.m, prims.n))
    panel = _panel(k, machine, width) if rows > 2 * height else k
    parts = -(-k // panel)
    near = stages and not reduced and 1 < parts <= NEAR
    depth = k if near else panel
    down = _cut(rows, int(ROWS_SHARE * machine.l2) // (GROUP * depth), height)
    room = int((BLOCK if down < rows else BLOCK_ONCE) * machine.l2) // k
    if stages and not near and (reduced or parts > 1):
        room = min(room, int(STAGED * machine.l2) // down)
    return _TileBlocks(panel, down, _cut(columns, room // GROUP, width), near)


def _panel(extent: int, machine: Machine, width: int) -> int:
    """Return how many groups of k a panel has that stays in L1."""
    most = int(PANEL_SHARE * machine.l1d) // (GROUP * width) // STEP * STEP
    return round_up(-(-extent // -(-extent // most)), STEP)


def _staged(counted: Operation, prims: Prims, depth: int, width: int) -> ScheduledPack:
    """Return the staging of the output, in panels of `width` columns."""
    m, axes = prims.m, [name for name in (prims.n, prims.m) if name is not None and counted.axis(name).extent > 1]
    panels = [Digit(m, width)] if m is not None and counted.axis(m).extent > width else []
    return ScheduledPack(OUTPUT, depth, (*panels, *map(Digit, axes)))


def _single_indices(counted: Operation, prims: Prims) -> tuple[list[ScheduledLoop], list[ScheduledLoop]]:
    """Return loops over the axes that the primitive lacks: those of the output, in its order, and reduced ones."""
    others = [axis for axis in counted.axes if axis.name not in prims.names and axis.extent > 1]
    ordered = counted.outermost_first(counted.output, others)
    kept = [ScheduledLoop(axis.name, 1) for axis in ordered if axis.role is not DimType.K]
    return kept, [ScheduledLoop(axis.name, 1) for axis in ordered if axis.role is DimType.K]


def _loop(name: str | None, step: int, extents: dict[str, int]) -> list[ScheduledLoop]:
    return [ScheduledLoop(name, step)] if name is not None and step < extents[name] else []


def _cut(extent: int, target: int, multiple: int) -> int:
    """Return how far a block reaches along an axis that the primitive takes."""
    return max(min(balanced_block(extent, max(target, multiple), multiple), extent), 1)


def _panels(counted: Operation, prims: Prims, position: int, depth: int, width: int) -> ScheduledPack:
    """Return the pack of the vector operand: panels of `width` columns, with all of the reduced axes."""
    operand, m, k = counted.inputs[position], prims.m, prims.k or ""
    summed = [axis.name for axis in counted.axes if axis.role is DimType.K and axis.name != k and axis.extent > 1]
    digits = [Digit(name) for name in summed if counted.stride(operand, name)]
    extent = 1 if m is None else counted.axis(m).extent
    digits += [Digit(m, width)] if m is not None and extent > width else []
    digits += [Digit(k), *([Digit(m)] if m is not None and extent > 1 else [])]
    return ScheduledPack(position, depth, tuple(digits))


def _rows(counted: Operation, prims: Prims, position: int, depth: int) -> ScheduledPack:
    """Return the pack of the other operand: rows of k."""
    names = [name for name in (prims.batch, prims.n) if name is not None and counted.axis(name).extent > 1]
    digits = [Digit(name) for name in names if counted.stride(counted.inputs[position], name)]
    return ScheduledPack(position, depth, (*digits, Digit(prims.k or "")))
