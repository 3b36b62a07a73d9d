"""Turning: complex numbers as small real matrices that multiply like them, so that real products compute complex ones.

A product of complex numbers a b is a product of reals: the parts of b times a matrix of the parts of a, two by two
(Van Zee, Inducing complex matrix multiplication via the 1m method, 2020, format 1e). `turn` writes these matrices: its
last axis is the part of the result, the one before it the part of b that is multiplied.

    turn              re im | -im  re      a b
    turn_conjugate    re -im | im  re      conj(a) b
    turn_beside       re im |  im -re      a conj(b)
    turn_both         re -im | -im -re     conj(a b)

Conjugation is in the signs, and costs nothing. Infinite parts give what products and sums of the parts give.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from einloom.dtypes import FLOAT32
from einloom.ir.blocks import cut
from einloom.ir.nest import Access, Block, Buffer, Call, Guard, Iteration, Loop, Nest, Node
from einloom.ir.operation import TURNS, Operation, Primitive, Turned
from einloom.ir.schedule import ExecType

if TYPE_CHECKING:
    from einloom.ir.schedule import Schedule

__all__ = ["turned_nest"]


def turned_nest(operation: Operation, schedule: Schedule) -> Nest:
    """Return the nest of an operation that turns: blocks are copied part by part, with the signs of the parts.

    The schedule has no packs, and leaves the last two axes alone.
    """
    return _Binder(operation, schedule).nest()


class _Binder:
    """Working state of one `turned_nest`."""

    def __init__(self, operation: Operation, schedule: Schedule) -> None:
        self.operation, self.schedule = operation, schedule
        *_, self.term, self.part = operation.axes
        self.source, self.target = operation.operands

    def nest(self) -> Nest:
        operation = self.operation
        buffers = tuple(Buffer(operand.name, operand.dtype) for operand in operation.operands)
        empty = any(axis.extent == 0 for axis in operation.axes)
        return Nest(operation, operation.axes, buffers, () if empty else self._nodes(0))

    def _nodes(self, depth: int) -> tuple[Node, ...]:
        if depth == len(self.schedule.loops):
            pieces = TURNS[self.operation.main]
            if self._moves_pairs():
                return self._pair(0, pieces[:2]), self._pair(1, pieces[2:])
            return tuple(self._piece(*divmod(number, 2), turned) for number, turned in enumerate(pieces))
        loop = self.schedule.loops[depth]
        span, *shorter = self._lengths(loop.axis, depth)
        step = min(loop.step, span)
        moves = tuple((o.name, step * self.operation.stride(o, loop.axis)) for o in self.operation.operands)
        name = f"{loop.axis}.{depth}"
        return (Loop(name, loop.axis, loop.kind, step, span, tuple(shorter), moves, self._nodes(depth + 1)),)

    def _lengths(self, axis: str, depth: int) -> tuple[int, ...]:
        lengths: tuple[int, ...] = (self.operation.axis(axis).extent,)
        for loop in self.schedule.loops[:depth]:
            if loop.axis == axis:
                lengths = cut(lengths, loop.step)
        return lengths

    def _moves_pairs(self) -> bool:
        """Whether both parts of an element lie side by side in the result too, and make one of 8 bytes."""
        return self.operation.stride(self.target, self.part.name) == 1 and self.target.dtype == FLOAT32

    def _pair(self, term: int, pair: tuple[Turned, ...]) -> Node:
        """Copy both parts of every element to a row of its matrix."""
        first, second = pair
        call = replace(self._copy(Primitive.IDENTITY), pair=(first, second))
        return self._moved(
            f"{term}", {self.target.name: term * self.operation.stride(self.target, self.term.name)}, call
        )

    def _piece(self, term: int, part: int, turned: Turned) -> Node:
        """Copy one part of every element to one place of its matrix."""
        stride = self.operation.stride
        moves = {
            self.source.name: turned.part * stride(self.source, self.part.name),
            self.target.name: term * stride(self.target, self.term.name) + part * stride(self.target, self.part.name),
        }
        call = self._copy(Primitive.NEGATE if turned.negative else Primitive.IDENTITY)
        return self._moved(f"{term}{part}", moves, call)

    def _copy(self, primitive: Primitive) -> Call:
        along = (self.schedule.prims.m, self.schedule.prims.n)
        accesses = tuple(
            Access(o.name, tuple(0 if axis is None else self.operation.stride(o, axis) for axis in along))
            for o in self.operation.operands
        )
        return Call(primitive, tuple(self._block(axis) for axis in along), accesses)

    def _moved(self, which: str, moves: dict[str, int], call: Call) -> Node:
        """Return a call at so many elements behind the buffers' positions: the second turn of a loop of two."""
        if not any(moves.values()):
            return call
        name = f"{self.term.name}.{which}"
        body = (Guard(Iteration.LAST, (name,), (call,)),)
        return Loop(name, self.term.name, ExecType.SEQ, 1, 2, (), tuple(moves.items()), body)

    def _block(self, axis: str | None) -> Block:
        if axis is None:
            return Block(None, 1)
        size, *tails = self._lengths(axis, len(self.schedule.loops))
        return Block(axis, size, tuple(tails))
