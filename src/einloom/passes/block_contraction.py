"""Blocking of contractions: loops around the microkernel, sized for the caches, for any sizes and strides.

The nest is the five-loop nest of GotoBLAS with any number of axes on each side. `A` is the operand that varies along
the primitive's m (read as vectors), `B` the other:

    axes that both depend on
      blocks of A's own axes
        blocks of the reduced axes
          pack a block of A
          blocks of B's own axes
            pack a block of B
            panels of B
              panels of A
                primitive

A panel of B stays in L1 while the block of A streams past it from L2, and rows of the output are written one after the
other. What is packed, and how, is `pack`'s; a B whose panels are long runs is read where it lies. An output may be
staged: computed in scratch and streamed past the caches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from einloom.ir.operation import Axis, DimType, Operation
from einloom.ir.schedule import OUTPUT, Digit, Loop, Pack, Prims, Schedule
from einloom.machine import Machine
from einloom.passes.identify import LARGER, vector_operand
from einloom.passes.model.packs import REUSE_THAT_PAYS, Packing, Side
from einloom.passes.model.sizes import balanced_block, equal_block, equal_part
from einloom.passes.model.tiles import SCRATCH_LIMIT, BlockTargets, block_targets
from einloom.passes.values import Context, Pass, State

__all__ = ["BLOCK_CONTRACTION", "block_contraction"]

Cut = Callable[[int, int, int], int]
"""How an axis is cut: the size of its blocks from its extent, a target, and what they must be multiples of."""

COMMON_VECTORS = 4
"""Vectors in one block of a vector axis that both inputs depend on, where blocks are packed."""

UNPACKED_VECTOR = 1024
"""The same where nothing is packed: operands and output of a block fit L1."""

SMALL_K = 48
"""Up to so many products a sum, writing the output takes longer than computing it."""

TILE_RUN = 1536
"""Bytes of a tile that is staged alone: few enough that the processor writes it while it computes the next one."""


def block_contraction(
    operation: Operation, prims: Prims, machine: Machine, packing: bool = True, most: int | None = None
) -> Schedule:
    """Return loops, blocks and packs for a contraction.

    before: prim m=j n=i k=l                                       (axes i 1600, j 1600, l 1600, row-major)
    after:  seq j:576 seq l:320 seq i:8 seq j:48 prim m=j n=i k=l pack in1@2 j:48 l j
    """
    return _Blocking(operation, prims, machine, packing, most).schedule()


class _Blocking:
    """One run of the pass."""

    def __init__(
        self, operation: Operation, prims: Prims, machine: Machine, packing: bool, most: int | None = None
    ) -> None:
        self.operation = operation
        self.prims = prims
        self.may_pack = packing
        self.extents = {axis.name: axis.extent for axis in operation.axes}
        self.reduced = [axis for axis in operation.axes if axis.role is DimType.K]
        m = self.extents[prims.m] if prims.m else 1
        self.targets: BlockTargets = block_targets(machine, operation.output.dtype, m, most)
        self.packing = Packing(operation, prims, self.targets)
        first = vector_operand(operation, prims)
        self.a = self._side(first, prims.m, self.targets.tile_m)
        self.b = self._side(1 - first, prims.n, self.targets.tile_n) if len(operation.inputs) == 2 else None
        self.sides = [self.a] if self.b is None else [self.a, self.b]
        own = {axis.name for side in self.sides for axis in side.axes}
        self.common = [a for a in operation.axes if a.name not in own and a.role is not DimType.K]
        self.k_steps: dict[str, int] = {}
        self.common_steps: dict[str, int] = {}
        self.stages_blocks = self.stages_tiles = False

    def _side(self, position: int, prim: str | None, tile: int) -> Side:
        role = DimType.N if position == 1 else DimType.M
        axes = [axis for axis in self.operation.axes if axis.role is role]
        own = prim if prim is not None and any(axis.name == prim for axis in axes) else None
        operand = self.operation.inputs[position]
        return Side(operand, position, axes, self.operation.strides(operand), own, tile)

    def schedule(self) -> Schedule:
        self._decide_packs()
        self._block_reduced(self.targets.k)
        self._pack_short_runs()
        self.common_steps = self._block_common()
        self.stages_blocks, self.stages_tiles = self._stages_blocks(), self._stages_tiles()
        self._block_sides()
        if self.stages_blocks and self._scratch_elements() > SCRATCH_LIMIT * 3 // 4 // self.operation.output.dtype.size:
            self.stages_blocks = False
            self._block_sides()
        self._shorten_reduced()
        self._decide_panels()
        return self._assemble()

    # ---- decisions ----------------------------------------------------------------------------------------------

    def _decide_packs(self) -> None:
        if not self.may_pack:
            return
        for side in self.sides:
            side.packed = self.packing.pays(side, self._reuse(side))
        self.a.in_panels = self.a.packed

    def _pack_short_runs(self) -> None:
        """Pack a B that was to be read where it lies if blocks of the reduced axes have cut its runs."""
        k = self.prims.k
        if self.b is None or k is None or not (self.a.packed and self.packing.lies_well(self.b)):
            return
        if not self.packing.is_run(self.k_steps[k]):
            self.b.packed = True
            self._block_reduced(self.targets.k)

    def _decide_panels(self) -> None:
        """Whether the primitive takes one panel of B at a time; what L1 holds of B as a whole is left to it."""
        if self.b is None or not self.a.packed or self.stages_tiles:
            return
        size = self.b.elements * math.prod(self.k_steps.values())
        self.b.in_panels = self.a.elements > self.a.tile and size > self.targets.small

    def _block_reduced(self, target: int) -> None:
        """Blocks of the reduced axes: the primitive's k first, but whole cache lines of packed operands."""
        self.k_steps = {axis.name: 1 for axis in self.reduced}
        taken = [axis for axis in self.reduced if axis.name in (self.prims.k, self.prims.batch)]
        if not any(side.packed for side in self.sides):
            self.k_steps |= {axis.name: max(axis.extent, 1) for axis in taken}
            return
        taken.sort(key=lambda axis: axis.name != self.prims.k)
        self.k_steps |= self._shares(taken, target, self._whole_lines(self.sides), {})

    def _shorten_reduced(self) -> None:
        """Halve the blocks of the reduced axes, and again, where a large input is read in runs that are too short."""
        written = math.prod(axis.extent for axis in self.operation.axes if axis.role is not DimType.K)
        read = self.operation.points // max(min(side.elements for side in self.sides), 1)
        if self.stages_blocks or self.stages_tiles or read < LARGER * written:
            return
        for part in (2, 4):
            if not any(0 < side.run < self.targets.read // 2 for side in self.sides):
                return
            self.a.tile = self.targets.tile_m
            self._block_reduced(self.targets.k // part)
            self._block_sides()

    def _block_common(self) -> dict[str, int]:
        """Blocks of the axes that both inputs depend on: single indices, more of those that the primitive takes."""
        packed = any(side.packed for side in self.sides)
        limits = {self.prims.n: self.targets.tile_n}
        limits[self.prims.m] = COMMON_VECTORS * self.targets.lanes if packed else UNPACKED_VECTOR
        return {axis.name: max(min(limits.get(axis.name, 1), axis.extent), 1) for axis in self.common}

    # ---- staging ------------------------------------------------------------------------------------------------

    def _stages_blocks(self) -> bool:
        """Whether the output is computed block by block in scratch.

        It pays where a tile's columns lie further apart than the second-level cache reaches: each of its stores would
        touch another page. Every block must be complete, and the whole exceed the cache.
        """
        n = self.prims.n
        far = n is not None and abs(self.operation.stride(self.operation.output, n)) > self.targets.cached
        return far and self._may_stage()

    def _stages_tiles(self) -> bool:
        """Whether every tile is computed in scratch, and may be as wide as a run of the output.

        It pays where little is computed for what is written, and the columns of a tile follow each other.
        """
        m, n, out = self.prims.m, self.prims.n, self.operation.output
        if m is None or n is None or self.b is None or self.b.prim != n or self.a.prim != m:
            return False
        summed = math.prod(axis.extent for axis in self.reduced)
        follow = self.operation.stride(out, m) == 1 and self.operation.stride(out, n) == self.extents[m]
        size = math.prod(axis.extent for axis in self.operation.axes if axis.role is not DimType.K)
        fits = summed <= SMALL_K and self.extents[m] <= self.targets.read and size > self.targets.cached
        if not (follow and fits and self._may_stage()):
            return False
        run = TILE_RUN // out.dtype.size
        self.a.tile, self.b.tile = self.extents[m], equal_part(self.extents[n], max(run // self.extents[m], 1))
        self.b.in_panels = True
        return True

    def _may_stage(self) -> bool:
        complete = all(self.k_steps[axis.name] == axis.extent for axis in self.reduced)
        return self.may_pack and complete and self.operation.first_touch.initialises

    # ---- blocks -------------------------------------------------------------------------------------------------

    def _block_sides(self) -> None:
        """Choose how far blocks reach along the axes of one side; a staged block holds long runs of the output."""
        common = math.prod(self.common_steps.values())
        inside = math.prod(self.k_steps.values()) * common
        runs = self._output_runs() if self.stages_blocks else {}
        taken = common * math.prod(runs.get(axis.name, 1) for axis in (self.b.axes if self.b else ()))
        for side, budget in zip(self.sides, self._budgets()):
            most = max(budget // inside, 1)
            if self.stages_blocks:
                most = min(most, max(self.targets.staged // taken, 1))
            self._block_side(side, most, runs)
            taken = common * math.prod(side.steps.values())

    def _budgets(self) -> list[int]:
        """Return how many elements the blocks of the sides may have."""
        targets = self.targets
        if self.stages_blocks:
            return [targets.staged, targets.resident]
        if self.b is None or not self.a.packed:
            return [targets.streamed, targets.alone]
        return [targets.streamed, targets.resident if self.b.packed else self.operation.points]

    def _output_runs(self) -> dict[str, int]:
        """Return how far a block reaches along the axes that are closest in the output, for runs of many lines."""
        steps: dict[str, int] = {}
        kept = [axis for axis in self.operation.axes if axis.role is not DimType.K]
        for axis in reversed(self.operation.outermost_first(self.operation.output, kept)):
            length = math.prod(steps.values())
            steps[axis.name] = equal_part(axis.extent, max(self.targets.run // length, 1))
            if steps[axis.name] < axis.extent:
                break
        return steps

    def _block_side(self, side: Side, budget: int, runs: dict[str, int]) -> None:
        """Choose how far the block reaches along each own axis: the primitive's first, then what lies closest."""
        order = sorted(side.axes, key=lambda a: (a.name != side.prim, abs(side.strides[a.name])))
        if side.packed and self._reuse(side) < REUSE_THAT_PAYS and not self.stages_blocks:
            least = self.packing.least(side, budget + budget // 3, self.k_steps | self.common_steps)
        else:
            least = self._whole_lines([side])
            least |= {side.prim: max(least.get(side.prim, 1), side.tile)} if side.prim else {}
        for axis in order:
            least[axis.name] = max(least.get(axis.name, 1), runs.get(axis.name, 1))
        cut = equal_block if self.a.packed else balanced_block
        side.steps = self._shares(order, budget, least, {side.prim: side.tile} if side.prim else {}, cut)

    def _reuse(self, side: Side) -> int:
        """How often each element of a side is used."""
        return math.prod(other.elements for other in self.sides if other is not side)

    def _whole_lines(self, sides: Iterable[Side]) -> dict[str, int]:
        """At least a cache line of the axis that is contiguous in a packed operand: a copy moves whole lines."""
        names = [self.packing.contiguous_axis(side) for side in sides if side.packed]
        return {name: self.targets.line for name in names if name is not None}

    @staticmethod
    def _shares(
        order: list[Axis], budget: int, least: dict[str, int], multiple: dict[str, int], cut: Cut = balanced_block
    ) -> dict[str, int]:
        """Return blocks of the axes whose product is about `budget`, the first axes as long as possible.

        `cut` chooses the blocks of the first axis.
        """
        steps = {axis.name: max(min(axis.extent, least.get(axis.name, 1)), 1) for axis in order}
        for axis in order:
            others = math.prod(steps.values()) // steps[axis.name]
            target = max(budget // others, steps[axis.name])
            if axis.extent <= target:
                steps[axis.name] = max(axis.extent, 1)
            elif axis is order[0]:
                steps[axis.name] = min(cut(axis.extent, target, multiple.get(axis.name, 1)), axis.extent)
            else:  # Equal blocks that stay below the target: one axis above it is enough.
                steps[axis.name] = equal_block(axis.extent, target)
        return steps

    # ---- putting it together -------------------------------------------------------------------------------------

    def _assemble(self) -> Schedule:
        loops = self._common_loops()
        loops += self.a.outer_loops(self._between_blocks(self.a))
        loops += self._reduced_loops()
        packs = [self._pack(self.a, len(loops))] if self.a.packed else []
        if self.b is not None:
            loops += self.b.outer_loops(self._between_blocks(self.b))
            packs += [self._pack(self.b, len(loops))] if self.b.packed else []
        if self.stages_blocks:
            packs.append(Pack(OUTPUT, len(loops), self._staged_layout(self._block_steps())))
        inner = [
            loop
            for side in reversed(self.sides)
            for loop in side.inner_loops(self.operation.outermost_first(self.operation.output, side.axes))
        ]
        if self.stages_tiles:  # In the order of the output, which is written as it is computed.
            inner.sort(key=lambda loop: -abs(self.operation.stride(self.operation.output, loop.axis)))
            tile = {side.prim: min(side.tile, side.steps[side.prim]) for side in self.sides if side.prim}
            packs.append(Pack(OUTPUT, len(loops) + len(inner), self._staged_layout(tile)))
        return Schedule((*loops, *inner), self.prims, tuple(packs))

    def _scratch_elements(self) -> int:
        """Elements of the staged block and of the packed blocks beside it."""
        inside = math.prod([*self.k_steps.values(), *self.common_steps.values()])
        packs = (math.prod(side.steps.values()) * inside for side in self.sides if side.packed)
        return math.prod(self._block_steps().values()) + sum(packs)

    def _block_steps(self) -> dict[str, int]:
        """How far a block of the output reaches along its axes."""
        return self.common_steps | {name: step for side in self.sides for name, step in side.steps.items()}

    def _staged_layout(self, steps: dict[str, int]) -> tuple[Digit, ...]:
        """The staged block, in the order of the output."""
        kept = [axis for axis in self.operation.axes if axis.name in steps]
        return tuple(
            Digit(axis.name)
            for axis in self.operation.outermost_first(self.operation.output, kept)
            if steps[axis.name] > 1
        )

    def _pack(self, side: Side, depth: int) -> Pack:
        return self.packing.layout(side, depth, self.k_steps | self.common_steps, self.common)

    def _common_loops(self) -> list[Loop]:
        return [
            Loop(axis.name, self.common_steps[axis.name])
            for axis in self.operation.outermost_first(self.operation.output, self.common)
            if self.common_steps[axis.name] < axis.extent or axis.name not in self.prims.names
        ]

    def _reduced_loops(self) -> list[Loop]:
        order = sorted(self.reduced, key=lambda a: -abs(self.a.strides[a.name]))
        return [
            Loop(axis.name, self.k_steps[axis.name])
            for axis in order
            if self.k_steps[axis.name] < axis.extent or axis.name not in self.prims.names
        ]

    def _between_blocks(self, side: Side) -> list[Axis]:
        """Order of the loops between blocks: packs follow the tensor, what is read in place the output."""
        if not side.packed:
            return self.operation.outermost_first(self.operation.output, side.axes)
        return sorted(side.axes, key=lambda a: -abs(side.strides[a.name]))


def _apply(operation: Operation, schedule: Schedule, context: Context) -> State:
    if not operation.main.is_contraction or schedule.loops or schedule.packs:  # Another pass has blocked it.
        return operation, schedule
    options = context.options
    prims, machine = schedule.prims, context.machine
    return operation, block_contraction(operation, prims, machine, options.packing, options.max_kernel_size)


def _explain(before: State, after: State, context: Context) -> str:
    (operation, schedule), started = after, before[1]
    if not operation.main.is_contraction or started.loops or started.packs:
        return "no: blocked before" if started.loops else "no: nothing is contracted"
    if not schedule.loops:
        return "no loop: one call of the primitive covers everything"
    packed = [operation.inputs[pack.operand].name for pack in schedule.packs if pack.operand != OUTPUT]
    staged = any(pack.operand == OUTPUT for pack in schedule.packs)
    blocks = " ".join(f"{loop.axis}:{loop.step}" for loop in schedule.loops)
    beside = f"packs {' and '.join(packed)}" if packed else "reads every input where it lies"
    return f"blocks {blocks} for the caches; {beside}{'; stages the output' if staged else ''}"


BLOCK_CONTRACTION = Pass("block contraction", _apply, _explain)
