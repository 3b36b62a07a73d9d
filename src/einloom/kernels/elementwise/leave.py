"""Copies past the caches whose whole lines leave later, while kernels compute (`contraction/leaving.py`).

Stores past the caches wait for memory, one after the other; a kernel that follows a burst of them waits as well, once
all is full that holds stores. So a block is noted here, and its whole lines leave while the next one is computed. What
has not left by then does so here, and the parts of lines at the ends of the block, which were asked for meanwhile.

What is noted, in words: where the next whole line is, where it goes, where the run's last one ends, how many runs have
not left, minus the bytes of a run's whole lines; where the block is, where it goes, where its first run ends, and how
many runs have parts of lines at their ends.
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

WORDS = 9
SOURCE, TARGET, END, RUNS, BACK, BLOCK, BEGIN, STOP, PARTS = range(0, WORDS * WORD, WORD)
"""How many words there are, and where each is."""


def emit_leave_behind(km: KernelMachine[R, V, A], spec: LeaveBehind) -> None:
    """Emit the function of a spec at the current position; its arguments are `signature(spec)`."""
    _Leave(km, spec).emit()


class _Leave(Generic[R, V, A]):
    """One run of the generator."""

    def __init__(self, km: KernelMachine[R, V, A], spec: LeaveBehind) -> None:
        self.km, self.size, self.runs, self.apart = km, spec.m * spec.dtype.size, spec.n, spec.apart
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
        """Let leave what is left of the block before, and the parts of lines at the ends of its runs."""
        km, lines = self.km, self.lines
        for register, word in ((lines.source, SOURCE), (lines.target, TARGET), (lines.end, END)):
            self._load(register, word)
        top, parts, done = km.asm.label("runs"), km.asm.forward("parts"), km.asm.forward("done")
        lines.whole()
        if self.apart:
            self._count_down(RUNS, 1, parts)
            self._load(lines.rest, BACK)
            for register, apart in zip((lines.source, lines.target, lines.end), (*self.apart, self.apart[1])):
                if register is not lines.end:
                    km.add(register, lines.rest)
                km.add_constant(register, apart)
            km.jump(top)
        km.asm.bind(parts)
        top = km.asm.label("parts of lines")
        self._count_down(PARTS, 0, done)
        self._parts()
        if self.apart:
            for word, apart in zip((BLOCK, BEGIN, STOP), (*self.apart, self.apart[1])):
                self._load(lines.rest, word)
                km.add_constant(lines.rest, apart)
                km.store(self.noted, word, lines.rest)
            km.jump(top)
        km.asm.bind(done)

    def _count_down(self, word: int, last: int, done: Label) -> None:
        """Take one of what a word counts, unless it is the last one."""
        self._load(self.lines.rest, word)
        self.km.branch("le", self.lines.rest, last, done)
        self.km.add_constant(self.lines.rest, -1)
        self.km.store(self.noted, word, self.lines.rest)

    def _parts(self) -> None:
        """Let leave the parts of lines at the ends of a run."""
        km, lines = self.km, self.lines
        self._load(lines.source, BLOCK)
        self._load(lines.target, BEGIN)
        lines.up_to_first()
        self._load(lines.rest, BEGIN)
        self._load(lines.end, STOP)
        self._load(lines.source, BLOCK)
        km.move(lines.target, lines.end)
        km.align_down(lines.target, LINE)
        km.subtract(lines.source, lines.rest)
        km.add(lines.source, lines.target)
        lines.up_to_end()

    def _note_block(self) -> None:
        """Note the block at hand, and ask for the lines of which it has a part."""
        km, lines = self.km, self.lines
        first, begin, end, stop = lines.target, self.b, lines.end, lines.rest
        km.sum_constant(first, begin, LINE - 1)
        km.align_down(first, LINE)
        km.sum_constant(stop, begin, self.size)
        km.move(end, stop)
        km.align_down(end, LINE)
        noted = ((self.a, BLOCK), (begin, BEGIN), (first, TARGET), (end, END), (stop, STOP))
        for register, word in noted:
            km.store(self.noted, word, register)
        km.move(lines.source, self.a)
        km.subtract(lines.source, begin)
        km.add(lines.source, first)
        km.store(self.noted, SOURCE, lines.source)
        self._note_runs()

    def _note_runs(self) -> None:
        """Note how many there are, and ask for parts of lines at their ends."""
        km, lines = self.km, self.lines
        first, begin, end, stop, count = lines.target, self.b, lines.end, lines.rest, lines.source
        km.move(count, first)
        km.subtract(count, end)
        km.store(self.noted, BACK, count)
        some, none, asked, whole = (km.asm.forward(name) for name in ("some", "none", "asked", "whole"))
        if self.apart and self.size < 2 * LINE:
            km.constant(count, 1)
            km.store(self.noted, RUNS, count)
            km.branch("eq", first, end, whole)  # No run has a whole line: there is none to go to.
        km.constant(count, self.runs)
        km.store(self.noted, RUNS, count)
        km.asm.bind(whole)
        km.constant(count, self.runs)
        km.branch("ne", first, begin, some)
        km.branch("eq", end, stop, none)
        km.asm.bind(some)
        km.store(self.noted, PARTS, count)
        with km.loop(self.runs, count):
            self._ask_unless_same(first, begin, 0)
            self._ask_unless_same(end, stop, -1)
            for register in (first, begin, end, stop) if self.apart else ():
                km.add_constant(register, self.apart[1])
        km.jump(asked)
        km.asm.bind(none)
        km.constant(count, 0)
        km.store(self.noted, PARTS, count)
        km.asm.bind(asked)

    def _ask_unless_same(self, whole: R, end: R, offset: int) -> None:
        """Ask for the line at one end of a run, if a whole line does not begin or end there."""
        done = self.km.asm.forward("asked")
        self.km.branch("eq", whole, end, done)
        self.km.prefetch(self.km.place(end, offset))
        self.km.asm.bind(done)
