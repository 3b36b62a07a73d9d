"""Contractions of an input that is many times as large as the output, in the order of that input.

Vectors along the output's contiguous axis would make the copy of every block of the large input a transposition.
Vectors along the large input's own contiguous axis make it a straight copy; what is transposed is a block of the
output, which is computed in scratch for that.
"""

from __future__ import annotations

import math

from einloom.frozen import frozen
from einloom.ir.operation import Axis, DimType, Operation
from einloom.ir.schedule import OUTPUT, Digit, Prims, Schedule, ScheduledLoop, ScheduledPack
from einloom.machine import Machine
from einloom.passes.identify import LARGER
from einloom.passes.model.sizes import equal_block
from einloom.passes.model.tiles import BlockTargets, block_targets

__all__ = ["prims_of_large_input", "vectorise_large_input"]

COPIED = 3
"""How many times what L1 takes as small a packed block has, about: it is still near when all columns have been
computed, and while they are the next one comes. The staged block beside it is added to in the second-level cache."""

LEAST = 16
"""Products that are added up before the staged block is written, at least."""


def vectorise_large_input(operation: Operation, machine: Machine) -> Schedule | None:
    """Return loops, a pack of the large input and a staged block of the output; None where that does not pay.

    before: bda,dc->abc                                       (axes a, b, d 368, c 24; row-major)
    after:  seq b:16 seq d:46 seq b:1 seq a:48 prim m=a n=c k=d pack in0@3 a:48 d a pack out@1 b c a
    """
    sides = _sides(operation)
    if sides is None:
        return None
    targets = block_targets(machine, operation.accumulate, sides.m.extent)
    if sides.m.extent < targets.tile_m or sides.copied(targets) > targets.streamed:
        return None
    step = _run(operation, sides, targets)
    return sides.schedule(operation, step, targets) if step else None


def prims_of_large_input(operation: Operation) -> Prims | None:
    """Return the primitive's axes where an input is so large that vectors may run along its contiguous axis."""
    sides = _sides(operation)
    return None if sides is None else sides.prims(operation)


def _sides(operation: Operation) -> _Sides | None:
    """The axes by what they are for; None if no input is large, or its contiguous axis is summed or the output's."""
    large = _large_input(operation)
    if large is None or not operation.first_touch.initialises:
        return None
    m = operation.contiguous_axis(operation.inputs[large])
    if m is None or m.role is DimType.K or m is operation.contiguous_axis(operation.output):
        return None
    return _Sides.of(operation, large, m)


def _large_input(operation: Operation) -> int | None:
    """The position of the input that is many times as large as the output."""
    if len(operation.inputs) != 2:
        return None
    sizes = [operation.elements(operand) for operand in operation.inputs]
    large = sizes.index(max(sizes))
    return large if sizes[large] > LARGER * operation.elements(operation.output) else None


def _run(operation: Operation, sides: _Sides, targets: BlockTargets) -> int:
    """Indices along `across` in one staged block: whole cache lines of the output; 0 where L2 has no room for them."""
    most = targets.streamed // max(sides.m.extent * math.prod(axis.extent for axis in sides.columns), 1)
    line = max(targets.line // max(abs(operation.stride(operation.output, sides.across.name)), 1), 1)
    return min(equal_block(sides.across.extent, most, line), sides.across.extent) if most >= line else 0


@frozen
class _Sides:
    """The axes of a contraction by what they are for.

    Attributes:
        large: position of the large input.
        m: its contiguous axis.
        across: of its other axes in the output, the one that is closest there; `outer`: the rest, outermost first.
        columns: axes of the other input in the output, outermost first; the primitive takes the last.
        reduced: axes that are summed, as the large input has them.
    """

    large: int
    m: Axis
    across: Axis
    outer: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    reduced: tuple[Axis, ...]

    @classmethod
    def of(cls, operation: Operation, large: int, m: Axis) -> _Sides | None:
        """Return the axes; None if both inputs depend on one that is not summed, or either has none of its own."""
        role = DimType.N if large else DimType.M
        roles = {axis.role for axis in operation.axes}
        own = [axis for axis in operation.axes if axis.role is role and axis is not m]
        columns = [axis for axis in operation.axes if axis.role not in (role, DimType.K)]
        if DimType.C in roles or m.role is not role or not own or not columns:
            return None
        operand, output = operation.inputs[large], operation.output
        across = min(own, key=lambda axis: operation.distance(output, axis))
        rest = operation.outermost_first(operand, (axis for axis in own if axis is not across))
        reduced = operation.outermost_first(operand, (axis for axis in operation.axes if axis.role is DimType.K))
        columns = operation.outermost_first(output, columns)
        return cls(large, m, across, tuple(rest), tuple(columns), tuple(reduced))

    @property
    def summed(self) -> int:
        """Products that are added up."""
        return math.prod(axis.extent for axis in self.reduced)

    def part(self, targets: BlockTargets) -> int:
        """Indices of the outermost reduced axis in one packed block."""
        outermost = self.reduced[0].extent
        room = COPIED * targets.small * outermost // (self.summed * self.m.extent)
        return equal_block(outermost, max(room, LEAST))

    def copied(self, targets: BlockTargets) -> int:
        """Elements of a packed block."""
        return self.summed // self.reduced[0].extent * self.part(targets) * self.m.extent

    def schedule(self, operation: Operation, step: int, targets: BlockTargets) -> Schedule:
        """Return the schedule for blocks of `step` indices of `across`."""
        outer = [ScheduledLoop(axis.name, 1) for axis in self.outer]
        outer += [ScheduledLoop(self.across.name, step)] if step < self.across.extent else []
        stage, tile = ScheduledPack(OUTPUT, len(outer), self._staged(operation, step)), targets.tile_m
        summed, part = self.reduced[0], self.part(targets)
        outer += [ScheduledLoop(summed.name, part)] if part < summed.extent else []
        inner = [ScheduledLoop(self.across.name, 1)] if step > 1 else []
        large = operation.inputs[self.large]
        reduced = [Digit(axis.name) for axis in self.reduced if axis.extent > 1 and operation.stride(large, axis.name)]
        panels = [Digit(self.m.name, tile)] if self.m.extent > tile else []
        pack = ScheduledPack(self.large, len(outer) + len(inner), (*panels, *reduced, Digit(self.m.name)))
        prims = self.prims(operation)
        inner += [
            ScheduledLoop(axis.name, 1) for axis in (*self.reduced, *self.columns) if axis.name not in prims.names
        ]
        inner += [ScheduledLoop(self.m.name, tile)] if panels else []
        return Schedule((*outer, *inner), prims, (pack, stage))

    def _staged(self, operation: Operation, step: int) -> tuple[Digit, ...]:
        """The block in the order of the output, but for m, which is contiguous."""
        axes = [axis for axis in (*self.columns, *([self.across] if step > 1 else [])) if axis.extent > 1]
        ordered = operation.outermost_first(operation.output, axes)
        return (*(Digit(axis.name) for axis in ordered), Digit(self.m.name))

    def prims(self, operation: Operation) -> Prims:
        """The primitive's axes: k is the closest in the other input, whose elements are read one by one."""
        other = operation.inputs[1 - self.large]
        names = [axis.name for axis in sorted(self.reduced, key=lambda axis: operation.distance(other, axis))]
        return Prims(self.m.name, self.columns[-1].name, *names[:2])
