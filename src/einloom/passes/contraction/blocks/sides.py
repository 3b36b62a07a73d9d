"""`Sides`: a contraction as its blocks are cut from it, with what all plans have in common."""

from __future__ import annotations

from dataclasses import replace

from einloom.frozen import frozen
from einloom.ir.operation import Axis, DimType, Operation
from einloom.ir.schedule import Prims
from einloom.machine import Machine
from einloom.passes.contraction.plan import SUMS, Plan
from einloom.passes.identify import vector_operand
from einloom.passes.model.packs import Packing
from einloom.passes.model.side import Side
from einloom.passes.model.tiles import BlockTargets, block_targets

__all__ = ["Sides"]

WIDE_TILE = 4
"""Vectors of the widest tile: with a rest of one it may do better than two of equal width."""

TILE_RUN = 1536
"""Bytes of a tile that is staged alone: few enough that the processor writes it while it computes the next one."""


@frozen(eq=False)
class Sides:
    """The inputs of a contraction, the axes that they share, and the sizes that suit its blocks.

    Attributes:
        operation: what is computed.
        prims: the axes that the primitive takes.
        extents: of the axes, by name.
        targets: sizes that suit the machine.
        packing: in which layout packed blocks lie.
        a, b: the inputs that the primitive reads as vectors and by elements; `b` is None where there is one input.
        common: axes that both depend on, and the output.
        reduced: axes that are summed; `lying`: the same as the vector operand has them, the largest stride first.
        places: strides of the output; `written`: the axes as it has them.
    """

    operation: Operation
    prims: Prims
    extents: dict[str, int]
    targets: BlockTargets
    packing: Packing
    a: Side
    b: Side | None
    common: list[Axis]
    reduced: list[Axis]
    lying: list[Axis]
    places: dict[str, int]
    written: list[Axis]

    @staticmethod
    def of(
        operation: Operation, prims: Prims, machine: Machine, most: int | None, tile: tuple[int, int] | None
    ) -> Sides:
        """Return the sides of an operation; the primitive takes at most `most` of any axis, in tiles of `tile`."""
        extents = {axis.name: axis.extent for axis in operation.axes}
        targets = block_targets(machine, operation.accumulate, extents[prims.m] if prims.m else 1, most, tile)
        vector = vector_operand(operation, prims)
        a = Side.of(operation, vector, prims.m, prims.m)
        b = Side.of(operation, 1 - vector, prims.n, prims.m) if len(operation.inputs) == 2 else None
        reduced = [axis for axis in operation.axes if axis.role is DimType.K]
        own = {axis.name for side in (a, b) if side is not None for axis in side.axes}
        return Sides(
            operation=operation,
            prims=prims,
            extents=extents,
            targets=targets,
            packing=Packing(operation, prims, targets),
            a=a,
            b=b,
            common=[axis for axis in operation.axes if axis.name not in own and axis.role is not DimType.K],
            reduced=reduced,
            lying=operation.outermost_first(a.operand, reduced),
            places=operation.strides(operation.output),
            written=operation.outermost_first(operation.output, operation.axes),
        )

    def with_taken(self, plan: Plan) -> Sides:
        """Return the same with the axes that the primitive takes in a plan."""
        if plan.batch_inside:
            prims = replace(self.prims, k=self.prims.batch, batch=self.prims.k)
        elif plan.batch_outside:
            prims = replace(self.prims, batch=None)
        else:
            return self
        return replace(self, prims=prims, packing=Packing(self.operation, prims, self.targets))

    def packed(self, plan: Plan) -> list[Side]:
        """Return the inputs of which blocks are copied into scratch."""
        b = [self.b] if plan.packs_element and self.b is not None else []
        return [self.a, *b] if plan.packs_vector else b

    def turns_output(self, plan: Plan) -> bool:
        """Whether what is copied is the output alone, of vectors that lie in the tensor: it is read in long rows."""
        return plan.staging is SUMS and not self.packed(plan)

    @property
    def size(self) -> int:
        """Bytes of an element as it is computed."""
        return self.operation.accumulate.size

    @property
    def tile_run(self) -> int:
        """Elements of a tile that is staged alone."""
        return TILE_RUN // self.size

    @property
    def is_turned(self) -> bool:
        """Whether vectors lie across the output's rows, so that the copy of a staged block transposes."""
        return self.places.get(self.prims.m or "") != 1

    @property
    def widest(self) -> int:
        """Elements along the vector axis of the widest tile."""
        return WIDE_TILE * self.targets.lanes

    @property
    def has_two_panels(self) -> bool:
        """Whether the vector axis is a little longer than the widest tile: registers have room for both panels."""
        return self.targets.tile_m < self.extents.get(self.prims.m or "", 1) <= self.widest
