"""Blocking and packing of contractions: loops around the microkernel, sized for the caches, for any sizes and strides.

The nest is the five-loop nest of GotoBLAS with any number of axes on each side. `A` is the operand that varies along
the primitive's m (read as vectors), `B` the other:

    axes that both depend on
      blocks of A's own axes
        blocks of the reduced axes
          pack a block of A
          blocks of B's own axes
            pack a block of B
            panels of A                  one stays in L1
              panels of B                stream past it from L2
                primitive
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive
from einloom.ir.schedule import OUTPUT, Digit, Loop, Pack, Prims, Schedule
from einloom.machine import Machine
from einloom.passes.identify import vector_operand
from einloom.passes.split import balanced_block, equal_part
from einloom.passes.tile import SCRATCH_LIMIT, BlockTargets, block_targets

__all__ = ["block_contraction"]

COMMON_VECTORS = 4
"""Vectors in one block of a vector axis that both inputs depend on, where blocks are packed."""

UNPACKED_VECTOR = 1024
"""The same where nothing is packed: operands and output of a block fit L1."""

FAR = 8
"""Panels that reach over this many times the size of L1 are packed at little reuse."""

LEAST_REUSE = 8
"""A pack that makes whole cache lines useful pays from this reuse on."""

REUSE_THAT_PAYS = 64
"""A pack pays when each element is used at least this often: one copy against as many multiplications."""


def block_contraction(operation: Operation, prims: Prims, machine: Machine, packing: bool = True) -> Schedule:
    """Return loops, blocks and packs for a contraction.

    before: prim m=j n=i k=l                                       (axes i 1600, j 1600, l 1600, row-major)
    after:  seq l:200 seq i:320 seq j:48 seq i:8 prim m=j n=i k=l pack in1@1 j:48 l j pack in0@2 i:8 l i
    """
    return _Blocking(operation, prims, machine, packing).schedule()


@dataclass(slots=True)
class _Side:
    """One input with its own axes: which of them a block holds, how far, and whether the block is packed."""

    operand: Operand
    position: int
    axes: list[Axis]
    prim: str | None
    tile: int
    steps: dict[str, int] = field(default_factory=dict)
    packed: bool = False

    def outer_loops(self, order: Iterable[Axis]) -> list[Loop]:
        """Loops between blocks."""
        return [Loop(a.name, self.steps[a.name]) for a in order if self.steps[a.name] < a.extent]

    def inner_loops(self, order: Iterable[Axis]) -> list[Loop]:
        """Loops inside a block: single indices of the axes that the primitive lacks, panels of the one it takes."""
        loops = [Loop(a.name, 1) for a in order if a.name != self.prim and self.steps[a.name] > 1]
        if self.packed and self.prim is not None and self.steps[self.prim] > self.tile:
            loops.append(Loop(self.prim, self.tile))
        return loops


class _Blocking:
    """One run of the pass."""

    def __init__(self, operation: Operation, prims: Prims, machine: Machine, packing: bool) -> None:
        self.operation = operation
        self.prims = prims
        self.packing = packing
        self.extents = {axis.name: axis.extent for axis in operation.axes}
        self.reduced = [axis for axis in operation.axes if axis.role is DimType.K]
        m = self.extents[prims.m] if prims.m else 1
        self.targets: BlockTargets = block_targets(machine, operation.output.dtype, m)
        first = vector_operand(operation, prims)
        self.a = self._side(first, prims.m, self.targets.tile_m)
        self.b = self._side(1 - first, prims.n, self.targets.tile_n) if len(operation.inputs) == 2 else None
        sides = {axis.name for side in self._sides() for axis in side.axes}
        self.common = [a for a in operation.axes if a.name not in sides and a.role is not DimType.K]
        self.k_steps: dict[str, int] = {}
        self.common_steps: dict[str, int] = {}
        self.staged = False

    def _sides(self) -> list[_Side]:
        return [self.a] if self.b is None else [self.a, self.b]

    def _side(self, position: int, prim: str | None, tile: int) -> _Side:
        role = DimType.N if position == 1 else DimType.M
        axes = [axis for axis in self.operation.axes if axis.role is role]
        own = prim if prim is not None and any(axis.name == prim for axis in axes) else None
        return _Side(self.operation.inputs[position], position, axes, own, tile)

    def schedule(self) -> Schedule:
        self._decide_packs()
        self._block_reduced()
        self.common_steps = self._block_common()
        self.staged = self._stages()
        self._block_sides()
        if self.staged and self._scratch_elements() > SCRATCH_LIMIT * 3 // 4 // self.operation.output.dtype.size:
            self.staged = False
            self._block_sides()
        return self._assemble()

    # ---- decisions ----------------------------------------------------------------------------------------------

    def _decide_packs(self) -> None:
        if not self.packing:
            return
        sizes = [math.prod(axis.extent for axis in side.axes) for side in self._sides()]
        for side, reuse in zip(self._sides(), reversed(sizes) if len(sizes) == 2 else [1]):
            side.packed = self._pays(side, reuse)

    def _pays(self, side: _Side, reuse: int) -> bool:
        stride = self.operation.strides(side.operand)
        size = math.prod(axis.extent for axis in self.operation.axes if stride[axis.name])
        vector, contiguous = self.prims.m, self._contiguous_axis(side.operand)
        if vector is not None and stride[vector] not in (0, 1):
            return size > self.targets.lanes and contiguous is not None
        if size <= self.targets.small:
            return False
        if contiguous is not None and contiguous not in self.prims.names and reuse >= LEAST_REUSE:
            return True  # Kernels would use one element of each cache line.
        span = self._panel_span(side, stride)
        far = span > FAR * self.targets.panel  # Every step touches another page: the copy moves longer runs.
        return span > self.targets.panel and reuse >= (LEAST_REUSE if far else REUSE_THAT_PAYS)

    def _panel_span(self, side: _Side, stride: dict[str, int]) -> int:
        """Elements from the first to the last that one panel of the operand reads where it lies."""
        k, batch, prim = self.prims.k, self.prims.batch, side.prim
        steps = min(self.extents[k], self.targets.k) if k else 1
        span = abs(stride[k]) * steps if k else 0
        if batch is not None:
            span += abs(stride[batch]) * min(self.extents[batch], max(self.targets.k // max(steps, 1), 1))
        return span + (abs(stride[prim]) * side.tile if prim else 0)

    def _contiguous_axis(self, operand: Operand) -> str | None:
        strides = self.operation.strides(operand)
        return next((a.name for a in self.operation.axes if abs(strides[a.name]) == 1 and a.extent > 1), None)

    def _block_reduced(self) -> None:
        """Blocks of the reduced axes: the primitive's k first, but whole cache lines of packed operands."""
        self.k_steps = {axis.name: 1 for axis in self.reduced}
        taken = [axis for axis in self.reduced if axis.name in (self.prims.k, self.prims.batch)]
        if not any(side.packed for side in self._sides()):
            self.k_steps |= {axis.name: max(axis.extent, 1) for axis in taken}
            return
        taken.sort(key=lambda axis: axis.name != self.prims.k)
        self.k_steps |= self._shares(taken, self.targets.k, self._whole_lines(self._sides()), {})

    def _block_common(self) -> dict[str, int]:
        """Blocks of the axes that both inputs depend on: single indices, more of those that the primitive takes."""
        packed = any(side.packed for side in self._sides())
        limits = {self.prims.n: self.targets.tile_n}
        limits[self.prims.m] = COMMON_VECTORS * self.targets.lanes if packed else UNPACKED_VECTOR
        return {axis.name: max(min(limits.get(axis.name, 1), axis.extent), 1) for axis in self.common}

    def _stages(self) -> bool:
        """Whether the output is computed block by block in scratch.

        It pays where a tile's columns lie further apart than the second-level cache reaches: each of its stores would
        touch another page. Every block must be complete, and the whole exceed the cache.
        """
        operation, n = self.operation, self.prims.n
        complete = all(self.k_steps[axis.name] == axis.extent for axis in self.reduced)
        far = n is not None and abs(operation.stride(operation.output, n)) > self.targets.cached
        return self.packing and complete and far and operation.first_touch is Primitive.ZERO

    def _block_sides(self) -> None:
        """Choose how far blocks reach along the axes of one side; a staged block holds long runs of the output."""
        common = math.prod(self.common_steps.values())
        inside = math.prod(self.k_steps.values()) * common
        runs = self._output_runs() if self.staged else {}
        budgets = [self.targets.staged if self.staged else self.targets.streamed, self.targets.resident]
        taken = common * math.prod(runs.get(axis.name, 1) for axis in (self.b.axes if self.b else ()))
        for side, budget in zip(self._sides(), budgets):
            most = max(budget // inside, 1)
            if self.staged:
                most = min(most, max(self.targets.staged // taken, 1))
            self._block_side(side, most, runs)
            taken = common * math.prod(side.steps.values())

    def _output_runs(self) -> dict[str, int]:
        """Return how far a block reaches along the axes that are closest in the output, for runs of many lines."""
        steps: dict[str, int] = {}
        kept = [axis for axis in self.operation.axes if axis.role is not DimType.K]
        for axis in reversed(self._outermost_first(kept)):
            length = math.prod(steps.values())
            steps[axis.name] = equal_part(axis.extent, max(self.targets.run // length, 1))
            if steps[axis.name] < axis.extent:
                break
        return steps

    def _block_side(self, side: _Side, budget: int, runs: dict[str, int]) -> None:
        """Choose how far the block reaches along each own axis: the primitive's first, then what lies closest."""
        strides = self.operation.strides(side.operand)
        order = sorted(side.axes, key=lambda a: (a.name != side.prim, abs(strides[a.name])))
        least = self._whole_lines([side])
        multiple = {side.prim: side.tile} if side.prim else {}
        for name, tile in multiple.items():
            least[name] = max(least.get(name, 1), tile)
        for axis in order:
            least[axis.name] = max(least.get(axis.name, 1), runs.get(axis.name, 1))
        side.steps = self._shares(order, budget, least, multiple)

    def _whole_lines(self, sides: Iterable[_Side]) -> dict[str, int]:
        """At least a cache line of the axis that is contiguous in a packed operand: a copy moves whole lines."""
        names = [self._contiguous_axis(side.operand) for side in sides if side.packed]
        return {name: self.targets.line for name in names if name is not None}

    @staticmethod
    def _shares(order: list[Axis], budget: int, least: dict[str, int], multiple: dict[str, int]) -> dict[str, int]:
        """Return blocks of the axes whose product is about `budget`, the first axes as long as possible."""
        steps = {axis.name: max(min(axis.extent, least.get(axis.name, 1)), 1) for axis in order}
        for axis in order:
            others = math.prod(steps.values()) // steps[axis.name]
            target = max(budget // others, steps[axis.name])
            if axis.extent <= target:
                steps[axis.name] = max(axis.extent, 1)
            elif axis is order[0]:
                steps[axis.name] = balanced_block(axis.extent, target, multiple.get(axis.name, 1))
            else:  # Equal blocks that stay below the target: one axis above it is enough.
                steps[axis.name] = -(-axis.extent // -(-axis.extent // target))
        return steps

    # ---- putting it together -------------------------------------------------------------------------------------

    def _assemble(self) -> Schedule:
        loops = self._common_loops()
        loops += self.a.outer_loops(self._between_blocks(self.a))
        loops += self._reduced_loops()
        packs: list[Pack] = []
        if self.a.packed:
            packs.append(self._pack(self.a, len(loops)))
        if self.b is not None:
            loops += self.b.outer_loops(self._between_blocks(self.b))
            if self.b.packed:
                packs.append(self._pack(self.b, len(loops)))
        if self.staged:
            packs.append(Pack(OUTPUT, len(loops), self._staged_layout()))
        for side in self._sides():
            loops += side.inner_loops(self._outermost_first(side.axes))
        return Schedule(tuple(loops), self.prims, tuple(packs))

    def _scratch_elements(self) -> int:
        """Elements of the staged block and of the packed blocks beside it."""
        inside = math.prod([*self.k_steps.values(), *self.common_steps.values()])
        packs = (math.prod(side.steps.values()) * inside for side in self._sides() if side.packed)
        return math.prod(self._staged_steps().values()) + sum(packs)

    def _staged_steps(self) -> dict[str, int]:
        """How far a block of the output reaches along its axes."""
        return self.common_steps | {name: step for side in self._sides() for name, step in side.steps.items()}

    def _staged_layout(self) -> tuple[Digit, ...]:
        """The block of the output, in the order of the output."""
        steps = self._staged_steps()
        kept = [axis for axis in self.operation.axes if axis.name in steps]
        return tuple(Digit(axis.name) for axis in self._outermost_first(kept) if steps[axis.name] > 1)

    def _common_loops(self) -> list[Loop]:
        return [
            Loop(axis.name, self.common_steps[axis.name])
            for axis in self._outermost_first(self.common)
            if self.common_steps[axis.name] < axis.extent or axis.name not in self.prims.names
        ]

    def _reduced_loops(self) -> list[Loop]:
        order = sorted(self.reduced, key=lambda a: -abs(self.operation.stride(self.a.operand, a.name)))
        return [
            Loop(axis.name, self.k_steps[axis.name])
            for axis in order
            if self.k_steps[axis.name] < axis.extent or axis.name not in self.prims.names
        ]

    def _between_blocks(self, side: _Side) -> list[Axis]:
        """Order of the loops between blocks: packs follow the tensor, what is read in place the output."""
        if not side.packed:
            return self._outermost_first(side.axes)
        return sorted(side.axes, key=lambda a: -abs(self.operation.stride(side.operand, a.name)))

    def _outermost_first(self, axes: list[Axis]) -> list[Axis]:
        return sorted(axes, key=lambda a: -abs(self.operation.stride(self.operation.output, a.name)))

    def _pack(self, side: _Side, depth: int) -> Pack:
        """Panels of the primitive's axis outside, then the reduced axes, then the panel itself.

        The vector operand needs its panel contiguous. The other is read element by element: it keeps the order of the
        reduced axis and the panel that the tensor has, so that the copy moves whole runs.
        """
        strides = self.operation.strides(side.operand)
        steps = {axis.name: side.steps[axis.name] for axis in side.axes if strides[axis.name]}  # 0: broadcast
        digits = [
            Digit(a.name) for a in self._outermost_first(side.axes) if a.name != side.prim and steps.get(a.name, 1) > 1
        ]
        width = steps.get(side.prim or "", 1)
        if side.prim is not None and width > side.tile:
            digits.append(Digit(side.prim, side.tile))
        panel = [Digit(side.prim)] if side.prim is not None and width > 1 else []
        reduced = [Digit(a.name) for a in self.reduced if strides[a.name] and self.k_steps[a.name] > 1]
        reduced.sort(key=lambda d: (self.prims.batch != d.axis, self.prims.k != d.axis))
        keeps_k = side is self.b and self.prims.k is not None and abs(strides[self.prims.k]) == 1
        digits += [*panel, *reduced] if keeps_k else [*reduced, *panel]
        return Pack(side.position, depth, (*digits, *self._common_digits(strides)))

    def _common_digits(self, strides: dict[str, int]) -> list[Digit]:
        """The primitive's axes that both inputs depend on: a packed block holds theirs, the vector axis contiguous."""
        names = {axis.name for axis in self.common}
        return [Digit(name) for name in (self.prims.n, self.prims.m) if name in names and strides[name or ""]]
