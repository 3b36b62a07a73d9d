"""Copies past the caches: each column of B is written in whole, aligned cache lines by non-temporal stores.

An ordinary store to memory reads the line first; a non-temporal one does not, but it must fill whole lines. Where a
column begins is known at run time only: a first and a last vector, stored as usual, overlap the aligned ones between.
So B may not be A.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from einloom.kernels.elementwise import Block
from einloom.kernels.frame import Frame
from einloom.kernels.machine import KernelMachine
from einloom.kernels.specs import Stream, Unary, signature
from einloom.kernels.unary import emit_unary

__all__ = ["emit_stream"]

LINE = 64
"""Bytes that non-temporal stores should fill at once."""

UNROLLED = 4
"""Lines that one iteration copies."""


def emit_stream(km: KernelMachine, spec: Stream) -> None:
    """Emit the function of a spec at the current position; its arguments are `signature(spec)`.

    Columns that are not contiguous, or shorter than a line, are copied as usual.
    """
    if spec.a == spec.b == (1, spec.m):
        spec = replace(spec, m=spec.m * spec.n, n=1)
    if spec.a[0] != 1 or spec.b[0] != 1 or spec.m * spec.dtype.size < LINE or spec.n == 0:
        emit_unary(km, Unary("identity", spec.dtype, spec.m, spec.n, a=spec.a, b=spec.b))
        return
    _Columns(km, spec).emit()


class _Columns:
    """One run of the generator."""

    def __init__(self, km: KernelMachine, spec: Stream) -> None:
        self.km, self.n = km, spec.n
        self.vec: Any = km.vectors(spec.dtype)
        self.size, self.vector = spec.m * spec.dtype.size, self.vec.lanes * spec.dtype.size
        operands, constants, _ = Block(spec.m, spec.n, {"a": spec.a, "b": spec.b}).operands(spec.dtype.size, km.reach)
        self.operands, self.constants = operands, constants
        variables = ("source", "target", "end")
        self.frame = Frame(km, signature(spec), ["a", "b", *variables], ["n", *constants])
        self.source, self.target, self.end = (self.frame.read(name) for name in variables)

    def emit(self) -> None:
        self.frame.enter()
        self.frame.set_strides(self.constants, [], 1)
        with self.frame.loop(self.n, "n"):
            self._column()
            if self.n > 1:
                for operand in self.operands:
                    self.frame.advance(operand.name, operand.strides[1], 1)
        self.vec.finish()
        self.frame.leave()

    def _column(self) -> None:
        """Copy up to the first boundary, then whole lines, at last the end: the outer two overlap what lies between."""
        km = self.km
        aligned, done = km.asm.forward("aligned"), km.asm.forward("done")
        km.move(self.source, self.frame.read("a"))
        km.sum_constant(self.target, self.frame.read("b"), LINE - 1)
        km.align_down(self.target, LINE)
        km.branch("eq", self.target, self.frame.read("b"), aligned)
        self._copy(self.source, self.frame.read("b"), 0, LINE, nontemporal=False)
        km.asm.bind(aligned)
        km.sum_constant(self.end, self.frame.read("b"), self.size)
        km.subtract(self.source, self.frame.read("b"))  # How far A lies from B.
        km.add(self.source, self.target)
        for lines in (UNROLLED, 1):
            self._lines(lines * LINE)
        km.branch("eq", self.target, self.end, done)
        km.subtract(self.source, self.target)
        km.add(self.source, self.end)
        self._copy(self.source, self.end, -LINE, LINE, nontemporal=False)
        km.asm.bind(done)

    def _lines(self, step: int) -> None:
        """Copy so many bytes at a time while they fit before the end."""
        km = self.km
        top, done = km.asm.forward("lines"), km.asm.forward("rest")
        km.add_constant(self.end, -step)
        km.branch("gt", self.target, self.end, done)
        km.asm.bind(top)
        self._copy(self.source, self.target, 0, step, nontemporal=True)
        km.add_constant(self.source, step)
        km.add_constant(self.target, step)
        km.branch("le", self.target, self.end, top)
        km.asm.bind(done)
        km.add_constant(self.end, step)

    def _copy(self, source: Any, target: Any, offset: int, size: int, nontemporal: bool) -> None:
        km, vec = self.km, self.vec
        places = range(offset, offset + size, self.vector)
        for register, place in zip(vec.registers, places):
            vec.load(register, km.place(source, place))
        for register, place in zip(vec.registers, places):
            vec.store(km.place(target, place), register, nontemporal=nontemporal)
