"""`bind(operation, schedule) -> Nest`: derive everything that is not a choice, or refuse an illegal pair.

Derived are trip counts and tails, how far each loop moves each buffer, packed copies and their scratch, guards of the
first and last touch, and whether a contraction starts from zero. Packed blocks have the type that is computed in.
"""

from __future__ import annotations

from dataclasses import replace

from einloom.errors import ScheduleError
from einloom.ir.barriers import barriers_of
from einloom.ir.blocks import Blocks
from einloom.ir.fused import FusedView, rows_of
from einloom.ir.groups import grouped_in_place
from einloom.ir.legal import check_schedule
from einloom.ir.nest import Access, Block, Buffer, Call, Guard, Iteration, Loop, Nest, Node
from einloom.ir.operation import DimType, Operand, Operation, Primitive, Touch
from einloom.ir.packing import Packing
from einloom.ir.schedule import OUTPUT, Schedule
from einloom.ir.statement import Barrier
from einloom.ir.turned import Pairs, check_touches

__all__ = ["bind"]


def bind(operation: Operation, schedule: Schedule) -> Nest:
    """Return the nest that computes `operation` as `schedule` says.

    Raises:
        ScheduleError: the pair is illegal; the message names the dimension and the reason.
    """
    if operation.multiplies_pairs and any(pack.operand != OUTPUT or pack.turned for pack in schedule.packs):
        pairs = Pairs.of(operation, schedule)
        nest = _Binder(pairs.real_operation(), pairs.real_schedule(), pairs).nest()
        return replace(nest, operation=operation)
    if any(pack.turned for pack in schedule.packs):
        raise ScheduleError(
            f"a pack has the form 1e, but {operation.main} multiplies no complex numbers here\n  Leave :1e out."
        )
    if operation.multiplies_pairs:
        check_touches(operation)
    return _Binder(operation, schedule).nest()


class _Binder:
    """Working state of one `bind`: the operation, the schedule and what was derived so far."""

    def __init__(self, operation: Operation, schedule: Schedule, pairs: Pairs | None = None) -> None:
        self.operation = operation
        self.schedule = schedule
        self.view = FusedView.of(operation, schedule.fused)
        self.blocks = Blocks(self.view.axes, schedule.loops)
        check_schedule(operation, schedule, self.blocks)
        self.packing = Packing(operation, schedule, self.view, self.blocks, pairs)
        self.names = self._loop_names()
        self.waits = barriers_of(schedule, self.blocks.roles, self.blocks.extents)

    def nest(self) -> Nest:
        tensors = [Buffer(operand.name, operand.dtype) for operand in self.operation.operands]
        buffers = (*tensors, *self.packing.buffers.values())
        body = () if self.blocks.write_nothing else self._nodes(0)
        return Nest(self.operation, self.view.axes, buffers, body, team=self.schedule.team)

    def _loop_names(self) -> list[str]:
        seen: dict[str, int] = {}
        names: list[str] = []
        for loop in self.schedule.loops:
            level = seen.get(loop.axis, 0)
            names.append(f"{loop.axis}.{level}" if level else loop.axis)
            seen[loop.axis] = level + 1
        return names

    def _nodes(self, depth: int) -> tuple[Node, ...]:
        before, after = self.packing.copies(depth)
        if depth == len(self.schedule.loops):
            return (*before, *self._primitive_nodes(), *after)
        return (*before, *self._loop_nodes(depth), *after)

    def _loop_nodes(self, depth: int) -> tuple[Node, ...]:
        loop = self.schedule.loops[depth]
        body = self._nodes(depth + 1)
        span, *shorter = self.blocks.lengths(loop.axis, depth)
        if self.blocks.sum_nothing and self.blocks.roles[loop.axis] is DimType.K:
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
            if self.packing.is_packed(index, depth):
                moves.append((self.packing.buffers[index].name, self.packing.advance(index, axis, step, span)))
            else:
                moves.append((operand.name, self._advance(operand, axis, step, span)))
        return tuple(moves)

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
            if self.blocks.roles[loop.axis] is DimType.K and not self.blocks.sum_nothing
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
        blocks = tuple(self._block(axis) for axis in (self.schedule.prims.m, self.schedule.prims.n))
        output = self._access(len(self.operation.operands) - 1, blocks)
        extra = () if touch.operand is None else (self._access(touch.operand, blocks),)
        if touch.writes:
            accesses = (output, *extra)
        elif touch.primitive is Primitive.ZERO:
            accesses = (output,)
        elif extra and touch.primitive.is_unary:
            accesses = (*extra, output)
        else:
            accesses = (output, *extra, output)
        return Call(touch.primitive, blocks, accesses)

    def _main_call(self, starts: tuple[str, ...] | None) -> Call:
        prims, main = self.schedule.prims, self.operation.main
        axes = (prims.m, prims.n, prims.k, prims.batch) if main.is_contraction else (prims.m, prims.n)
        blocks = tuple(self._block(axis) for axis in axes)
        order = [*range(main.inputs), len(self.operation.operands) - 1]
        if main.is_contraction and len(order) == 3 and self._vector_operand() == 1:
            order[:2] = [1, 0]  # The first operand of a contraction kernel is the one that varies along m.
        accesses = tuple(self._access(index, blocks) for index in order)
        if self.operation.rounds_sums:
            accesses = (*accesses[:-1], replace(accesses[-1], dtype=self.operation.accumulate))
        if main.is_contraction and self.blocks.sum_nothing:
            blocks = (*blocks[:2], Block(None, 0), blocks[3])
        first, second = (self.operation.operands[index].conjugated for index in (*order, order[0])[:2])
        return Call(main, blocks, accesses, starts, group=self.packing.group, conjugated=(first, second))

    def _vector_operand(self) -> int:
        m = self.schedule.prims.m
        return 1 if m is not None and self.blocks.roles[m] is DimType.N else 0

    def _access(self, index: int, blocks: tuple[Block, ...]) -> Access:
        """How the primitive takes an operand along its axes."""
        if self.packing.is_packed(index, len(self.schedule.loops)):
            return self.packing.access(index, blocks)
        operand = self.operation.operands[index]
        if self.blocks.sum_nothing and index < self.operation.main.inputs:
            return Access(operand.name, (0,) * len(blocks))  # Of which nothing is read.
        strides = tuple(0 if block.axis is None else self._stride(operand, block.axis) for block in blocks)
        group, k = self.packing.group, self.schedule.prims.k
        if group > 1 and index < self.operation.main.inputs and len(blocks) > 2:
            assert k is not None
            strides = grouped_in_place(strides, self.blocks.innermost(k), group, operand.name)
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
        size, *tails = self.blocks.innermost(axis)
        return Block(axis, size, tuple(tails))
