"""Packing of a contraction's inputs: how far a packed block reaches, and in which layout it lies.

Which inputs are packed a plan says, and cost decides among plans. Memory answers single cache lines at a quarter of its
speed, so a packed block reaches over long runs of its tensor before it reaches along anything else.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping

from einloom.ir.operation import DimType, Operation
from einloom.ir.schedule import Digit, Prims, ScheduledPack
from einloom.passes.model.side import Side, SideBlock
from einloom.passes.model.sizes import equal_block, round_up
from einloom.passes.model.tiles import BlockTargets

__all__ = ["ALIASES", "Packing"]

ALIASES = 4096
"""Addresses that lie a multiple of this many bytes apart share a set of L1."""

STRAIGHT = 32
"""Bytes of a panel's columns from which on a copy that keeps them together is faster than one that turns them."""


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

    def least(self, side: Side, tile: int, most: int, others: Mapping[str, int]) -> tuple[dict[str, int], int]:
        """Return how far a packed block must reach along the side's axes so that the copy reads long runs.

        A vector panel becomes narrower where whole ones leave no room: its width stands beside it.

        Args:
            side: the input.
            tile: indices of the primitive's axis in one panel, at most.
            most: indices of the own axes together that a block may hold.
            others: how far it reaches along axes that are not the side's own.
        """
        lanes = self.targets.lanes
        narrowest = lanes if side.prim is not None and side.prim == self.prims.m else tile
        while True:
            steps, run = self._grown(side, tile, most, others)
            if run >= self.targets.read // 2 or tile - lanes < narrowest:
                return steps, tile
            tile -= tile % lanes or lanes

    def _grown(self, side: Side, tile: int, most: int, others: Mapping[str, int]) -> tuple[dict[str, int], int]:
        """Return steps along axes that follow each other in memory, until a run is long or the block is full.

        Beside them stands how many elements the copy reads in one piece.
        """
        steps, run = {axis.name: 1 for axis in side.axes}, 1
        if side.prim:
            steps[side.prim] = min(tile, self.extents[side.prim])
        axes = [axis for axis in self.operation.axes if side.strides[axis.name] and axis.extent > 1]
        for axis in sorted(axes, key=lambda axis: abs(side.strides[axis.name])):
            if abs(side.strides[axis.name]) != run:
                run = self.targets.read  # A gap: no block would read longer runs.
            if run >= self.targets.read:
                break
            if axis.name in steps:
                room = most // (math.prod(steps.values()) // steps[axis.name])
                steps[axis.name] = max(self._equal_lines(axis.extent, run, room), steps[axis.name])
            taken = steps.get(axis.name) or others.get(axis.name, 1)
            run *= taken
            if taken < axis.extent:
                break
        return steps, run

    def _equal_lines(self, extent: int, run: int, room: int) -> int:
        """Return equal parts of an axis for a long run, in whole cache lines where it is the contiguous one."""
        wanted = max(min(-(-self.targets.read // run), room), 1)
        return min(round_up(equal_block(extent, wanted), self.targets.line if run == 1 else 1), extent)

    # ---- how they lie -----------------------------------------------------------------------------------------------

    def layout(
        self, block: SideBlock, depth: int, inside: Mapping[str, int], common: Container[str], panels: bool = False
    ) -> ScheduledPack:
        """Return the pack: panels of the primitive's axis outside, then the reduced axes, then the panel itself.

        The vector operand needs its panel contiguous. The other is read element by element: it keeps the order of the
        reduced axis and the panel that the tensor has, so that the copy moves whole runs.

        Args:
            block: the block that is packed.
            depth: loops around the pack.
            inside: how far the block reaches along the reduced and the common axes.
            common: axes that both inputs depend on, of which a packed block holds the primitive's.
            panels: whether to cut panels where a straight copy would do.
        """
        side, steps = block.side, block.steps
        strides, prim = side.strides, side.prim
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
        if not panels and self._is_copied_straight(block, deep):
            digits += [*reduced, *panel]
        elif self._aliases(side, digits, min(width, block.tile) * deep):
            digits = [*reduced, *digits, *panel]
        elif reduced and self._is_short(block, digits, reduced[-1].axis):
            digits = [*digits[:-1], *reduced, digits[-1], *panel]
        else:
            if prim is not None and block.in_panels and width > block.tile:
                digits.append(Digit(prim, block.tile))
            digits += [*panel, *reduced] if self._keeps_k(block) else [*reduced, *panel]
        return ScheduledPack(side.position, depth, (*digits, *after))

    def _is_copied_straight(self, block: SideBlock, reduced: int) -> bool:
        """Whether panels are not made of an operand with contiguous columns, read element by element.

        A straight copy is the fastest, and the cache lines of one panel stay in L1.
        """
        side = block.side
        contiguous = side.prim is not None and side.prim == side.contiguous
        lines = reduced * self.targets.line
        return contiguous and not side.has_vectors and (not block.in_panels or lines <= self.targets.small)

    def _keeps_k(self, block: SideBlock) -> bool:
        """Whether columns of an operand that is read element by element lie apart, each with the reduced axis inside.

        So where that one is the contiguous axis. And where vectors as long as cache lines are short at the end of m,
        kernels group columns, for which they may read along k: a copy that turns the operand in any case, or moves few
        bytes of neighbouring columns at a time, turns it for them. Rests of shorter vectors are better off with columns
        side by side (measured with AVX2: of 10 choices 1.07 times as fast in the mean, 1.0 to 1.17).
        """
        side, k, m = block.side, self.prims.k, self.prims.m
        if side.has_vectors or k is None:
            return False
        if abs(side.strides[k]) == 1:
            return True
        straight = side.prim == side.contiguous and block.tile * self.operation.accumulate.size >= STRAIGHT
        is_wide = self.targets.lanes >= self.targets.line
        return m is not None and is_wide and self.extents[m] % self.targets.lanes != 0 and not straight

    def _is_short(self, block: SideBlock, own: list[Digit], around: str) -> bool:
        """Whether the tensor has a short axis innermost and a reduced one around it: a copy takes both as one."""
        side = block.side
        if not own or own[-1].axis != side.contiguous:
            return False
        extent = self.extents[own[-1].axis]
        return extent < self.targets.line and block.steps[own[-1].axis] == extent == abs(side.strides[around])

    def _aliases(self, side: Side, own: list[Digit], apart: int) -> bool:
        """Whether what follows in the tensor would be scattered to places of the scratch that share a cache set."""
        scattered = side.has_vectors and own and own[-1].axis == side.contiguous
        return bool(scattered) and apart * self.operation.accumulate.size % ALIASES == 0
