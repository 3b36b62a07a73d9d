"""Copies past the caches: each column of B is written in whole, aligned cache lines by non-temporal stores.

An ordinary store to memory reads the line first; a non-temporal one does not, but it must fill whole lines. Where a
column begins is known at run time only: what lies before its first whole line and behind its last one is stored as
usual, under a mask of bytes where there are such masks, else in steps of 32, 16, 8, … bytes. Memory takes parts of
lines from non-temporal stores one by one, 50 to 80 ns each. An ordinary store fetches the line first, and later ones
wait for it: so the line is asked for before. Where a column begins and ends between lines nothing is: lines that are
written whole would be read in vain.

Transposed copies: see `stream_turned`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Generic

from einloom.kernels.elementwise.columns import Block
from einloom.kernels.elementwise.lines import LINE, Lines
from einloom.kernels.elementwise.stream_turned import Turned, TurnedStream
from einloom.kernels.elementwise.unary import emit_unary
from einloom.kernels.specs import Stream, Unary, signature
from einloom.kernels.verbs.frame import leaf_frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import KernelMachine, V

__all__ = ["emit_stream"]


def emit_stream(km: KernelMachine[R, V, A], spec: Stream) -> None:
    """Emit the function of a spec at the current position; its arguments are `signature(spec)`.

    What has no long runs, and what is transposed within the caches, is copied as usual, but in the order of B: what is
    left of its lines is written before the caches lose them.
    """
    if spec.a == spec.b == (1, spec.m):
        spec = replace(spec, m=spec.m * spec.n, n=1)
    if spec.a[0] == 1 and spec.b[0] == 1 and spec.m * spec.dtype.size >= LINE and spec.n > 0:
        _Columns(km, spec).emit()
    elif spec.far and (turned := Turned.of(spec)):
        TurnedStream(km, spec, turned).emit()
    else:
        emit_unary(km, Unary("identity", spec.dtype, spec.m, spec.n, a=spec.a, b=spec.b), writes_in_order=True)


class _Columns(Generic[R, V, A]):
    """One run of the generator for contiguous columns."""

    def __init__(self, km: KernelMachine[R, V, A], spec: Stream) -> None:
        self.km, self.n = km, spec.n
        self.size = spec.m * spec.dtype.size
        block = Block(spec.m, spec.n, {"a": spec.a, "b": spec.b})
        self.matrices, self.constants, _ = block.matrices(spec.dtype.size, km.reach)
        self.frame = leaf_frame(km, signature(spec), ["a", "b", *Lines.variables], ["n", *self.constants])
        self.lines = Lines(km, self.frame, spec.unit)

    def emit(self) -> None:
        self.frame.enter()
        self.frame.set_strides(self.constants, {})
        with self.frame.loop(self.n, "n"):
            self._column()
            if self.n > 1:
                for matrix in self.matrices:
                    self.frame.advance(matrix.name, matrix.strides[1], 1)
        self.lines.finish()
        self.frame.leave()

    def _column(self) -> None:
        self.km.move(self.lines.source, self.frame.read("a"))
        self.km.move(self.lines.target, self.frame.read("b"))
        self.lines.ask_if_cut(self.lines.target, self.size)
        self.lines.up_to_first()
        self.km.sum_constant(self.lines.end, self.frame.read("b"), self.size)
        self.lines.whole()
        self.lines.up_to_end()
