"""`bind(operation, schedule) -> Nest`: derive everything that is not a choice, or refuse an illegal pair.

Derived are trip counts and tails, how far each loop moves each buffer, packed copies and their scratch, guards of the
first and last touch, and whether a contraction starts from zero. Packed blocks have the type that is computed in.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from einloom.dtypes import DType
from einloom.errors import ScheduleError
from einloom.ir.barriers import barriers_of
from einloom.ir.blocks import cut
from einloom.ir.copies import Level, copy_loops, copy_runs, few_rows_at_once, indices, levels_of
from einloom.ir.curve import LONGEST_CURVE
from einloom.ir.cut_rows import copy_of_cut_rows, cut_rows
from einloom.ir.fused import FusedView, rows_of
from einloom.ir.groups import grouped_copy, grouped_in_place, in_groups
from einloom.ir.layout import PackedLayout
from einloom.ir.nest import Access, Block, Buffer, Call, Guard, Iteration, Loop, Nest, Node, Pack
from einloom.ir.operation import DimType, Operand, Operation, Primitive, Touch
from einloom.ir.schedule import OUTPUT, ExecType, Schedule, ScheduledPack
from einloom.ir.statement import Barrier
from einloom.ir.turned import Pairs, check_touches

__all__ = ["bind"]

ALIGNMENT = 64
"""Scratch buffers begin at a cache line, in bytes."""


def bind(operation: Operation, schedule: Schedule) -> Nest:
    """Return the nest that computes `operation` as `schedule` says.

    Raises:
        ScheduleError: the pair is illegal; the message names the dimension and the reason.
    """
    if operation.multiplies_pairs and schedule.packs:
        pairs = Pairs.of(operation, schedule)
        nest = _Binder(pairs.real_operation(), pairs.real_schedule(), pairs).nest()
        return replace(nest, operation=operation)
    if any(pack.turned for pack in schedule.packs):
        raise ScheduleError(f"a pack has the form 1e, but {operation.main} multiplies no complex numbers")
    if operation.multiplies_pairs:
        check_touches(operation)
    return _Binder(operation, schedule).nest()


class _Binder:
    """Working state of one `bind`: the operation, the schedule and what was derived so far."""

    def __init__(self, operation: Operation, schedule: Schedule, pairs: Pairs | None = None) -> None:
        self.operation = operation
        self.schedule = schedule
        self.pairs = pairs
        self.view = FusedView.of(operation, schedule.fused)
        self.extents = {axis.name: axis.extent for axis in self.view.axes}
        self.roles = {axis.name: axis.role for axis in self.view.axes}
        self._check()
        self.buffers = [Buffer(operand.name, operand.dtype) for operand in operation.operands]
        self.layouts: dict[int, PackedLayout] = {}
        self.packs: dict[int, ScheduledPack] = {}
        self.sums_nothing = any(self.extents[name] == 0 for name, role in self.roles.items() if role is DimType.K)
        if not self.sums_nothing:
            for pack in schedule.packs:
                self._place(pack)
        self.group = self._group_of_products()
        self.names = self._loop_names()
        self.waits = barriers_of(schedule, self.roles, self.extents)

    def nest(self) -> Nest:
        writes_nothing = any(self.extents[name] == 0 for name, role in self.roles.items() if role is not DimType.K)
        body = () if writes_nothing else self._nodes(0)
        return Nest(self.operation, self.view.axes, tuple(self.buffers), body, team=self.schedule.team)

    # ---- what is illegal -------------------------------------------------------------------------------------------

    def _check(self) -> None:
        schedule = self.schedule
        for name in (*(loop.axis for loop in schedule.loops), *schedule.prims.names):
            if name not in self.extents:
                raise ScheduleError(f"the schedule names the axis {name}\n  There are {' '.join(self.extents)}.")
        for loop in schedule.loops:
            if loop.kind is ExecType.SHARED and self.roles[loop.axis] is DimType.K:
                raise ScheduleError(
                    f"dimension {loop.axis} is contracted (role k) and shared\n"
                    "  Threads would add to the same elements. Make it seq.",
                )
        self._check_curves()
        for name, extent in self.extents.items():
            self._check_steps(name, extent)
        self._check_prims()
        self._check_rounding()

    def _check_curves(self) -> None:
        """Dimensions along a curve are not contracted, have no pack among them, and a table holds their blocks."""
        loops = self.schedule.loops
        for depth, (loop, outer) in enumerate(zip(loops, (None, *loops))):
            if loop.kind is not ExecType.SFC:
                continue
            if self.roles[loop.axis] is DimType.K:
                raise ScheduleError(
                    f"dimension {loop.axis} is contracted (role k) and sfc\n"
                    "  A curve runs over blocks of the output. Make it seq."
                )
            within = outer is not None and outer.kind is ExecType.SFC
            for pack in self.schedule.packs:
                if within and pack.loop == depth:
                    name = "the output" if pack.operand == OUTPUT else f"input {pack.operand}"
                    raise ScheduleError(
                        f"{name} is packed at loop {depth}, between sfc dimensions that are one loop ({loop.axis})\n"
                        "  Pack it outside or inside all of them."
                    )
            blocks = self._blocks_on_curve(depth)
            if not within and blocks > LONGEST_CURVE:
                raise ScheduleError(
                    f"the sfc dimensions from {loop.axis} on have {blocks:,} blocks; at most {LONGEST_CURVE:,} go\n"
                    "  Take larger steps, or make the outer ones seq or shared."
                )

    def _blocks_on_curve(self, depth: int) -> int:
        blocks = 1
        for inner, loop in enumerate(self.schedule.loops[depth:], depth):
            if loop.kind is not ExecType.SFC:
                break
            blocks *= -(-self._span(loop.axis, inner) // loop.step)
        return blocks

    def _check_steps(self, name: str, extent: int) -> None:
        loops = [loop for loop in self.schedule.loops if loop.axis == name]
        steps = [loop.step for loop in loops]
        together = [loop for loop in loops if loop.kind is not ExecType.SEQ and self.schedule.team is None]
        for outer, inner in pairwise(together):
            if outer.step < extent and outer.step % inner.step:
                raise ScheduleError(
                    f"dimension {name}: the step {inner.step} ({inner.kind}) does not divide the step {outer.step} "
                    f"({outer.kind}) around it\n  Threads count whole blocks. Take a divisor."
                )
        if name not in self.schedule.prims.names and extent > 1 and (not steps or steps[-1] != 1):
            rest = steps[-1] if steps else extent
            raise ScheduleError(f"dimension {name}: nothing covers the inner {rest} indices\n  Add a loop with step 1.")

    def _check_prims(self) -> None:
        prims, main = self.schedule.prims, self.operation.main
        for letter, name in (("k", prims.k), ("batch", prims.batch)):
            if name is not None and (not main.is_contraction or self.roles[name] is not DimType.K):
                raise ScheduleError(f"dimension {name} (role {self.roles[name]}) cannot be the {letter} of {main}")
        for letter, name in (("m", prims.m), ("n", prims.n)):
            if name is not None and self.roles[name] is DimType.K:
                raise ScheduleError(f"dimension {name} is contracted (role k) and cannot be the {letter} of {main}")

    def _check_rounding(self) -> None:
        """What is stored in a narrower type than it is computed in is stored once.

        Integers may wrap in between, and after each operator on what was copied.
        """
        operation, output = self.operation, self.operation.output
        if operation.rounds_sums and operation.first_touch != Touch(Primitive.ZERO):
            raise ScheduleError("sums of integers are added to float32\n  Start from zero, or give out the type int32.")
        if not operation.narrows or any(pack.operand == OUTPUT for pack in self.schedule.packs):
            return
        again = [
            loop.axis
            for loop in self.schedule.loops
            if self.roles[loop.axis] is DimType.K and loop.step < self.extents[loop.axis] and output.dtype.epsilon
        ]
        wraps = output.dtype.is_integer and not operation.main.is_contraction
        touched = any(not touch.does_nothing for touch in operation.last_touches)
        if again or (touched and not wraps):
            why = f"loop over {again[0]} adds to it" if again else "last touch reads it"
            raise ScheduleError(
                f"out has type {output.dtype}, is computed in {operation.accumulate}, and a {why} after it was stored\n"
                "  Stage the output: pack out@….",
            )

    # ---- packs ------------------------------------------------------------------------------------------------------

    def _place(self, pack: ScheduledPack) -> None:
        position = self._position(pack)
        operand = self.operation.operands[position]
        spans = {name: self._span(name, pack.loop) for name in self.extents if self.view.depends(operand.name, name)}
        rows = self.schedule.prims.k if pack.group > 1 else None
        if pack.group > 1:
            spans = in_groups(spans, pack, rows, operand.name)
        layout = PackedLayout.of(pack.layout, spans, operand.name, rows)
        end = max((b.offset + b.size * b.dtype.size for b in self.buffers if b.offset is not None), default=0)
        offset = -(-end // ALIGNMENT) * ALIGNMENT
        dtype, size = pack.grouped or self._packed_type(operand), layout.size * pack.group
        self.buffers.append(Buffer(f"scratch{len(self.packs)}", dtype, offset, size))
        self.layouts[position] = layout
        self.packs[position] = pack

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
                f"a pack of operand {pack.operand}; 0 to {output - 1} are read, and {OUTPUT} is the output"
            )
        position = output if pack.operand == OUTPUT else pack.operand
        if position in self.packs:
            raise ScheduleError(f"{self.operation.operands[position].name} is packed twice")
        if self._is_staged(position):
            self._check_staged(pack, self.operation.operands[position].name)
        return position

    def _is_staged(self, position: int) -> bool:
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
            raise ScheduleError(f"{name} is packed, but one touch reads it and another one writes it")
        for loop in self.schedule.loops[: pack.loop]:
            if self.roles[loop.axis] is DimType.K and loop.step < self.extents[loop.axis]:
                raise ScheduleError(
                    f"{name} is staged inside a loop over the contracted dimension {loop.axis}\n"
                    "  Stage it outside, so that every block is complete when it is copied out."
                )

    def _scratch(self, operand: int) -> str:
        return f"scratch{list(self.packs).index(operand)}"

    def _span(self, axis: str, depth: int) -> int:
        """Indices of `axis` that are left inside the first `depth` loops; fewer in short blocks."""
        return self._lengths(axis, depth)[0]

    def _lengths(self, axis: str, depth: int) -> tuple[int, ...]:
        """How many indices of `axis` may be left inside the first `depth` loops, the most first."""
        lengths: tuple[int, ...] = (self.extents[axis],)
        for loop in self.schedule.loops[:depth]:
            if loop.axis == axis:
                lengths = cut(lengths, loop.step)
        return lengths

    def _pack_node(self, operand: int) -> Pack:
        tensor, layout, scratch = self.operation.operands[operand], self.layouts[operand], self._scratch(operand)
        lengths = {axis: self._lengths(axis, self.packs[operand].loop) for axis in self.extents}
        if self.pairs is not None and operand == self.pairs.turned:
            return self.pairs.copy(self.pairs.in_elements(lengths), scratch)
        if self.packs[operand].group > 1:
            assert self.schedule.prims.k is not None
            strides, parts = self.view.strides[tensor.name], self.view.parts[tensor.name]
            return grouped_copy(self.packs[operand], layout, lengths, strides, parts, self.schedule.prims.k, scratch)
        strides, parts = self.view.strides[tensor.name], self.view.parts[tensor.name]
        staged = self._is_staged(operand)
        rows = cut_rows(layout, lengths, parts, tensor.name)
        if rows is not None:
            others = levels_of(layout.without(rows.axis), lengths, strides, parts)
            return copy_of_cut_rows(tensor.name, scratch, rows, others, self.extents, staged)
        levels = levels_of(layout, lengths, strides, parts)
        levels = levels if staged else few_rows_at_once(levels, self.extents)
        runs = copy_runs(levels)
        kernel = tuple(level for run in runs for level in run)
        blocks = tuple(self._pack_block(levels, run) for run in runs)
        blocks += (Block(None, 1),) * (2 - len(blocks))
        pad = (0,) * (2 - len(runs))
        outside = Access(tensor.name, tuple(levels[run[0]].outside for run in runs) + pad)
        inside = Access(scratch, tuple(levels[run[0]].inside for run in runs) + pad)
        way = (inside, outside) if staged else (outside, inside)
        body: tuple[Node, ...] = (Call(Primitive.IDENTITY, blocks, way, streams=staged),)
        for index in copy_loops(levels, kernel):
            level = levels[index]
            moves = ((tensor.name, level.outside), (scratch, level.inside))
            name = f"{tensor.name}.{level.axis}.{index}"
            body = (Loop(name, level.axis, ExecType.SEQ, level.step, level.span, level.shorter, moves, body),)
        return Pack(way[1].buffer, way[0].buffer, body)

    def _pack_block(self, levels: list[Level], run: tuple[int, ...]) -> Block:
        *inner, outermost = run
        level = levels[outermost]
        return Block(level.axis, level.span, level.shorter, indices(levels, inner))

    # ---- the tree ---------------------------------------------------------------------------------------------------

    def _loop_names(self) -> list[str]:
        seen: dict[str, int] = {}
        names: list[str] = []
        for loop in self.schedule.loops:
            level = seen.get(loop.axis, 0)
            names.append(f"{loop.axis}.{level}" if level else loop.axis)
            seen[loop.axis] = level + 1
        return names

    def _nodes(self, depth: int) -> tuple[Node, ...]:
        copies = [(i, self._pack_node(i)) for i, pack in self.packs.items() if pack.loop == depth]
        before = [node for position, node in copies if not self._is_staged(position)]
        after = [node for position, node in copies if self._is_staged(position)]
        if depth == len(self.schedule.loops):
            return (*before, *self._primitive_nodes(), *after)
        return (*before, *self._loop_nodes(depth), *after)

    def _loop_nodes(self, depth: int) -> tuple[Node, ...]:
        loop = self.schedule.loops[depth]
        body = self._nodes(depth + 1)
        span, *shorter = self._lengths(loop.axis, depth)
        if self.sums_nothing and self.roles[loop.axis] is DimType.K:
            return body  # A sum over nothing: the primitive's k is 0, the touches still run once.
        step = min(loop.step, span)
        moves = self._advances(loop.axis, step, span, depth)
        node = Loop(self.names[depth], loop.axis, loop.kind, step, span, tuple(shorter), moves, body, loop.ways)
        return (node, Barrier()) if depth in self.waits else (node,)

    def _advances(self, axis: str, step: int, span: int, depth: int) -> tuple[tuple[str, int], ...]:
        moves: list[tuple[str, int]] = []
        for index, operand in enumerate(self.operation.operands):
            if not self.view.depends(operand.name, axis):
                continue
            pack = self.packs.get(index)
            if pack is None or depth < pack.loop:
                moves.append((operand.name, self._advance(operand, axis, step, span)))
            else:
                moves.append((self._scratch(index), self._advance_packed(index, axis, step, span)))
        return tuple(moves)

    def _advance_packed(self, index: int, axis: str, step: int, span: int) -> int:
        """How far a step of a loop moves along a packed block, in elements."""
        group, layout = self.packs[index].group, self.layouts[index]
        if group == 1 or axis != self.schedule.prims.k:
            return layout.advance(axis, step, span) * group
        if step % group and step < span:
            raise ScheduleError(f"a loop over {axis} in steps of {step} cuts groups of {group}")
        return layout.advance(axis, -(-step // group), -(-span // group)) * group

    def _group_of_products(self) -> int:
        """How many neighbours along k the primitive takes at once: both inputs are grouped, or neither is."""
        groups = {self.packs[i].group for i in range(self.operation.main.inputs) if i in self.packs}
        group = max(groups, default=1)
        if group > 1 and (groups != {group} or len(self.operation.inputs) != 2):
            raise ScheduleError(
                f"one input is packed in groups of {group}, the other in others\n  Group both alike, or neither."
            )
        return group

    def _advance(self, operand: Operand, axis: str, step: int, span: int) -> int:
        """How far a step of a loop moves along the operand where it lies; along fused axes by whole rows."""
        parts = self.view.parts[operand.name].get(axis)
        if parts is None:
            return step * self.view.strides[operand.name][axis]
        row = rows_of(parts)
        if step % row and step < span:
            raise ScheduleError(
                f"a loop over {axis} in steps of {step} cuts rows of {row} indices of {operand.name}, "
                f"where {' and '.join(part.name for part in parts)} do not follow each other\n"
                f"  Take a multiple of {row}, or pack {operand.name} outside this loop."
            )
        return step // row * parts[0].stride

    def _primitive_nodes(self) -> tuple[Node, ...]:
        operation = self.operation
        loops = tuple(
            name
            for name, loop in zip(self.names, self.schedule.loops)
            if self.roles[loop.axis] is DimType.K and not self.sums_nothing
        )
        starts_from_zero = operation.first_touch == Touch(Primitive.ZERO) and operation.main.is_contraction
        first = () if starts_from_zero else self._touches((operation.first_touch,), Iteration.FIRST, loops)
        last = self._touches(operation.last_touches, Iteration.LAST, loops)
        return (*first, self._main_call(loops if starts_from_zero else None), *last)

    def _touches(self, touches: tuple[Touch, ...], when: Iteration, loops: tuple[str, ...]) -> tuple[Node, ...]:
        calls = [self._touch(touch) for touch in touches if not touch.does_nothing]
        if self.operation.rounds_sums and when is Iteration.LAST:
            calls = self._rounding(calls)
        return (Guard(when, loops, tuple(calls)),) if calls and loops else tuple(calls)

    def _rounding(self, calls: list[Call]) -> list[Call]:
        """Let the first of the last touches make float32 of int32 where it stands, or a copy if that reads none."""
        reads = bool(calls) and calls[0].accesses[0].buffer == calls[0].accesses[-1].buffer
        if not reads:
            calls = [self._touch(Touch(Primitive.IDENTITY)), *calls]
        first = calls[0]
        sums = replace(first.accesses[0], dtype=self.operation.accumulate)
        return [replace(first, accesses=(sums, *first.accesses[1:])), *calls[1:]]

    def _touch(self, touch: Touch) -> Call:
        axes = (self.schedule.prims.m, self.schedule.prims.n)
        output = self._access(len(self.operation.operands) - 1, axes)
        extra = () if touch.operand is None else (self._access(touch.operand, axes),)
        if touch.writes:
            accesses = (output, *extra)
        elif touch.primitive is Primitive.ZERO:
            accesses = (output,)
        elif extra and touch.primitive.is_unary:
            accesses = (*extra, output)
        else:
            accesses = (output, *extra, output)
        return Call(touch.primitive, tuple(self._block(axis) for axis in axes), accesses)

    def _main_call(self, starts: tuple[str, ...] | None) -> Call:
        prims, main = self.schedule.prims, self.operation.main
        axes = (prims.m, prims.n, prims.k, prims.batch) if main.is_contraction else (prims.m, prims.n)
        order = [*range(main.inputs), len(self.operation.operands) - 1]
        if main.is_contraction and len(order) == 3 and self._vector_operand() == 1:
            order[:2] = [1, 0]  # The first operand of a contraction kernel is the one that varies along m.
        accesses = tuple(self._access(index, axes) for index in order)
        if self.operation.rounds_sums:
            accesses = (*accesses[:-1], replace(accesses[-1], dtype=self.operation.accumulate))
        blocks = tuple(self._block(axis) for axis in axes)
        if main.is_contraction and self.sums_nothing:
            blocks = (*blocks[:2], Block(None, 0), blocks[3])
        first, second = (self.operation.operands[index].conjugated for index in (*order, order[0])[:2])
        return Call(main, blocks, accesses, starts, group=self.group, conjugated=(first, second))

    def _vector_operand(self) -> int:
        m = self.schedule.prims.m
        return 1 if m is not None and self.roles[m] is DimType.N else 0

    def _access(self, index: int, axes: tuple[str | None, ...]) -> Access:
        operand: Operand = self.operation.operands[index]
        if index in self.packs:
            layout = self.layouts[index]
            group = self.packs[index].group
            sizes = {axis: self._block(axis).size for axis in axes if axis is not None}
            if group > 1 and self.schedule.prims.k in sizes:
                sizes[self.schedule.prims.k] = -(-sizes[self.schedule.prims.k] // group)
            strides = tuple(0 if axis is None else group * layout.stride(axis, sizes[axis]) for axis in axes)
            return Access(self._scratch(index), strides)
        strides = tuple(0 if axis is None else self._stride(operand, axis) for axis in axes)
        if self.group > 1 and index < self.operation.main.inputs and len(axes) > 2:
            assert self.schedule.prims.k is not None
            lengths = self._lengths(self.schedule.prims.k, len(self.schedule.loops))
            strides = grouped_in_place(strides, lengths, self.group, operand.name)
        return Access(operand.name, strides)

    def _stride(self, operand: Operand, axis: str) -> int:
        """The stride along an axis that the primitive takes of the operand where it lies."""
        parts = self.view.parts[operand.name].get(axis)
        if parts is not None:
            raise ScheduleError(
                f"the primitive takes {axis} of {operand.name}, "
                f"where {' and '.join(part.name for part in parts)} do not follow each other\n"
                f"  Pack {operand.name}, or fuse other axes."
            )
        return self.view.strides[operand.name][axis]

    def _block(self, axis: str | None) -> Block:
        if axis is None:
            return Block(None, 1)
        size, *tails = self._lengths(axis, len(self.schedule.loops))
        return Block(axis, size, tuple(tails))
