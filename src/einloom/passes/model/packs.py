"""Packing of a contraction's inputs: how far a packed block reaches, and in which layout it lies.

Which inputs are packed a plan says, and cost decides among plans. Memory answers single cache lines at a quarter of its
speed, so a packed block reaches over long runs of its tensor before it reaches along anything else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from einloom.ir.operation import Axis, DimType, Operand, Operation
from einloom.ir.schedule import Digit, Prims, ScheduledLoop, ScheduledPack
from einloom.passes.model.sizes import equal_block, round_up
from einloom.passes.model.tiles import BlockTargets

__all__ = ["Packing", "Side"]

ALIASES = 4096
"""Addresses that lie a multiple of this many bytes apart share a set of L1."""


@dataclass(slots=True)
class Side:
    """One input with its own axes: which of them a block holds, how far, and whether the block is packed.

    Attributes:
        operand, position: the input.
        axes: those that the other input does not depend on, the reduced ones aside.
        strides: of the operand along every axis of the operation.
        prim: the axis that the primitive takes, if it is the side's own.
        tile: indices of it in one panel.
        packed: whether blocks are copied into scratch.
        in_panels: whether the primitive takes one panel at a time, not as much as a block holds.
        steps: how far a block reaches along each axis.
        run: elements that the copy of a packed block reads in one piece; 0 where that does not matter.
    """

    operand: Operand
    position: int
    axes: list[Axis]
    strides: dict[str, int]
    prim: str | None
    tile: int
    packed: bool = False
    in_panels: bool = False
    steps: dict[str, int] = field(default_factory=dict)
    run: int = 0

    def outer_loops(self, order: Iterable[Axis]) -> list[ScheduledLoop]:
        """Loops between blocks."""
        return [ScheduledLoop(a.name, self.steps[a.name]) for a in order if self.steps[a.name] < a.extent]

    def inner_loops(self, order: Iterable[Axis]) -> list[ScheduledLoop]:
        """Loops inside a block: single indices of the axes that the primitive lacks, panels of the one it takes."""
        loops = [ScheduledLoop(a.name, 1) for a in order if a.name != self.prim and self.steps[a.name] > 1]
        if self.in_panels and self.prim is not None and self.steps[self.prim] > self.tile:
            loops.append(ScheduledLoop(self.prim, self.tile))
        return loops

    @property
    def elements(self) -> int:
        """Indices of the own axes together."""
        return math.prod(axis.extent for axis in self.axes)


class Packing:
    """What one operation's packs are decided with.

    Args:
        operation: the contraction.
        prims: the axes that its primitive takes.
        targets: sizes that suit the machine.
    """

    def __init__(self, operation: Operation, prims: Prims, targets: BlockTargets) -> None:
        self.operation, self.prims, self.targets = operation, prims, targets
        self.extents = {axis.name: axis.extent for axis in operation.axes}
        self.reduced = [axis for axis in operation.axes if axis.role is DimType.K]
        axes = [operation.contiguous_axis(operand) for operand in operation.inputs]
        self._contiguous = [axis.name if axis else None for axis in axes]

    def contiguous_axis(self, side: Side) -> str | None:
        """Return the name of the axis along which neighbours of the operand are neighbours in memory."""
        return self._contiguous[side.position]

    # ---- how far blocks reach ---------------------------------------------------------------------------------------

    def least(self, side: Side, most: int, others: Mapping[str, int]) -> dict[str, int]:
        """Return how far a packed block must reach along the side's axes so that the copy reads long runs.

        A vector panel becomes narrower where whole ones leave no room. `side.run` says what was reached.

        Args:
            side: the input; its tile may change.
            most: indices of the own axes together that a block may hold.
            others: how far it reaches along axes that are not the side's own.
        """
        whole, lanes = side.tile, self.targets.lanes
        narrowest = lanes if side.prim is not None and side.prim == self.prims.m else whole
        while True:
            steps = self._grown(side, most, others)
            if side.run >= self.targets.read // 2 or side.tile - lanes < narrowest:
                return steps
            side.tile -= side.tile % lanes or lanes

    def _grown(self, side: Side, most: int, others: Mapping[str, int]) -> dict[str, int]:
        """Return steps along axes that follow each other in memory, until a run is long or the block is full."""
        steps = {axis.name: 1 for axis in side.axes}
        if side.prim:
            steps[side.prim] = min(side.tile, self.extents[side.prim])
        side.run = 1
        axes = [axis for axis in self.operation.axes if side.strides[axis.name] and axis.extent > 1]
        for axis in sorted(axes, key=lambda axis: abs(side.strides[axis.name])):
            if abs(side.strides[axis.name]) != side.run:
                side.run = self.targets.read  # A gap: no block would read longer runs.
            if side.run >= self.targets.read:
                break
            if axis.name in steps:
                room = most // (math.prod(steps.values()) // steps[axis.name])
                steps[axis.name] = max(self._equal_lines(axis.extent, side.run, room), steps[axis.name])
            taken = steps.get(axis.name) or others.get(axis.name, 1)
            side.run *= taken
            if taken < axis.extent:
                break
        return steps

    def _equal_lines(self, extent: int, run: int, room: int) -> int:
        """Return equal parts of an axis for a long run, in whole cache lines where it is the contiguous one."""
        wanted = max(min(-(-self.targets.read // run), room), 1)
        return min(round_up(equal_block(extent, wanted), self.targets.line if run == 1 else 1), extent)

    # ---- how they lie -----------------------------------------------------------------------------------------------

    def layout(
        self, side: Side, depth: int, inside: Mapping[str, int], common: Iterable[Axis], panels: bool = False
    ) -> ScheduledPack:
        """Return the pack: panels of the primitive's axis outside, then the reduced axes, then the panel itself.

        The vector operand needs its panel contiguous. The other is read element by element: it keeps the order of the
        reduced axis and the panel that the tensor has, so that the copy moves whole runs.

        Args:
            side: the input.
            depth: loops around the pack.
            inside: how far the block reaches along the reduced and the common axes.
            common: axes that both inputs depend on, of which a packed block holds the primitive's.
            panels: whether to cut panels where a straight copy would do.
        """
        strides = side.strides
        steps = {axis.name: side.steps[axis.name] for axis in side.axes if strides[axis.name]}  # 0: broadcast
        own = sorted(side.axes, key=lambda axis: -abs(strides[axis.name]))  # as in the tensor: copies join axes
        digits = [Digit(axis.name) for axis in own if axis.name != side.prim and steps.get(axis.name, 1) > 1]
        width = steps.get(side.prim or "", 1)
        panel = [Digit(side.prim)] if side.prim is not None and width > 1 else []
        reduced = [Digit(a.name) for a in self.reduced if strides[a.name] and inside[a.name] > 1]
        reduced.sort(key=lambda d: (self.prims.batch != d.axis, self.prims.k != d.axis))
        names = {axis.name for axis in common}
        taken = [name for name in (self.prims.n, self.prims.m) if name is not None and strides[name]]
        after = [Digit(name) for name in taken if name in names]
        if panel and side.prim == self.prims.m:  # Vectors run along the panel: columns lie outside.
            reduced, after = [*after, *reduced], []
        if not panels and self._is_copied_straight(side, math.prod(inside[d.axis] for d in reduced)):
            digits += [*reduced, *panel]
        elif self._aliases(side, digits, math.prod([min(width, side.tile), *(inside[d.axis] for d in reduced)])):
            digits = [*reduced, *digits, *panel]
        elif reduced and self._is_short(side, digits, reduced[-1].axis):
            digits = [*digits[:-1], *reduced, digits[-1], *panel]
        else:
            if side.prim is not None and side.in_panels and width > side.tile:
                digits.append(Digit(side.prim, side.tile))
            digits += [*panel, *reduced] if self._keeps_k(side) else [*reduced, *panel]
        return ScheduledPack(side.position, depth, (*digits, *after))

    def _is_vector_side(self, side: Side) -> bool:
        return self.prims.m is not None and side.strides[self.prims.m] != 0

    def _is_copied_straight(self, side: Side, reduced: int) -> bool:
        """Whether panels are not made of an operand with contiguous columns, read element by element.

        A straight copy is the fastest, and the cache lines of one panel stay in L1.
        """
        contiguous = side.prim is not None and side.prim == self.contiguous_axis(side)
        lines = reduced * self.targets.line
        return contiguous and not self._is_vector_side(side) and (not side.in_panels or lines <= self.targets.small)

    def _keeps_k(self, side: Side) -> bool:
        """Whether the reduced axis is the contiguous one, of an operand that is read element by element.

        It stays so; and where vectors are short at the end of m, kernels group columns, for which they read along k.
        """
        k, m = self.prims.k, self.prims.m
        if self._is_vector_side(side) or k is None:
            return False
        return abs(side.strides[k]) == 1 or (m is not None and self.extents[m] % self.targets.lanes != 0)

    def _is_short(self, side: Side, own: list[Digit], around: str) -> bool:
        """Whether the tensor has a short axis innermost and a reduced one around it: a copy takes both as one."""
        if not own or own[-1].axis != self.contiguous_axis(side):
            return False
        extent = self.extents[own[-1].axis]
        return extent < self.targets.line and side.steps[own[-1].axis] == extent == abs(side.strides[around])

    def _aliases(self, side: Side, own: list[Digit], apart: int) -> bool:
        """Whether what follows in the tensor would be scattered to places of the scratch that share a cache set."""
        scattered = self._is_vector_side(side) and own and own[-1].axis == self.contiguous_axis(side)
        return bool(scattered) and apart * self.operation.accumulate.size % ALIASES == 0
