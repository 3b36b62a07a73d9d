"""`Side`: an input of a contraction with its own axes; `SideBlock`: a block of it, and the loops that lead to one."""

from __future__ import annotations

import math
from collections.abc import Mapping

from einloom.frozen import frozen
from einloom.ir.operation import Axis, DimType, Operand, Operation
from einloom.ir.schedule import ScheduledLoop

__all__ = ["Side", "SideBlock"]


@frozen(eq=False)
class Side:
    """One input with its own axes.

    Attributes:
        operand, position: the input.
        strides: of the operand along every axis of the operation.
        axes: those that the other input does not depend on, the reduced ones aside.
        written, lying: the same as the output and as the operand have them, the largest stride first.
        prim: the axis that the primitive takes, if it is the side's own.
        order: the axes, that one first, then what lies closest.
        contiguous: the axis along which neighbours of the operand are neighbours in memory.
        has_vectors: whether kernels read it as vectors.
        elements: indices of the own axes together.
    """

    operand: Operand
    position: int
    strides: Mapping[str, int]
    axes: list[Axis]
    written: list[Axis]
    lying: list[Axis]
    prim: str | None
    order: list[Axis]
    contiguous: str | None
    has_vectors: bool
    elements: int

    @staticmethod
    def of(operation: Operation, position: int, prim: str | None, m: str | None) -> Side:
        """Return the input at `position`, of whose axes the primitive takes `prim`, and vectors run along `m`."""
        role, operand = DimType.N if position == 1 else DimType.M, operation.inputs[position]
        strides = operation.strides(operand)
        axes = [axis for axis in operation.axes if axis.role is role]
        own = prim if any(axis.name == prim for axis in axes) else None
        contiguous = operation.contiguous_axis(operand)
        return Side(
            operand=operand,
            position=position,
            strides=strides,
            axes=axes,
            written=operation.outermost_first(operation.output, axes),
            lying=operation.outermost_first(operand, axes),
            prim=own,
            order=sorted(axes, key=lambda axis: (axis.name != own, abs(strides[axis.name]))),
            contiguous=None if contiguous is None else contiguous.name,
            has_vectors=m is not None and strides[m] != 0,
            elements=math.prod([axis.extent for axis in axes]),
        )


@frozen(eq=False)
class SideBlock:
    """A block of one input: how far it reaches along the side's own axes, and how kernels take it.

    Attributes:
        side: the input.
        packed: whether blocks are copied into scratch.
        steps: how far a block reaches along each axis.
        tile: indices of the primitive's axis in one panel.
        in_panels: whether the primitive takes one panel at a time, not as much as a block holds.
    """

    side: Side
    packed: bool
    steps: Mapping[str, int]
    tile: int
    in_panels: bool

    @property
    def size(self) -> int:
        """Indices of the own axes together."""
        return math.prod(self.steps.values())

    def outer_loops(self, lying: bool = False) -> list[ScheduledLoop]:
        """Loops between blocks: packs follow the tensor, what is read in place the output, or the tensor if `lying`."""
        order, steps = self.side.lying if self.packed or lying else self.side.written, self.steps
        return [ScheduledLoop(a.name, steps[a.name]) for a in order if steps[a.name] < a.extent]

    def inner_loops(self, lying: bool = False) -> list[ScheduledLoop]:
        """Loops inside a block: single indices of the axes that the primitive lacks, panels of the one it takes.

        They follow the output, or the operand as it lies.
        """
        order, prim = self.side.lying if lying else self.side.written, self.side.prim
        loops = [ScheduledLoop(a.name, 1) for a in order if a.name != prim and self.steps[a.name] > 1]
        if self.in_panels and prim is not None and self.steps[prim] > self.tile:
            loops.append(ScheduledLoop(prim, self.tile))
        return loops
