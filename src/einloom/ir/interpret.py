"""What operations and nests mean, in NumPy with float64 arithmetic. Everything generated is compared with this.

Operands are one-dimensional arrays of elements with the position of index 0 (an origin), so that any strides, negative
ones too, are plain numbers here as they are in machine code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from einloom.ir import meanings
from einloom.ir.nest import Block, Call, Guard, Loop, Nest, Node
from einloom.ir.operation import DimType, Operation, Primitive, Touch
from einloom.ir.statement import Barrier, Statement, run_statement

__all__ = ["Memory", "interpret", "interpret_nest"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Memory:
    """A one-dimensional array of elements and the position that index 0 of every axis has in it."""

    elements: Array
    origin: int = 0

    def view(self, extents: Sequence[int], strides: Sequence[int], position: int = 0) -> Array:
        """Return the elements at `origin + position + sum(i * stride)` as an array of the given extents.

        Raises:
            IndexError: an element lies outside the array.
        """
        if 0 in extents:
            return np.empty(tuple(extents), self.elements.dtype)
        offsets = [(extent - 1) * stride for extent, stride in zip(extents, strides)]
        start = self.origin + position
        low, high = start + sum(min(o, 0) for o in offsets), start + sum(max(o, 0) for o in offsets)
        if low < 0 or high >= len(self.elements):
            raise IndexError(f"elements {low} to {high} of a buffer of {len(self.elements)}")
        size = self.elements.itemsize
        base = self.elements[start:]
        return as_strided(base, tuple(extents), tuple(stride * size for stride in strides))


_UNARY = {primitive: meanings.UNARY[primitive.value] for primitive in Primitive if primitive.is_unary}
_BINARY = {primitive: meanings.BINARY[primitive.value] for primitive in Primitive if primitive.is_binary}


def interpret(operation: Operation, operands: Sequence[Memory]) -> None:
    """Compute the operation: writes the last operand. Arithmetic is float64 throughout."""
    extents = [axis.extent for axis in operation.axes]
    kept = [i for i, axis in enumerate(operation.axes) if axis.role is not DimType.K]
    view = operands[-1].view([extents[i] for i in kept], [operation.output.strides[i] for i in kept])
    inputs = [memory.view(extents, op.strides).astype(float) for memory, op in zip(operands, operation.inputs)]
    value = view.astype(float)
    extras = {
        position: memory.view([extents[i] for i in kept], [operation.operands[position].strides[i] for i in kept])
        for position, memory in enumerate(operands[:-1])
        if position >= len(operation.inputs)
    }
    value = _touched(operation.first_touch, value, extras)
    summed = tuple(i for i in range(len(extents)) if i not in kept)
    if operation.main.is_contraction:
        term = inputs[0] if len(inputs) == 1 else inputs[0] * inputs[1]
        value = value + term.sum(axis=summed)
    elif operation.main.is_binary:
        value = _BINARY[operation.main](*inputs)
    else:
        value = _UNARY[operation.main](inputs[0] if inputs else value)
    for touch in operation.last_touches:
        value = _touched(touch, value, extras)
    view[...] = value


def _touched(touch: Touch, value: Array, extras: dict[int, Array]) -> Array:
    """Return the output after a touch; one that writes its operand leaves the output as it is."""
    if touch.does_nothing:
        return value
    if touch.operand is None:
        return _UNARY[touch.primitive](value)
    extra = extras[touch.operand]
    if touch.writes:
        extra[...] = _UNARY[touch.primitive](value)
        return value
    if touch.primitive.is_binary:
        return _BINARY[touch.primitive](value, extra.astype(float))
    return _UNARY[touch.primitive](extra.astype(float))


def interpret_nest(nest: Nest, operands: Sequence[Memory]) -> None:
    """Run the nest as a code generator would: walk the tree, move positions, compute blocks."""
    memories = {operand.name: memory for operand, memory in zip(nest.operation.operands, operands)}
    for buffer in nest.buffers:
        if buffer.offset is not None:
            memories[buffer.name] = Memory(
                np.full(buffer.size, np.nan if buffer.dtype.epsilon else 0, buffer.dtype.name)
            )
    _NestRun(nest, memories).run(nest.body)


class _NestRun:
    """State of one run: positions of buffers, indices of loops, what is left of axes, first and last iterations."""

    def __init__(self, nest: Nest, memories: dict[str, Memory]) -> None:
        self.memories = memories
        self.position = dict.fromkeys(memories, 0)
        self.left = {axis.name: axis.extent for axis in nest.axes}
        self.edges: dict[str, dict[str, bool]] = {"first": {}, "last": {}}
        self.index: dict[str, int] = {}

    def run(self, nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            if isinstance(node, Loop):
                self.loop(node)
            elif isinstance(node, Call):
                self.call(node)
            elif isinstance(node, Statement):
                run_statement(node, self.memories, self.index)
            elif isinstance(node, Barrier):
                continue
            elif not isinstance(node, Guard) or all(self.edges[node.when][name] for name in node.loops):
                self.run(node.body)

    def loop(self, loop: Loop) -> None:
        left, position = self.left.get(loop.axis, loop.span), dict(self.position)
        covered = min(loop.span, left)
        for index in range(0, covered, loop.step):
            self.left[loop.axis] = min(left - index, loop.step)
            self.index[loop.name] = index
            self.edges["first"][loop.name] = index == 0
            self.edges["last"][loop.name] = index + loop.step >= covered
            self.run(loop.body)
            for buffer, delta in loop.advances:
                self.position[buffer] += delta
        self.left[loop.axis] = left
        self.position = position

    def call(self, call: Call) -> None:
        sizes = [self._size(block) for block in call.blocks]
        *inputs, output = (
            self.memories[access.buffer].view(sizes, access.strides, self.position[access.buffer])
            for access in call.accesses
        )
        values = [value.astype(float) for value in inputs]
        if call.primitive.is_contraction:
            term = values[0] if len(values) == 1 else values[0] * values[1]
            zero = call.starts is not None and all(self.edges["first"][name] for name in call.starts)
            output = output[:, :, 0, 0] if 0 not in sizes[2:] else self._kept(call, sizes)
            output[...] = (0 if zero else output) + term.sum(axis=(2, 3))
        elif call.primitive.is_binary:
            output[...] = _BINARY[call.primitive](values[0], values[1])
        else:
            output[...] = _UNARY[call.primitive](values[0] if values else output)

    def _size(self, block: Block) -> int:
        if block.axis is None:
            return block.unit * block.size
        return block.unit * min(block.size, self.left.get(block.axis, block.size))

    def _kept(self, call: Call, sizes: list[int]) -> Array:
        access = call.accesses[-1]
        return self.memories[access.buffer].view(sizes[:2], access.strides[:2], self.position[access.buffer])
