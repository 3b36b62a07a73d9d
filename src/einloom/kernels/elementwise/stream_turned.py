"""Transposed copies past the caches: blocks are turned in registers, joined in L1, and leave it in whole lines.

A transposed block of registers is a line wide at most, and where lines of B begin is known at run time only. So blocks
go to a buffer in the frame first, as long runs of B as it holds; these leave in whole lines, as columns do (`stream`).
What a buffer has behind its last whole line waits in front of it for what comes next.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, NamedTuple

from einloom.kernels.elementwise.columns import Block, Matrix
from einloom.kernels.elementwise.lines import LINE, Lines
from einloom.kernels.elementwise.transposition import Blocks
from einloom.kernels.parts import parts
from einloom.kernels.specs import Stream, signature
from einloom.kernels.verbs.frame import leaf_frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import KernelMachine, V

__all__ = ["SHORTEST", "Turned", "TurnedStream"]

ROOM = 16 * 1024
"""Bytes of the buffer, about: L1 has room for it beside what is read and the lines that leave."""

ROWS = 16
"""Rows of B at a time: as many as the widest vectors have lanes."""

SHORTEST = LINE
"""Bytes of the shortest runs of B that are joined: shorter ones have no whole line. Those of a line or two may have
none either; but their lines have been asked for before they are written, which stores from registers wait for."""

COUNTERS = ("m", "n", "rows", "chunks", "runs")


class Turned(NamedTuple):
    """A transposed copy: A contiguous along m, B along n.

    Attributes:
        block: sizes and strides.
        joined: whether rows of B follow each other: they are one run.
        element: bytes of an element.
    """

    block: Block
    joined: bool
    element: int

    @staticmethod
    def of(spec: Stream) -> Turned | None:
        """Return a spec's transposed copy; None: it is none, or its runs are too short."""
        block = Block(spec.m, spec.n, {"a": spec.a, "b": spec.b})
        block = block if spec.a[0] == 1 else block.exchanged()
        (across, _), (row, along) = block.strides["a"], block.strides["b"]
        if min(block.m, block.n) < 2 or across != 1 or along != 1:
            return None
        joined = row == block.n
        run = block.n * spec.dtype.size * (block.m if joined else 1)
        return Turned(block, joined, spec.dtype.size) if run >= SHORTEST else None


class _Chunk(NamedTuple):
    """Equal parts of all runs that pass the buffer one after the other: how long, how many, and which they are."""

    length: int
    times: int
    first: bool
    last: bool


class TurnedStream(Generic[R, V, A]):
    """One run of the generator.

    Rows that follow each other are one run, of which the buffer holds some rows at a time; others are runs of their
    own, of which it holds parts, side by side.
    """

    def __init__(self, km: KernelMachine[R, V, A], spec: Stream, turned: Turned) -> None:
        self.km, self.vec = km, km.copies(spec.dtype)
        self.block, self.element = turned.block, turned.element
        self.row = self.block.n * self.element
        self.joined = turned.joined and ROWS * self.row <= 2 * ROOM
        rows = max(ROOM // self.row // ROWS, 1) * ROWS
        self.rows = min(rows if self.joined else ROWS, self.block.m)
        part = ROOM // ROWS - LINE
        self.piece = self.rows * self.row if self.joined else min(self.row, part)
        self.apart = self.piece + LINE
        pieces = 1 if self.joined else self.rows
        (a, b), self.constants, _ = self.block.matrices(self.element, km.reach)
        self.a, self.b = a, b
        hot, cold = ["a", "into", *Lines.variables], ["b", "piece", "run", "buffer", *COUNTERS, *self.constants]
        self.frame = leaf_frame(km, signature(spec), hot, cold, 2 * LINE + pieces * self.apart)
        self.lines = Lines(km, self.frame, spec.unit)

    def emit(self) -> None:
        """Emit the function."""
        frame = self.frame
        frame.enter()
        frame.set_strides(self.constants, {})
        with frame.assigned("buffer") as register:  # A line before it is free.
            self.km.slot_address(register, 2 * LINE - 1)
            self.km.align_down(register, LINE)
        if self.joined:
            self._chunks(self.block.m, self.rows)
        else:
            for rows, count in parts(self.block.m, self.rows):
                with frame.loop(count, "rows"):
                    self._chunks(self.block.n, self.piece // self.element, rows)
                    frame.advance("a", self.a.strides[1], -self.block.n)
                    frame.advance("a", self.a.strides[0], rows)
                    frame.advance("b", self.b.strides[1], -self.block.n)
                    frame.advance("b", self.b.strides[0], rows)
        self.vec.finish()
        frame.leave()

    def _chunks(self, length: int, step: int, rows: int = 0) -> None:
        """Emit all chunks of some rows: of all that follow each other, along m, else along n."""
        for chunk in _cut(length, step):
            with self.frame.loop(chunk.times, "chunks"):
                m, n = (chunk.length, self.block.n) if self.joined else (rows, chunk.length)
                size, runs = (m * n * self.element, 1) if self.joined else (n * self.element, m)
                self._ask_for_ends(size, runs, chunk)
                self._turn(m, n)
                self.frame.copy("piece", "buffer")
                self.frame.copy("run", "b")
                with self.frame.loop(runs, "runs"):
                    self._leave(size, chunk)
                    self.frame.add("piece", self.apart)
                    self.frame.advance("run", self.b.strides[0], 1)
                self.frame.add("b", size)

    def _ask_for_ends(self, size: int, runs: int, chunk: _Chunk) -> None:
        """Ask for the lines in which runs begin and end, to be written in part once they are turned."""
        edges = [0] * chunk.first + [size] * chunk.last
        if edges:
            self.frame.copy("run", "b")
            with self.frame.loop(runs, "runs"):
                for edge in edges:
                    self.lines.ask_if_cut(self.frame.read("run"), edge)
                self.frame.advance("run", self.b.strides[0], 1)

    def _turn(self, m: int, n: int) -> None:
        """Transpose a part of A into the buffer; its pointer ends where the next part begins."""
        self.frame.copy("into", "buffer")
        row = self.row if self.joined else self.apart
        into, verbs = Matrix("into", (row, self.element), self.element), (self.vec, self.vec, self.vec)
        Blocks(self.km, verbs, self.frame, (m, n), self.a, into, _as_it_is, writes_in_order=self.joined).emit()

    def _leave(self, size: int, chunk: _Chunk) -> None:
        """Let whole lines leave the buffer, at the ends of the run parts of lines as well."""
        km, lines, frame = self.km, self.lines, self.frame
        km.move(lines.target, frame.read("run"))
        km.sum_constant(lines.end, lines.target, size)
        km.move(lines.source, frame.read("piece"))
        if chunk.first:
            lines.up_to_first()
        else:
            km.move(lines.rest, lines.target)
            km.align_down(lines.target, LINE)
            km.subtract(lines.rest, lines.target)
            km.subtract(lines.source, lines.rest)
        lines.whole()
        if chunk.last:
            lines.up_to_end()
        else:
            lines.move_line(frame.read("piece"), size - LINE, -LINE)


def _cut(length: int, step: int) -> Iterator[_Chunk]:
    """Yield the chunks of a length: the first, those between, the last."""
    count = -(-length // step)
    if count == 1:
        yield _Chunk(length, 1, first=True, last=True)
        return
    yield _Chunk(step, 1, first=True, last=False)
    if count > 2:
        yield _Chunk(step, count - 2, first=False, last=False)
    yield _Chunk(length - (count - 1) * step, 1, first=False, last=True)


def _as_it_is(inputs: list[V], free: list[V]) -> V:
    return inputs[0]
