"""Blocking of contractions: from a plan to loops around the microkernel, sized for the caches, for any sizes.

The nests are those of GotoBLAS with any number of axes on each side. `A` is the operand that varies along the
primitive's m (read as vectors), `B` the other; which of them stands first is the plan's:

    axes that both depend on
      blocks of the first operand's own axes
        blocks of the reduced axes
          pack a block of the first operand
          blocks of the second operand's own axes
            pack a block of the second operand
            panels of the one that stays in L1
              panels of the one that streams past
                primitive

An output may be staged: computed in scratch and streamed past the caches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from einloom.ir.operation import Operation
from einloom.ir.schedule import OUTPUT, Digit, Prims, Schedule, ScheduledLoop, ScheduledPack
from einloom.machine import Machine
from einloom.passes.contraction.blocks.decided import Blocks, blocks_of
from einloom.passes.contraction.blocks.rows import lie_apart
from einloom.passes.contraction.blocks.shared import SharedSteps
from einloom.passes.contraction.blocks.sides import Sides
from einloom.passes.contraction.plan import BLOCKS, NONE, PRODUCTS, SUMS, TILES, Plan
from einloom.passes.model.side import SideBlock

__all__ = ["Blocking"]


class Blocking:
    """Schedules of one operation; `schedule` makes that of a plan.

    Attributes:
        sides: the inputs, the axes that they share, and the sizes that suit the machine; of these
        a, b, common, targets: what families ask about.

    >>> from einloom.dtypes import FLOAT32
    >>> from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive
    >>> from einloom.ir.schedule import Prims
    >>> from einloom.machine import AVX512
    >>> axes = (Axis("i", 1600, DimType.M), Axis("j", 1600, DimType.N), Axis("l", 1600, DimType.K))
    >>> strides = (("in0", (1600, 0, 1)), ("in1", (0, 1, 1600)), ("out", (1600, 1, 0)))
    >>> product = Operation(axes, tuple(Operand(name, FLOAT32, each) for name, each in strides), Primitive.GEMM)
    >>> blocking = Blocking(product, Prims("j", "i", "l"), AVX512)
    >>> print(blocking.schedule(Plan("vector block", packs_element=False)))
    seq j:192 seq l:400 seq i:8 seq j:48 prim m=j n=i k=l pack in1@2 j:48 l j
    """

    def __init__(
        self,
        operation: Operation,
        prims: Prims,
        machine: Machine,
        most: int | None = None,
        tile: tuple[int, int] | None = None,
    ) -> None:
        self.sides = sides = Sides.of(operation, prims, machine, most, tile)
        self.a, self.b, self.common, self.targets = sides.a, sides.b, sides.common, sides.targets

    def schedule(self, plan: Plan) -> Schedule | None:
        """Return the schedule of a plan; None where the operation has no room for it."""
        blocks = blocks_of(self.sides, plan)
        return None if blocks is None else schedule_of(blocks)


def schedule_of(blocks: Blocks) -> Schedule:
    """Return the loops around the blocks of a plan, and the packs between them."""
    shared, plan = blocks.shared, blocks.shared.plan
    loops = _common_loops(shared)
    packs: list[ScheduledPack] = []
    lying = plan.few_steps and plan.staging is NONE  # Then rows are read on from block to block.
    for i, block in enumerate(blocks.in_order):
        loops += block.outer_loops(lying)
        if plan.staging is not SUMS:
            loops += _reduced_loops(shared) if i == 0 and not shared.adds_products else []
            packs += _packs(shared, [block], len(loops), alone=False)
    if plan.staging in (BLOCKS, PRODUCTS, SUMS):
        packs.append(ScheduledPack(OUTPUT, len(loops), _staged_layout(shared, _output_steps(blocks))))
    inner = _inner_loops(blocks)
    if plan.staging is SUMS:
        if plan.few_steps:  # Parts of the sum follow each other in the order of the tensor.
            loops, inner = _with_rows_around(shared, loops, inner)
        loops += _reduced_loops(shared)
        packs += _packs(shared, blocks.in_order, len(loops), alone=False)
    if shared.counting is not None:
        loops.append(ScheduledLoop(shared.counting.name, 1))
        packs += _packs(shared, blocks.in_order, len(loops), alone=True)
    if shared.adds_products:
        inner += _reduced_loops(shared)
    if plan.staging is TILES or plan.in_order:  # The output is written as it is computed.
        inner.sort(key=lambda loop: -abs(shared.sides.places[loop.axis]))
    if plan.staging is TILES:
        packs.append(ScheduledPack(OUTPUT, len(loops) + len(inner), _staged_layout(shared, _tile_steps(blocks))))
    return Schedule((*loops, *inner), shared.sides.prims, tuple(packs))


# ---- loops ----------------------------------------------------------------------------------------------------------


def _common_loops(shared: SharedSteps) -> list[ScheduledLoop]:
    """Loops over axes that both inputs depend on, as the output has them."""
    steps, taken = shared.common, shared.sides.prims.names
    return [
        ScheduledLoop(axis.name, steps[axis.name])
        for axis in shared.sides.written
        if axis.name in steps
        and (steps[axis.name] < axis.extent or not (axis.name in taken or axis is shared.counting))
    ]


def _reduced_loops(shared: SharedSteps) -> list[ScheduledLoop]:
    """Loops over axes that are summed, as the vector operand has them."""
    steps, taken = shared.reduced, shared.sides.prims.names
    return [
        ScheduledLoop(axis.name, steps[axis.name])
        for axis in shared.sides.lying
        if steps[axis.name] < axis.extent or axis.name not in taken
    ]


def _inner_loops(blocks: Blocks) -> list[ScheduledLoop]:
    """Loops over panels: those of the operand whose panels stay in L1 outside."""
    shared = blocks.shared
    b = [] if blocks.b is None else [blocks.b]
    outside_in = [blocks.a, *b] if shared.plan.vector_inside else [*b, blocks.a]
    lying = shared.turns_output and lie_apart(shared.sides)
    return [loop for block in outside_in for loop in block.inner_loops(lying)]


def _with_rows_around(
    shared: SharedSteps, loops: list[ScheduledLoop], inner: list[ScheduledLoop]
) -> tuple[list[ScheduledLoop], list[ScheduledLoop]]:
    """Return the loops outside of the sum and inside: outside stand those whose indices lie farther apart in A."""
    strides = shared.sides.a.strides
    sum_stride = max(abs(strides[axis.name]) for axis in shared.sides.reduced)
    outside = [loop for loop in inner if abs(strides.get(loop.axis, 0)) > sum_stride]
    return [*loops, *outside], [loop for loop in inner if loop not in outside]


# ---- packs ----------------------------------------------------------------------------------------------------------


def _packs(shared: SharedSteps, blocks: Sequence[SideBlock], depth: int, alone: bool) -> list[ScheduledPack]:
    """Return the packs of blocks that are copied: of those of one product each (`alone`), or of the others."""
    taken = [block for block in blocks if block.packed and shared.is_alone(block.side) is alone]
    layout, inside = shared.sides.packing.layout, shared.steps
    packs = [layout(each, depth, inside, shared.common, shared.plan.panels) for each in taken]
    if shared.counting is None or alone:
        return packs
    return [replace(pack, layout=(Digit(shared.counting.name), *pack.layout)) for pack in packs]


def _output_steps(blocks: Blocks) -> dict[str, int]:
    """How far a block of the output reaches along its axes."""
    return {**blocks.shared.common, **{name: step for each in blocks.in_order for name, step in each.steps.items()}}


def _tile_steps(blocks: Blocks) -> dict[str, int]:
    """How far a tile of it reaches."""
    return {each.side.prim: min(each.tile, each.steps[each.side.prim]) for each in blocks.in_order if each.side.prim}


def _staged_layout(shared: SharedSteps, steps: Mapping[str, int]) -> tuple[Digit, ...]:
    """What is staged, in the order of the output."""
    kept, m = [axis for axis in shared.sides.written if steps.get(axis.name, 1) > 1], shared.sides.prims.m
    if shared.counting is not None:  # One product behind the other, each as kernels write it.
        kept.sort(key=lambda axis: (axis is not shared.counting, axis.name == m))
    if shared.plan.staging is SUMS:
        kept.sort(key=lambda axis: axis.name == m)
    return tuple(Digit(axis.name) for axis in kept)
