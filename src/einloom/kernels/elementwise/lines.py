"""`Lines`: the code that copies a run past the caches: up to its first whole line, the whole lines, what is left."""

from __future__ import annotations

from typing import Generic

from einloom.dtypes import FLOAT32
from einloom.kernels.verbs.frame import Frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import KernelMachine, V

__all__ = ["LINE", "Lines"]

LINE = 64
"""Bytes that non-temporal stores should fill at once."""

UNROLLED = 4
"""Lines that one iteration copies."""


class Lines(Generic[R, V, A]):
    """Pieces of a copy from `source` to `target`, which move on; a run ends at `end`.

    Args:
        km: emits the code.
        frame: has the `variables` in registers.
        unit: what the addresses that it writes to are multiples of, in bytes.
    """

    variables = ("source", "target", "end", "rest")

    def __init__(self, km: KernelMachine[R, V, A], frame: Frame[R, A], unit: int) -> None:
        self.km, self.unit = km, unit
        self.vec = km.vectors(FLOAT32)  # Lines are lines, whatever they hold.
        self.vector = self.vec.lanes * FLOAT32.size
        self.source, self.target, self.end, self.rest = (frame.read(name) for name in self.variables)

    def ask_if_cut(self, run: R, edge: int) -> None:
        """Ask for the line in which a run begins (edge 0) or ends (its bytes), if it is to be written in part.

        Others would be read in vain: memory takes as long for it as for a line that is written.
        """
        km, whole = self.km, self.km.asm.forward("whole")
        km.sum_constant(self.end, run, edge)
        km.move(self.rest, self.end)
        km.align_down(self.rest, LINE)
        km.branch("eq", self.rest, self.end, whole)
        km.prefetch(km.place(self.rest))
        km.asm.bind(whole)

    def up_to_first(self) -> None:
        """Copy what lies before the first whole line."""
        km = self.km
        km.sum_constant(self.rest, self.target, LINE - 1)
        km.align_down(self.rest, LINE)
        km.subtract(self.rest, self.target)
        self._part_of_a_line(begins=False)

    def whole(self) -> None:
        """Copy whole lines while they fit before the end."""
        for lines in (UNROLLED, 1):
            self._lines(lines * LINE)

    def up_to_end(self) -> None:
        """Copy what is left, less than a line."""
        self.km.move(self.rest, self.end)
        self.km.subtract(self.rest, self.target)
        self._part_of_a_line(begins=True)

    def finish(self) -> None:
        """Leave the vector registers as other code expects them."""
        self.vec.finish()

    def _part_of_a_line(self, begins: bool) -> None:
        """Copy `rest` bytes, fewer than a line: those with which one begins, or those with which it ends."""
        if self.vec.copy_bytes is None:
            self._halves_of_a_line()
            return
        none = self.km.asm.forward("none")
        self.km.branch("eq", self.rest, 0, none)  # Else a line might be read of which nothing is written.
        if begins:
            self.vec.copy_bytes(self.target, self.source, self.rest, False)
        self.km.add(self.source, self.rest)
        self.km.add(self.target, self.rest)
        if not begins:
            self.vec.copy_bytes(self.target, self.source, self.rest, True)
        self.km.asm.bind(none)

    def _halves_of_a_line(self) -> None:
        """Copy `rest` bytes: half a line if there are so many, a quarter, and so on."""
        km = self.km
        sizes = (1 << bit for bit in reversed(range(LINE.bit_length() - 1)))
        for size in (size for size in sizes if size >= self.unit):
            skip = km.asm.forward("shorter")
            km.branch("lt", self.rest, size, skip)
            km.copy_part(self.target, self.source, size)
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
        self._copy(step, (self.source, 0), (self.target, 0), nontemporal=True)
        self._move_on(step)
        km.branch("le", self.target, self.end, top)
        km.asm.bind(done)
        km.add_constant(self.end, step)

    def move_line(self, base: R, source: int, target: int) -> None:
        """Copy a line between two offsets from a pointer, by ordinary stores to anywhere."""
        self._copy(LINE, (base, source), (base, target))

    def _copy(self, size: int, source: tuple[R, int], target: tuple[R, int], nontemporal: bool = False) -> None:
        km, vec = self.km, self.vec
        places = range(0, size, self.vector)
        for register, place in zip(vec.registers, places):
            vec.load(register, km.place(source[0], source[1] + place))
        for register, place in zip(vec.registers, places):
            vec.store(km.place(target[0], target[1] + place), register, nontemporal=nontemporal)

    def _move_on(self, size: int) -> None:
        self.km.add_constant(self.source, size)
        self.km.add_constant(self.target, size)
