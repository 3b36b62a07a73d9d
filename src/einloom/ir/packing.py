"""`Packing`: the blocks that a schedule packs: their layouts, their places in scratch, and the loops that copy them.

Packed blocks have the type that is computed in.
"""

from __future__ import annotations

from collections.abc import Sequence

from einloom.dtypes import DType
from einloom.errors import ScheduleError
from einloom.ir.blocks import Blocks
from einloom.ir.copies import Level, block_of, copy_loops, copy_runs, few_rows_at_once, followed, levels_of
from einloom.ir.cut_rows import CutCopy, cut_rows
from einloom.ir.fused import FusedView
from einloom.ir.groups import grouped_copy, in_groups
from einloom.ir.layout import PackedLayout
from einloom.ir.nest import Access, Block, Buffer, Call, Node, Pack
from einloom.ir.operation import DimType, Operand, Operation, Primitive
from einloom.ir.schedule import OUTPUT, ExecType, Schedule, ScheduledPack
from einloom.ir.turned import Pairs

__all__ = ["Packing"]

ALIGNMENT = 64
"""Scratch buffers begin at a cache line, in bytes."""


class Packing:
    """The packed blocks of an operation under a schedule.

    Attributes:
        buffers: scratch, by the position of the operand of which it holds blocks.
        group: how many neighbours along k the primitive takes at once.

    Raises:
        ScheduleError: what is packed, or where, is illegal.
    """

    def __init__(
        self, operation: Operation, schedule: Schedule, view: FusedView, blocks: Blocks, pairs: Pairs | None
    ) -> None:
        self.operation = operation
        self.schedule = schedule
        self.view = view
        self.blocks = blocks
        self.pairs = pairs
        self.buffers: dict[int, Buffer] = {}
        self.layouts: dict[int, PackedLayout] = {}
        self.packs: dict[int, ScheduledPack] = {}
        for pack in schedule.packs:
            if pack.operand == OUTPUT or not blocks.sum_nothing:  # Else nobody reads what would be packed.
                self._place(pack)
        self.group = self._group_of_products()

    def _place(self, pack: ScheduledPack) -> None:
        position = self._position(pack)
        operand = self.operation.operands[position]
        axes = [axis for axis in self.blocks.extents if self.view.depends(operand.name, axis)]
        spans = {axis: self.blocks.span(axis, pack.loop) for axis in axes}
        rows = self.schedule.prims.k if pack.group > 1 else None
        if pack.group > 1:
            spans = in_groups(spans, pack, rows, operand.name)
        layout = PackedLayout.of(pack.layout, spans, operand.name, rows)
        dtype, size = pack.grouped or self._packed_type(operand), layout.size * pack.group
        self.buffers[position] = Buffer(f"scratch{len(self.packs)}", dtype, self._free_offset(), size)
        self.layouts[position] = layout
        self.packs[position] = pack

    def _free_offset(self) -> int:
        """Where the next block begins in scratch, in bytes."""
        ends = ((buffer.offset or 0) + buffer.size * buffer.dtype.size for buffer in self.buffers.values())
        return -(-max(ends, default=0) // ALIGNMENT) * ALIGNMENT

    def _packed_type(self, operand: Operand) -> DType:
        """The type of a packed block: that which is computed in, so that copies convert and kernels need not.

        Copies keep their types: there a packed block is an intermediate stop of elements that nobody computes with.
        Results that are finished in scratch have their own as well.
        """
        if operand is self.operation.output and self.operation.rounds_sums:
            return operand.dtype
        copies = self.operation.main is Primitive.IDENTITY and not self.operation.last_touches
        return operand.dtype if copies else self.operation.accumulate

    def _position(self, pack: ScheduledPack) -> int:
        """Return the position of the operand that is packed, after checking that it may be."""
        output = len(self.operation.operands) - 1
        if pack.operand != OUTPUT and not 0 <= pack.operand < output:
            raise ScheduleError(
                f"a pack of operand {pack.operand}, which there is not\n"
                f"  Give 0 to {output - 1} or, the output, {OUTPUT}."
            )
        position = output if pack.operand == OUTPUT else pack.operand
        if position in self.packs:
            raise ScheduleError(f"{self.operation.operands[position].name} is packed twice\n  Keep one of its packs.")
        if self.is_staged(position):
            self._check_staged(pack, self.operation.operands[position].name)
        return position

    def is_staged(self, position: int) -> bool:
        """Whether a packed block of an operand is written, and copied out: of the output, or of what touches write."""
        written = any(touch.writes and touch.operand == position for touch in self.operation.last_touches)
        return written or position == len(self.operation.operands) - 1

    def _check_staged(self, pack: ScheduledPack, name: str) -> None:
        """A staged block is computed from nothing, as a whole, before it is copied out."""
        first = self.operation.first_touch
        if pack.operand == OUTPUT and self.operation.main.is_contraction and not first.initialises:
            raise ScheduleError(
                f"the output is staged, but the first touch {first.primitive} keeps what it holds\n"
                "  Stage outputs whose first touch is zero or copies an operand."
            )
        if self.schedule.team and any(loop.kind is ExecType.SHARED for loop in self.schedule.loops[pack.loop :]):
            raise ScheduleError(f"{name} is staged outside a shared loop\n  Stage it inside all of them.")
        touches = (first, *self.operation.last_touches)
        if any(touch.operand == pack.operand and not touch.writes for touch in touches):
            raise ScheduleError(
                f"{name} is packed, but one touch reads it and another one writes it\n  Leave its pack out."
            )
        for loop in self.schedule.loops[: pack.loop]:
            if self.blocks.cuts(loop, DimType.K):
                raise ScheduleError(
                    f"{name} is staged inside a loop over the contracted dimension {loop.axis}\n"
                    "  Stage it outside, so that every block is complete when it is copied out."
                )

    def _group_of_products(self) -> int:
        """How many neighbours along k the primitive takes at once: both inputs are grouped, or neither is."""
        groups = {self.packs[i].group for i in range(self.operation.main.inputs) if i in self.packs}
        group = max(groups, default=1)
        if group > 1 and (groups != {group} or len(self.operation.inputs) != 2):
            raise ScheduleError(
                f"one input is packed in groups of {group}, the other in others\n  Group both alike, or neither."
            )
        return group

    # ---- reading ----------------------------------------------------------------------------------------------------

    def copies(self, depth: int) -> tuple[list[Node], list[Node]]:
        """Return what is copied inside the first `depth` loops: into scratch before the rest, out of it afterwards."""
        before: list[Node] = []
        after: list[Node] = []
        for position, pack in self.packs.items():
            if pack.loop == depth:
                (after if self.is_staged(position) else before).append(self._copy(position))
        return before, after

    def is_packed(self, position: int, depth: int) -> bool:
        """Whether what a loop at `depth` walks along is the packed block of an operand."""
        return position in self.packs and self.packs[position].loop <= depth

    def advance(self, position: int, axis: str, step: int, span: int) -> int:
        """Return how far a step of a loop moves along a packed block, in elements."""
        group, layout = self.packs[position].group, self.layouts[position]
        if group == 1 or axis != self.schedule.prims.k:
            return layout.advance(axis, step, span) * group
        if step % group and step < span:
            raise ScheduleError(
                f"a loop over {axis} in steps of {step} cuts groups of {group}\n  Take a multiple of {group}."
            )
        return layout.advance(axis, -(-step // group), -(-span // group)) * group

    def access(self, position: int, blocks: Sequence[Block]) -> Access:
        """Return how the primitive takes a packed block along its axes."""
        layout, group, k = self.layouts[position], self.packs[position].group, self.schedule.prims.k
        strides: list[int] = []
        for block in blocks:
            size = -(-block.size // group) if block.axis == k else block.size
            strides.append(0 if block.axis is None else group * layout.stride(block.axis, size))
        return Access(self.buffers[position].name, tuple(strides))

    def _copy(self, position: int) -> Pack:
        """Return the loops that fill a packed block, or store a staged one."""
        operand, pack, layout = self.operation.operands[position], self.packs[position], self.layouts[position]
        scratch, staged = self.buffers[position].name, self.is_staged(position)
        lengths = {axis: self.blocks.lengths(axis, pack.loop) for axis in self.blocks.extents}
        if self.pairs is not None and position == self.pairs.turned:
            return self.pairs.copy(self.pairs.in_elements(lengths), scratch)
        strides, parts = self.view.strides[operand.name], self.view.parts[operand.name]
        if pack.group > 1:
            assert self.schedule.prims.k is not None
            return grouped_copy(pack, layout, lengths, strides, parts, self.schedule.prims.k, scratch)
        rows = cut_rows(layout, lengths, parts, operand.name)
        if rows is not None:
            others = levels_of(layout.without(rows.axis), lengths, strides, parts)
            return CutCopy(operand.name, scratch, rows, followed(lengths, parts), staged).node(others)
        levels = levels_of(layout, lengths, strides, parts)
        streams = staged and operand.dtype == self.buffers[position].dtype
        if not streams:
            levels = few_rows_at_once(levels, followed(lengths, parts), operand.dtype.size)
        return _copied(operand.name, scratch, levels, staged)


def _copied(tensor: str, scratch: str, levels: list[Level], staged: bool) -> Pack:
    """Return a copy of whole rows: two runs of levels are the kernel's axes, loops go over the others."""
    runs = copy_runs(levels)
    kernel = tuple(level for run in runs for level in run)
    blocks = tuple(block_of(levels, run) for run in runs)
    blocks += (Block(None, 1),) * (2 - len(blocks))
    pad = (0,) * (2 - len(runs))
    outside = Access(tensor, tuple(levels[run[0]].outside for run in runs) + pad)
    inside = Access(scratch, tuple(levels[run[0]].inside for run in runs) + pad)
    way = (inside, outside) if staged else (outside, inside)
    body: tuple[Node, ...] = (Call(Primitive.IDENTITY, blocks, way, streams=staged),)
    for index in copy_loops(levels, kernel):
        body = (levels[index].loop(str(index), tensor, scratch, body),)
    return Pack(way[1].buffer, way[0].buffer, body)
