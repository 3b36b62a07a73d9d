"""Copies past the caches whose whole lines leave later, while kernels compute (`contraction/leaving.py`).

Stores past the caches wait for memory, one after the other; a kernel that follows a burst of them waits as well, once
all is full that holds stores. So a block is noted here, and its whole lines leave while the next one is computed. What
has not left by then does so here, and the parts of lines at the ends of the block, which were asked for meanwhile.

What is noted, in words: where the next whole line is, where it goes, where the last one ends; where the block is, where
it goes, where it ends.
"""

from __future__ import annotations

from typing import Generic

from einloom.asm import Label
from einloom.kernels.elementwise.lines import LINE, Lines
from einloom.kernels.specs import LeaveBehind, signature
from einloom.kernels.verbs.frame import leaf_frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import KernelMachine, V

__all__ = ["WORDS", "emit_leave_behind"]

WORD = 8
"""Bytes of an address."""

WORDS = 6
SOURCE, TARGET, END, BLOCK, BEGIN, STOP = range(0, WORDS * WORD, WORD)
"""How many words there are, and where each is."""


def emit_leave_behind(km: KernelMachine[R, V, A], spec: LeaveBehind) -> None:
    """Emit the function of a spec at the current position; its arguments are `signature(spec)`."""
    _Leave(km, spec).emit()


class _Leave(Generic[R, V, A]):
    """One run of the generator."""

    def __init__(self, km: KernelMachine[R, V, A], spec: LeaveBehind) -> None:
        self.km, self.size = km, spec.m * spec.dtype.size
        self.frame = leaf_frame(km, signature(spec), ["a", "b", "leaving", *Lines.variables], [])
        self.lines = Lines(km, self.frame, spec.dtype.size)
        self.a, self.b, self.noted = (self.frame.read(name) for name in ("a", "b", "leaving"))

    def emit(self) -> None:
        none = self.km.asm.forward("none")
        self.frame.enter()
        self._load(self.lines.target, BEGIN)
        self.km.branch("eq", self.lines.target, 0, none)
        self._finish_block()
        self.km.asm.bind(none)
        if self.size:
            self._note_block()
        self.lines.finish()
        self.frame.leave()

    def _load(self, register: R, word: int) -> None:
        self.km.load(register, self.noted, word)

    def _finish_block(self) -> None:
        """Let leave what is left of the block before, and the parts of lines at its ends."""
        km, lines = self.km, self.lines
        for register, word in ((lines.source, SOURCE), (lines.target, TARGET), (lines.end, END)):
            self._load(register, word)
        lines.whole()
        self._load(lines.source, BLOCK)
        self._load(lines.target, BEGIN)
        lines.up_to_first()
        self._load(lines.rest, BEGIN)
        self._load(lines.target, END)
        self._load(lines.source, BLOCK)
        self._load(lines.end, STOP)
        km.subtract(lines.source, lines.rest)
        km.add(lines.source, lines.target)
        lines.up_to_end()

    def _note_block(self) -> None:
        """Note the block at hand, and ask for the lines of which it has a part."""
        km, lines = self.km, self.lines
        first, last = km.asm.forward("first"), km.asm.forward("last")
        km.sum_constant(lines.target, self.b, LINE - 1)
        km.align_down(lines.target, LINE)
        km.sum_constant(lines.rest, self.b, self.size)
        for register, word in ((self.a, BLOCK), (self.b, BEGIN), (lines.target, TARGET), (lines.rest, STOP)):
            km.store(self.noted, word, register)
        km.move(lines.source, self.a)
        km.subtract(lines.source, self.b)
        km.add(lines.source, lines.target)
        km.store(self.noted, SOURCE, lines.source)
        self._ask_unless_same(lines.target, self.b, 0, first)
        km.move(lines.end, lines.rest)
        km.align_down(lines.end, LINE)
        km.store(self.noted, END, lines.end)
        self._ask_unless_same(lines.end, lines.rest, -1, last)

    def _ask_unless_same(self, whole: R, end: R, offset: int, done: Label) -> None:
        """Ask for the line at one end of the block, if a whole line does not begin or end there."""
        self.km.branch("eq", whole, end, done)
        self.km.prefetch(self.km.place(end, offset))
        self.km.asm.bind(done)
