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

from dataclasses import replace

from einloom.ir.schedule import OUTPUT, Digit, Schedule, ScheduledLoop, ScheduledPack
from einloom.passes.contraction.blocks import Blocks
from einloom.passes.contraction.plan import BLOCKS, NONE, PRODUCTS, SUMS, TILES, Plan
from einloom.passes.model.packs import Side

__all__ = ["Blocking"]


class Blocking(Blocks):
    """The blocking of one operation; `schedule` derives the loops, blocks and packs of a plan.

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

    def schedule(self, plan: Plan) -> Schedule | None:
        """Return the schedule of a plan; None where the operation has no room for it."""
        return self._assemble() if self._decide(plan) else None

    def _assemble(self) -> Schedule:
        """Return the loops around the blocks that were decided, and the packs between them."""
        loops = self._common_loops()
        packs: list[ScheduledPack] = []
        lying = self.plan.few_steps and self.plan.staging is NONE  # Then rows are read on from block to block.
        for side in self.sides:
            loops += side.outer_loops(lying)
            if self.plan.staging is not SUMS:
                loops += self._reduced_loops() if side is self.sides[0] and not self._adds_products else []
                packs += [self._pack(side, len(loops))] if side.packed and not self._is_packed_alone(side) else []
        if self.plan.staging in (BLOCKS, PRODUCTS, SUMS):
            packs.append(ScheduledPack(OUTPUT, len(loops), self._staged_layout(self._block_steps())))
        inner = self._inner_loops()
        if self.plan.staging is SUMS:
            if self.plan.few_steps:  # Parts of the sum follow each other in the order of the tensor.
                loops, inner = self._with_rows_around(loops, inner)
            loops += self._reduced_loops()
            packs += [self._pack(side, len(loops)) for side in self.sides if side.packed]
        if self.counting is not None:
            loops.append(ScheduledLoop(self.counting.name, 1))
            packs += [
                self._pack(side, len(loops)) for side in self.sides if side.packed and self._is_packed_alone(side)
            ]
        if self._adds_products:
            inner += self._reduced_loops()
        if self.plan.staging is TILES or self.plan.in_order:  # The output is written as it is computed.
            inner.sort(key=lambda loop: -abs(self.places[loop.axis]))
        if self.plan.staging is TILES:
            tile = {side.prim: min(side.tile, side.steps[side.prim]) for side in self.sides if side.prim}
            packs.append(ScheduledPack(OUTPUT, len(loops) + len(inner), self._staged_layout(tile)))
        return Schedule((*loops, *inner), self.prims, tuple(packs))

    def _with_rows_around(
        self, loops: list[ScheduledLoop], inner: list[ScheduledLoop]
    ) -> tuple[list[ScheduledLoop], list[ScheduledLoop]]:
        """Return the loops outside of the sum and inside: outside stand those whose indices lie farther apart in A."""
        sum_stride = max(abs(self.a.strides[axis.name]) for axis in self.reduced)
        outside = [loop for loop in inner if abs(self.a.strides.get(loop.axis, 0)) > sum_stride]
        return [*loops, *outside], [loop for loop in inner if loop not in outside]

    def _inner_loops(self) -> list[ScheduledLoop]:
        """Loops over panels: those of the operand whose panels stay in L1 outside."""
        b = [] if self.b is None else [self.b]
        inside_out = [*b, self.a] if self.plan.vector_inside else [self.a, *b]
        lying = self._turns_output and self._lie_apart()
        return [loop for side in reversed(inside_out) for loop in side.inner_loops(lying)]

    def _block_steps(self) -> dict[str, int]:
        """How far a block of the output reaches along its axes."""
        return self.common_steps | {name: step for side in self.sides for name, step in side.steps.items()}

    def _staged_layout(self, steps: dict[str, int]) -> tuple[Digit, ...]:
        """The staged block, in the order of the output."""
        kept = [axis for axis in self.written if steps.get(axis.name, 1) > 1]
        if self.counting is not None:  # One product behind the other, each as kernels write it.
            kept.sort(key=lambda axis: (axis is not self.counting, axis.name == self.prims.m))
        if self.plan.staging is SUMS:
            kept.sort(key=lambda axis: axis.name == self.prims.m)
        return tuple(Digit(axis.name) for axis in kept)

    def _pack(self, side: Side, depth: int) -> ScheduledPack:
        pack = self.packing.layout(side, depth, self.k_steps | self.common_steps, self.common_steps, self.plan.panels)
        if self.counting is None or self._is_packed_alone(side):
            return pack
        return replace(pack, layout=(Digit(self.counting.name), *pack.layout))

    def _common_loops(self) -> list[ScheduledLoop]:
        return [
            ScheduledLoop(axis.name, self.common_steps[axis.name])
            for axis in self.written
            if axis.name in self.common_steps
            and (
                self.common_steps[axis.name] < axis.extent
                or not (axis.name in self.prims.names or axis is self.counting)
            )
        ]

    def _reduced_loops(self) -> list[ScheduledLoop]:
        return [
            ScheduledLoop(axis.name, self.k_steps[axis.name])
            for axis in self.lying
            if self.k_steps[axis.name] < axis.extent or axis.name not in self.prims.names
        ]
