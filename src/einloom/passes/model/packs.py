"""Packing of a contraction's inputs: how far a packed block reaches, and in which layout it lies.

Which inputs are packed a plan says, and cost decides among plans. Memory answers single cache lines at a quarter of its
speed, so a packed block reaches over long runs of its tensor before it reaches along anything else.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping

from einloom.ir.operation import DimType, Operation
from einloom.ir.schedule import Digit, Prims, ScheduledLoop, ScheduledPack
from einloom.passes.model.sizes import equal_block, round_up
from einloom.passes.model.tiles import BlockTargets

__all__ = ["ALIASES", "Packing", "Side"]

ALIASES = 4096
"""Addresses that lie a multiple of this many bytes apart share a set of L1."""

STRAIGHT = 32
"""Bytes of a panel's columns from which on a copy that keeps them together is faster than one that turns them."""


class Side:
    """One input with its own axes: which of them a block holds, how far, and whether the block is packed.

    Attributes:
        operand, position: the input.
        strides: of the operand along every axis of the operation.
        axes: those that the other input does not depend on, the reduced ones aside; `written`, `lying`: the same as the
            output and as the operand have them, the largest stride first.
        prim: the axis that the primitive takes, if it is the side's own.
        order: the axes, that one first, then what lies closest.
        contiguous: the axis along which neighbours of the operand are neighbours in memory.
        has_vectors: whether kernels read it as vectors.
        elements: indices of the own axes together.
        tile: indices of `prim` in one panel.
        packed: whether blocks are copied into scratch.
        in_panels: whether the primitive takes one panel at a time, not as much as a block holds.
        steps: how far a block reaches along each axis.
        run: elements that the copy of a packed block reads in one piece; 0 where that does not matter.
    """

    def __init__(self, operation: Operation, position: int, prim: str | None, m: str | None) -> None:
        role = DimType.N if position == 1 else DimType.M
        self.operand, self.position = operation.inputs[position], position
        self.strides = operation.strides(self.operand)
        self.axes = [axis for axis in operation.axes if axis.role is role]
        self.written = operation.outermost_first(operation.output, self.axes)
        self.lying = operation.outermost_first(self.operand, self.axes)
        self.prim = prim if any(axis.name == prim for axis in self.axes) else None
        self.order = sorted(self.axes, key=lambda axis: (axis.name != self.prim, abs(self.strides[axis.name])))
        contiguous = operation.contiguous_axis(self.operand)
        self.contiguous = None if contiguous is None else contiguous.name
        self.has_vectors = m is not None and self.strides[m] != 0
        self.elements = math.prod([axis.extent for axis in self.axes])
        self.begin(1, False)

    def begin(self, tile: int, packed: bool) -> None:
        """Forget what was decided, but for the tile and whether blocks are packed."""
        self.tile, self.packed, self.in_panels = tile, packed, False
        self.steps: dict[str, int] = {}
        self.run = 0

    def outer_loops(self, lying: bool = False) -> list[ScheduledLoop]:
        """Loops between blocks: packs follow the tensor, what is read in place the output, or the tensor if `lying`."""
        order, steps = self.lying if self.packed or lying else self.written, self.steps
        return [ScheduledLoop(a.name, steps[a.name]) for a in order if steps[a.name] < a.extent]

    def inner_loops(self, lying: bool = False) -> list[ScheduledLoop]:
        """Loops inside a block: single indices of the axes that the primitive lacks, panels of the one it takes.

        They follow the output, or the operand as it lies.
        """
        order = self.lying if lying else self.written
        loops = [ScheduledLoop(a.name, 1) for a in order if a.name != self.prim and self.steps[a.name] > 1]
        if self.in_panels and self.prim is not None and self.steps[self.prim] > self.tile:
            loops.append(ScheduledLoop(self.prim, self.tile))
        return loops


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
        reduced = [axis.name for axis in operation.axes if axis.role is DimType.K]
        self.reduced = sorted(reduced, key=lambda name: (prims.batch != name, prims.k != name))

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
        self, side: Side, depth: int, inside: Mapping[str, int], common: Container[str], panels: bool = False
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
        strides, steps, prim = side.strides, side.steps, side.prim
        digits = [  # As in the tensor, so that copies join axes; not what it is broadcast along.
            Digit(axis.name) for axis in side.lying if axis.name != prim and steps[axis.name] > 1 and strides[axis.name]
        ]
        width = steps[prim] if prim is not None and strides[prim] else 1
        panel = [Digit(prim)] if prim is not None and width > 1 else []
        reduced = [Digit(name) for name in self.reduced if strides[name] and inside[name] > 1]
        taken = [name for name in (self.prims.n, self.prims.m) if name is not None and name in common]
        after = [Digit(name) for name in taken if strides[name]]
        if panel and prim == self.prims.m:  # Vectors run along the panel: columns lie outside.
            reduced, after = [*after, *reduced], []
        deep = math.prod([inside[digit.axis] for digit in reduced])
        if not panels and self._is_copied_straight(side, deep):
            digits += [*reduced, *panel]
        elif self._aliases(side, digits, min(width, side.tile) * deep):
            digits = [*reduced, *digits, *panel]
        elif reduced and self._is_short(side, digits, reduced[-1].axis):
            digits = [*digits[:-1], *reduced, digits[-1], *panel]
        else:
            if side.prim is not None and side.in_panels and width > side.tile:
                digits.append(Digit(side.prim, side.tile))
            digits += [*panel, *reduced] if self._keeps_k(side) else [*reduced, *panel]
        return ScheduledPack(side.position, depth, (*digits, *after))

    def _is_copied_straight(self, side: Side, reduced: int) -> bool:
        """Whether panels are not made of an operand with contiguous columns, read element by element.

        A straight copy is the fastest, and the cache lines of one panel stay in L1.
        """
        contiguous = side.prim is not None and side.prim == side.contiguous
        lines = reduced * self.targets.line
        return contiguous and not side.has_vectors and (not side.in_panels or lines <= self.targets.small)

    def _keeps_k(self, side: Side) -> bool:
        """Whether columns of an operand that is read element by element lie apart, each with the reduced axis inside.

        So where that one is the contiguous axis. And where vectors as long as cache lines are short at the end of m,
        kernels group columns, for which they may read along k: a copy that turns the operand in any case, or moves few
        bytes of neighbouring columns at a time, turns it for them. Rests of shorter vectors are better off with columns
        side by side (measured with AVX2: of 10 choices 1.07 times as fast in the mean, 1.0 to 1.17).
        """
        k, m = self.prims.k, self.prims.m
        if side.has_vectors or k is None:
            return False
        if abs(side.strides[k]) == 1:
            return True
        straight = side.prim == side.contiguous and side.tile * self.operation.accumulate.size >= STRAIGHT
        is_wide = self.targets.lanes >= self.targets.line
        return m is not None and is_wide and self.extents[m] % self.targets.lanes != 0 and not straight

    def _is_short(self, side: Side, own: list[Digit], around: str) -> bool:
        """Whether the tensor has a short axis innermost and a reduced one around it: a copy takes both as one."""
        if not own or own[-1].axis != side.contiguous:
            return False
        extent = self.extents[own[-1].axis]
        return extent < self.targets.line and side.steps[own[-1].axis] == extent == abs(side.strides[around])

    def _aliases(self, side: Side, own: list[Digit], apart: int) -> bool:
        """Whether what follows in the tensor would be scattered to places of the scratch that share a cache set."""
        scattered = side.has_vectors and own and own[-1].axis == side.contiguous
        return bool(scattered) and apart * self.operation.accumulate.size % ALIASES == 0
