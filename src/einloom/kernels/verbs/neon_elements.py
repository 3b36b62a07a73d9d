"""Rows of registers moved in pairs, and products with one lane of a register: Neon's way to do without broadcasts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from einloom.asm.aarch64.operands import Arranged, Lane, Lanes, Offset, mem, q, v
from einloom.kernels.verbs.abilities import ElementVerbs

if TYPE_CHECKING:
    from einloom.kernels.verbs.neon import NeonVectors
    from einloom.kernels.verbs.vector import Mask, Verb

__all__ = ["NeonElements", "lanes_of"]


class NeonElements(ElementVerbs[Arranged, Offset]):
    """See `ElementVerbs`."""

    def __init__(self, vec: NeonVectors) -> None:
        self.vec, self.asm = vec, vec.asm

    def load_row(self, registers: Sequence[Arranged], place: Offset, mask: Mask = None) -> None:
        self._move_row(self.asm.ldp, self.asm.ldr, self.asm.ld1, registers, place, mask)

    def store_row(self, place: Offset, registers: Sequence[Arranged], mask: Mask = None) -> None:
        self._move_row(self.asm.stp, self.asm.str, self.asm.st1, registers, place, mask)

    def _move_row(
        self, both: Verb, whole: Verb, lane: Verb, registers: Sequence[Arranged], place: Offset, mask: Mask
    ) -> None:
        """Move consecutive vectors two at a time where their address allows it."""
        place = self.vec.km.near_all(place, 16, len(registers))
        paired = len(registers) - (mask is not None)
        row = 0
        while row < len(registers):
            at = mem(place.base, place.offset + 16 * row)
            if row + 1 < paired and at.offset % 16 == 0 and -1024 <= at.offset < 1024:
                both(q[registers[row].number], q[registers[row + 1].number], at)
                row += 2
            else:
                self.vec.move(whole, lane, registers[row], at, None if row < paired else mask)
                row += 1

    def load_elements(self, dst: Arranged, place: Offset, count: int) -> list[Lane]:
        self.vec.load(dst, place, self.vec.mask(count))
        lanes = lanes_of(dst, self.vec.dtype.size)
        return [lanes[number] for number in range(count)]


def lanes_of(register: Arranged, size: int) -> Lanes:
    """Return the lanes of so many bytes of a register."""
    return v[register.number].s if size == 4 else v[register.number].d
