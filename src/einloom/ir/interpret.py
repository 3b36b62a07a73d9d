"""What operations and nests mean, in NumPy with wide arithmetic. Everything generated is compared with this.

`einloom.ir.numbers` says how wide: floats in float64, integers modulo 2**64. What is stored is rounded or wraps.

Operands are `Memory`, so that any strides, negative ones too, are plain numbers here as they are in machine code.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from einloom.dtypes import DType, Kind, promoted
from einloom.frozen import frozen
from einloom.ir import meanings
from einloom.ir.memory import Memory
from einloom.ir.nest import Access, Block, Call, Guard, Iteration, Loop, Nest, Node, Pack, When, parallel_loops
from einloom.ir.numbers import narrowed, wide_type, widened
from einloom.ir.operation import DimType, Operation, Primitive, Touch
from einloom.ir.schedule import ExecType
from einloom.ir.sharing import Team
from einloom.ir.statement import Barrier, Statement, run_statement

__all__ = ["interpret", "interpret_nest"]

Array = np.ndarray[Any, Any]

_UNARY = {primitive: meanings.UNARY[primitive.value] for primitive in Primitive if primitive.is_unary}
_BINARY = {primitive: meanings.BINARY[primitive.value] for primitive in Primitive if primitive.is_binary}


def interpret(operation: Operation, operands: Sequence[Memory]) -> None:
    """Compute the operation: writes the last operand, rounded once."""
    extents = [axis.extent for axis in operation.axes]
    kept = [i for i, axis in enumerate(operation.axes) if axis.role is not DimType.K]
    computed = operation.accumulate
    view = operands[-1].view([extents[i] for i in kept], [operation.output.strides[i] for i in kept])
    inputs = [
        widened(memory.view(extents, operand.strides), operand.dtype, computed)
        for memory, operand in zip(operands, operation.inputs)
    ]
    inputs = [np.conj(each) if operand.conjugated else each for each, operand in zip(inputs, operation.inputs)]
    value = widened(view, operation.output.dtype, computed)
    extras = {
        position: _Extra(memory.view([extents[i] for i in kept], [operand.strides[i] for i in kept]), operand.dtype)
        for position, (memory, operand) in enumerate(zip(operands[:-1], operation.operands))
        if position >= len(operation.inputs)
    }
    value = _touched(operation.first_touch, value, extras)
    summed = tuple(i for i in range(len(extents)) if i not in kept)
    if operation.main.is_contraction:
        term = inputs[0] if len(inputs) == 1 else inputs[0] * inputs[1]
        value = value + _sum(term, summed)
    elif operation.main.is_binary:
        value = _BINARY[operation.main](*inputs)
    else:
        value = _UNARY[operation.main](inputs[0] if inputs else value)
    stored = operation.output.dtype
    if operation.rounds_sums:
        value, computed = _wrapped(value, computed).astype(wide_type(stored)), stored
    for touch in operation.last_touches:
        value = _touched(touch, _wrapped(value, computed if operation.main.is_contraction else stored), extras)
    view[...] = narrowed(value, operation.output.dtype)


def _wrapped(value: Array, dtype: DType) -> Array:
    """Return integers as the next operator finds them: modulo what their type holds."""
    return widened(narrowed(value, dtype), dtype) if dtype.is_integer else value


@frozen
class _Extra:
    """The operand of a touch, as an array of the output's extents."""

    view: Array
    dtype: DType


def _sum(term: Array, axes: tuple[int, ...]) -> Array:
    """Return the sum in the type of the terms; of truth values it is their or."""
    return term.sum(axis=axes, dtype=term.dtype)


def _touched(touch: Touch, value: Array, extras: dict[int, _Extra]) -> Array:
    """Return the output after a touch; one that writes its operand leaves the output as it is."""
    if touch.does_nothing:
        return value
    if touch.operand is None:
        return _UNARY[touch.primitive](value)
    extra = extras[touch.operand]
    if touch.writes:
        extra.view[...] = narrowed(_UNARY[touch.primitive](value), extra.dtype)
        return value
    beside = widened(extra.view, extra.dtype).astype(value.dtype)
    if touch.primitive.is_binary:
        return _BINARY[touch.primitive](value, beside)
    return _UNARY[touch.primitive](beside)


def interpret_nest(nest: Nest, operands: Sequence[Memory]) -> None:
    """Run the nest as a code generator would: walk the tree, move positions, compute blocks.

    The threads of a team run in turn, each from one barrier to the next.
    """
    team = nest.team or Team()
    waiting = [_NestRun(nest, operands, team, thread).run(nest.body) for thread in range(team.threads)]
    while waiting:
        waiting = [thread for thread in waiting if next(thread, "ended") != "ended"]


def _memories(nest: Nest, operands: Sequence[Memory]) -> dict[str, Memory]:
    """The operands' memory and fresh scratch by name; a cursor's is that of its buffer."""
    dtypes = nest.dtypes
    named = zip((buffer.name for buffer in nest.buffers if buffer.offset is None), operands)
    memories = {name: _in_parts(memory, dtypes[name]) for name, memory in named}
    for buffer in nest.buffers:
        if buffer.offset is not None:
            nothing = np.full(buffer.size, np.nan if buffer.dtype.epsilon else 0)
            memories[buffer.name] = Memory(narrowed(nothing, buffer.dtype))
    return memories | {cursor.name: memories[cursor.buffer] for cursor in nest.cursors if cursor.buffer is not None}


def _in_parts(memory: Memory, dtype: DType) -> Memory:
    """The memory as a nest sees it: complex elements are two reals each."""
    if memory.elements.dtype.kind != "c" or dtype.kind is Kind.COMPLEX:
        return memory
    return Memory(memory.elements.view(memory.elements.real.dtype), 2 * memory.origin)


class _NestRun:
    """State of one thread's run: positions, indices of loops, what is left of axes, first and last iterations.

    What runs nodes is a generator that stops at barriers.
    """

    def __init__(self, nest: Nest, operands: Sequence[Memory], team: Team, thread: int) -> None:
        self.memories = _memories(nest, operands)
        self.dtypes = nest.dtypes
        self.team, self.thread = team, thread
        self.has_team = nest.team is not None
        self.position = dict.fromkeys(self.memories, 0)
        for cursor in nest.cursors:
            by_thread = (factor * team.coordinate(thread, name) for name, factor in cursor.by_thread)
            self.position[cursor.name] = cursor.start + sum(by_thread)
        self.left = {axis.name: axis.extent for axis in nest.axes}
        self.edges: dict[Iteration, dict[str, bool]] = {edge: {} for edge in Iteration}
        self.index: dict[str, int] = {}

    def run(self, nodes: tuple[Node, ...]) -> Iterator[None]:
        for node in nodes:
            if isinstance(node, Loop):
                yield from self.parallel(node) if self.has_team and node.kind is ExecType.SHARED else self.loop(node)
            elif isinstance(node, Call):
                self.call(node)
            elif isinstance(node, Statement):
                run_statement(node, self.memories, self.index)
            elif isinstance(node, Barrier):
                yield
            elif self.enters(node):
                yield from self.run(node.body)

    def enters(self, node: Guard | When | Pack) -> bool:
        if isinstance(node, When):
            return all(test.holds(self.position[test.cursor]) for test in node.tests)
        return not isinstance(node, Guard) or all(self.edges[node.when][name] for name in node.loops)

    def loop(self, loop: Loop) -> Iterator[None]:
        left, position = dict(self.left), dict(self.position)
        for number in range(loop.trips):
            if self.iteration(loop, number):
                yield from self.run(loop.body)
            self.left, self.position = dict(left), dict(position)

    def parallel(self, outermost: Loop) -> Iterator[None]:
        """Run this thread's iterations of a parallel loop, or of a loop that a dimension of the grid shares."""
        loops, body = parallel_loops(outermost)
        left, position = dict(self.left), dict(self.position)
        for number in self.own(loops):
            rest = math.prod(loop.trips for loop in loops)
            for loop in loops:
                rest //= loop.trips
                index, number = divmod(number, rest)
                if not self.iteration(loop, index):
                    break
            else:
                yield from self.run(body)
            self.left, self.position = dict(left), dict(position)

    def own(self, loops: Sequence[Loop]) -> Iterator[int]:
        ways, total = loops[0].ways, math.prod(loop.trips for loop in loops)
        if ways is not None:
            yield from ways.share(total, self.team.coordinate(self.thread, ways.dimension))
            return
        for piece in self.team.clause.share(total, self.thread, self.team.threads):
            yield from piece

    def iteration(self, loop: Loop, number: int) -> bool:
        """Go to an iteration of a loop; say whether there is one: what encloses the loop may end before."""
        left = self.left.get(loop.axis, loop.span)
        covered, index = min(loop.span, left), number * loop.step
        if index >= covered:
            return False
        self.left[loop.axis] = min(left - index, loop.step)
        self.index[loop.name] = index
        self.edges[Iteration.FIRST][loop.name] = index == 0
        self.edges[Iteration.LAST][loop.name] = index + loop.step >= covered
        for buffer, delta in loop.advances:
            self.position[buffer] += number * delta
        for carry in loop.carries:
            self.position[carry.buffer] += number // carry.every * carry.delta
        return True

    def dtype(self, access: Access) -> DType:
        """Return the type of the elements that an access finds."""
        return access.dtype or self.dtypes[access.buffer]

    def memory(self, access: Access) -> Memory:
        """Return the memory that an access reaches, as elements of the type that it finds there."""
        memory = self.memories[access.buffer]
        return memory if access.dtype is None else replace(memory, elements=memory.elements.view(access.dtype.name))

    def call(self, call: Call) -> None:
        sizes = [self._size(block) for block in call.blocks]
        if call.pair is not None:
            self.pairs(call, sizes)
            return
        if call.group > 1:
            self.call_on_groups(call, sizes)
            return
        if call.offsets:
            self.call_on_list(call, sizes)
            return
        *inputs, output = (
            self.memory(access).view(sizes, access.strides, self.position[access.buffer] + access.offset)
            for access in call.accesses
        )
        dtypes = [self.dtype(access) for access in call.accesses]
        computed = promoted(*dtypes).accumulate
        values = [widened(value, dtype, computed) for value, dtype in zip(inputs, dtypes)]
        values = [np.conj(value) if sign else value for value, sign in zip(values, (*call.conjugated, False))]
        if call.primitive.is_contraction:
            term = values[0] if len(values) == 1 else values[0] * values[1]
            zero = call.starts is not None and all(self.edges[Iteration.FIRST][name] for name in call.starts)
            output = output[:, :, 0, 0] if 0 not in sizes[2:] else self._kept(call, sizes)
            result = _sum(term, (2, 3))
            result = result if zero else widened(output, dtypes[-1], computed) + result
        elif call.primitive.is_binary:
            result = _BINARY[call.primitive](values[0], values[1])
        else:
            result = _UNARY[call.primitive](values[0] if values else widened(output, dtypes[-1], computed))
        output[...] = narrowed(result, dtypes[-1])

    def call_on_list(self, call: Call, sizes: list[int]) -> None:
        """Multiply matrices that lie where the call says, and add all products to the output."""
        output, dtype = self._kept(call, sizes), self.dtype(call.accesses[-1])
        zero = call.starts is not None and all(self.edges[Iteration.FIRST][name] for name in call.starts)
        total: Array = np.zeros_like(widened(output, dtype)) if zero else widened(output, dtype)
        for offsets in call.offsets:
            a, b = (
                widened(
                    self.memories[access.buffer].view(
                        sizes[:3], access.strides[:3], self.position[access.buffer] + offset
                    ),
                    self.dtypes[access.buffer],
                )
                for access, offset in zip(call.accesses, offsets)
            )
            total = total + _sum(a * b, (2,))
        output[...] = narrowed(total, dtype)

    def call_on_groups(self, call: Call, sizes: list[int]) -> None:
        """Multiply or copy groups of neighbours along k; what is behind the last one in its group is 0."""
        dtypes = [self.dtype(access) for access in call.accesses]
        if not call.primitive.is_contraction:
            source, target = call.accesses
            copied = self._groups(target, sizes, 1, call.group)
            padded: Array = np.zeros((sizes[0], copied.shape[1] * call.group), wide_type(dtypes[0]))
            values = self.memories[source.buffer].view(sizes, source.strides, self.position[source.buffer])
            padded[:, : sizes[1]] = widened(values, dtypes[0])
            copied[...] = narrowed(padded.reshape(copied.shape), dtypes[1])
            return
        computed = dtypes[-1].accumulate
        zero = call.starts is not None and all(self.edges[Iteration.FIRST][name] for name in call.starts)
        output = self._kept(call, sizes)
        total: Array = np.zeros(output.shape, wide_type(computed))
        single = [*sizes[:3], 1] if call.offsets else sizes
        for offsets in call.offsets or ((0, 0),):
            a, b = (
                widened(self._groups(access, single, 2, call.group, offset), dtype, computed)
                for access, dtype, offset in zip(call.accesses, dtypes, offsets)
            )
            total = total + _sum(a * b, (2, 3, 4))
        output[...] = narrowed(total if zero else widened(output, dtypes[-1]) + total, dtypes[-1])

    def _groups(self, access: Access, sizes: list[int], axis: int, group: int, offset: int = 0) -> Array:
        """The block of an access whose axis number `axis` counts elements in groups; its last axis is the group."""
        extents = [*sizes[:axis], -(-sizes[axis] // group), *sizes[axis + 1 :], group]
        place = self.position[access.buffer] + offset
        return self.memories[access.buffer].view(extents, (*access.strides, 1), place)

    def pairs(self, call: Call, sizes: list[int]) -> None:
        """Copy elements of two parts."""
        assert call.pair is not None
        source, target = (
            self.memories[access.buffer].view(
                [*sizes, 2], [*access.strides, 1], self.position[access.buffer] + access.offset
            )
            for access in call.accesses
        )
        for part, turned in enumerate(call.pair):
            target[..., part] = source[..., turned.part] * (-1 if turned.negative else 1)

    def _size(self, block: Block) -> int:
        if block.axis is None:
            return block.elements(block.size)
        return block.elements(min(block.size, self.left.get(block.axis, block.size)))

    def _kept(self, call: Call, sizes: list[int]) -> Array:
        access = call.accesses[-1]
        return self.memory(access).view(sizes[:2], access.strides[:2], self.position[access.buffer])
