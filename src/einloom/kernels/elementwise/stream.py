"""Copies past the caches: each column of B is written in whole, aligned cache lines by non-temporal stores.

An ordinary store to memory reads the line first; a non-temporal one does not, but it must fill whole lines. Where a
column begins is known at run time only: what lies before its first whole line and behind its last one goes in steps of
32, 16, 8, … bytes. Those are non-temporal too: columns often follow each other, and the processor joins two parts of a
line. An ordinary store would fetch the line first, and every later store would wait for it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Generic

from einloom.dtypes import FLOAT32
from einloom.kernels.elementwise.columns import Block
from einloom.kernels.elementwise.unary import emit_unary
from einloom.kernels.specs import Stream, Unary, signature
from einloom.kernels.verbs.frame import leaf_frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import KernelMachine, V

__all__ = ["emit_stream"]

LINE = 64
"""Bytes that non-temporal stores should fill at once."""

UNROLLED = 4
"""Lines that one iteration copies."""


def emit_stream(km: KernelMachine[R, V, A], spec: Stream) -> None:
    """Emit the function of a spec at the current position; its arguments are `signature(spec)`.

    Columns that are not contiguous, or shorter than a line, are copied as usual, but in the order of B: what is left of
    its lines is written before the caches lose them.
    """
    if spec.a == spec.b == (1, spec.m):
        spec = replace(spec, m=spec.m * spec.n, n=1)
    if spec.a[0] != 1 or spec.b[0] != 1 or spec.m * spec.dtype.size < LINE or spec.n == 0:
        emit_unary(km, Unary("identity", spec.dtype, spec.m, spec.n, a=spec.a, b=spec.b), writes_in_order=True)
        return
    _Columns(km, spec).emit()


class _Columns(Generic[R, V, A]):
    """One run of the generator."""

    def __init__(self, km: KernelMachine[R, V, A], spec: Stream) -> None:
        self.km, self.n = km, spec.n
        self.vec = km.vectors(FLOAT32)  # Lines are lines, whatever they hold.
        self.element = spec.dtype.size
        self.size, self.vector = spec.m * self.element, self.vec.lanes * FLOAT32.size
        block = Block(spec.m, spec.n, {"a": spec.a, "b": spec.b})
        self.matrices, self.constants, _ = block.matrices(spec.dtype.size, km.reach)
        variables = ("source", "target", "end", "rest")
        self.frame = leaf_frame(km, signature(spec), ["a", "b", *variables], ["n", *self.constants])
        self.source, self.target, self.end, self.rest = (self.frame.read(name) for name in variables)

    def emit(self) -> None:
        self.frame.enter()
        self.frame.set_strides(self.constants, {})
        with self.frame.loop(self.n, "n"):
            self._column()
            if self.n > 1:
                for matrix in self.matrices:
                    self.frame.advance(matrix.name, matrix.strides[1], 1)
        self.vec.finish()
        self.frame.leave()

    def _column(self) -> None:
        """Copy up to the first whole line, the whole lines, and what is left."""
        km = self.km
        km.move(self.source, self.frame.read("a"))
        km.move(self.target, self.frame.read("b"))
        km.sum_constant(self.rest, self.target, LINE - 1)
        km.align_down(self.rest, LINE)
        km.subtract(self.rest, self.target)
        self._part_of_a_line()
        km.sum_constant(self.end, self.frame.read("b"), self.size)
        for lines in (UNROLLED, 1):
            self._lines(lines * LINE)
        km.move(self.rest, self.end)
        km.subtract(self.rest, self.target)
        self._part_of_a_line()

    def _part_of_a_line(self) -> None:
        """Copy `rest` bytes, fewer than a line."""
        km = self.km
        sizes = (1 << bit for bit in reversed(range(LINE.bit_length() - 1)))
        for size in (size for size in sizes if size >= self.element):
            skip = km.asm.forward("shorter")
            km.branch("lt", self.rest, size, skip)
            km.stream_part(self.target, self.source, size)
            self._move_on(size)
            km.add_constant(self.rest, -size)
            km.asm.bind(skip)

    def _lines(self, step: int) -> None:
        """Copy so many bytes at a time while they fit before the end."""
        km = self.km
        top, done = km.asm.forward("lines"), km.asm.forward("rest")
        km.add_constant(self.end, -step)
        km.branch("gt", self.target, self.end, done)
        km.asm.bind(top)
        self._whole_lines(step)
        self._move_on(step)
        km.branch("le", self.target, self.end, top)
        km.asm.bind(done)
        km.add_constant(self.end, step)

    def _whole_lines(self, size: int) -> None:
        km, vec = self.km, self.vec
        places = range(0, size, self.vector)
        for register, place in zip(vec.registers, places):
            vec.load(register, km.place(self.source, place))
        for register, place in zip(vec.registers, places):
            vec.store(km.place(self.target, place), register, nontemporal=True)

    def _move_on(self, size: int) -> None:
        self.km.add_constant(self.source, size)
        self.km.add_constant(self.target, size)
