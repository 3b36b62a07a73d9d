"""The vector registers that an AArch64 function preserves: saved where it turns out to use them.

A callee preserves the lower halves of v8 to v15 (AAPCS64, section 6.1.2). Which of them a function uses is known at its
end only; so room for four instructions is left at its beginning, and filled in then.
"""

from __future__ import annotations

from itertools import chain
from typing import TypeGuard

from einloom.asm import Assembler
from einloom.asm.aarch64.operands import Arranged, Lane, Scalar, d, mem, sp
from einloom.asm.aarch64.scalable_operands import Scalable

__all__ = ["PreservedVectors"]

PAIRS = tuple((d[number], d[number + 1]) for number in range(8, 16, 2))


class PreservedVectors:
    """The place at the function's beginning, taken by making one, and what is stored there."""

    def __init__(self, asm: Assembler) -> None:
        self.asm = asm
        self._all = False
        self._record, self._position = len(asm.records), asm.size
        for _ in PAIRS:
            asm.nop()

    def bytes_below(self) -> int:
        """Return how far the stack pointer will have moved; from then on that is fixed, and all pairs are saved."""
        self._all = True
        return 16 * len(PAIRS)

    def restore(self) -> None:
        """Fill in the beginning, and undo it."""
        used = self._used()
        pairs = [pair for pair in PAIRS if self._all or not used.isdisjoint(each.number for each in pair)]
        size = 16 * len(pairs)
        for index, pair in enumerate(pairs):
            self.asm.stp(*pair, mem(sp, 16 * index) if index else mem(sp, -size).pre)
            self._move_last_to(index)
        for index, pair in reversed([*enumerate(pairs)]):
            self.asm.ldp(*pair, mem(sp, 16 * index) if index else mem(sp).post(size))

    def _used(self) -> set[int]:
        """Return the numbers of all vector registers of the function's instructions."""
        records = {id(record): record for record in self.asm.records[self._record :]}
        operands = chain.from_iterable(_parts(given) for _, given, _ in records.values())
        flat = chain.from_iterable(map(_parts, operands))
        return {one.number for one in flat if isinstance(one, Arranged | Scalar | Lane | Scalable)}

    def _move_last_to(self, index: int) -> None:
        """Put the instruction that was emitted last into the room instead."""
        record = self.asm.records.pop()
        del self.asm.buffer[-4:]
        self.asm.records[self._record + index] = record
        begin = self._position + 4 * index
        self.asm.buffer[begin : begin + 4] = record[2]


def _parts(operands: object) -> tuple[object, ...]:
    """Return several operands, or one alone."""
    return operands if _is_several(operands) else (operands,)


def _is_several(operands: object) -> TypeGuard[tuple[object, ...]]:
    return type(operands) is tuple
