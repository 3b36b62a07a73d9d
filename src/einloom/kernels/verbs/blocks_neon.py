"""Neon's products of matrices: two rows by two columns of 8 bytes (`i8mm`, `bf16`).

`bfmmla` adds the products of two pairs one after the other; a sum of two products and the sum that it is added to are
rounded to odd, by less than 2^-23 of it, and subnormals are taken for 0: k products lose (k + 2) 2^-24 of the sum of
their sizes at most, and k 2^-126, as `bfdot` does. Source: Arm Architecture Reference Manual, BFMMLA.
"""

from __future__ import annotations

from einloom.asm.aarch64.operands import Arranged, Offset, d, q, v
from einloom.dtypes import BFLOAT16_FOURS, INT8_EIGHTS, UINT8_EIGHTS, DType
from einloom.kernels.verbs.aarch64 import AArch64Machine
from einloom.kernels.verbs.abilities import BlockVerbs

__all__ = ["BLOCKS", "NeonBlocks"]

BLOCKS: dict[tuple[DType, DType], tuple[str, str]] = {
    (INT8_EIGHTS, INT8_EIGHTS): ("i8mm", "smmla"),
    (UINT8_EIGHTS, UINT8_EIGHTS): ("i8mm", "ummla"),
    (UINT8_EIGHTS, INT8_EIGHTS): ("i8mm", "usmmla"),
    (INT8_EIGHTS, UINT8_EIGHTS): ("i8mm", "usmmla"),
    (BFLOAT16_FOURS, BFLOAT16_FOURS): ("bf16", "bfmmla"),
}
"""Feature and instruction, by the types of rows and columns."""


class NeonBlocks(BlockVerbs[Arranged, Offset]):
    """See `BlockVerbs`. The first operand of `usmmla` is unsigned: signed rows change places with columns."""

    def __init__(self, km: AArch64Machine, types: tuple[DType, DType]) -> None:
        self.km, self.asm = km, km.asm
        self.instruction = getattr(km.asm, BLOCKS[types][1])
        self.turned = types == (INT8_EIGHTS, UINT8_EIGHTS)
        self.is_bytes = types[0].size == 1

    def load_one(self, dst: Arranged, place: Offset) -> None:
        self.asm.ldr(d[dst.number], self.km.near(place, 8))

    def load_other(self, dst: Arranged, place: Offset) -> None:
        self.asm.ld1((v[dst.number].d[1],), self.km.at(place))

    def load_both(self, dst: Arranged, place: Offset) -> None:
        self.asm.ldr(q[dst.number], self.km.near(place, 16))

    def multiply_add(self, sums: Arranged, rows: Arranged, columns: Arranged) -> None:
        first, second = (columns, rows) if self.turned else (rows, columns)
        self.instruction(sums, self._whole(first), self._whole(second))

    def _whole(self, register: Arranged) -> Arranged:
        return v[register.number].b16 if self.is_bytes else v[register.number].h8

    def part_columns(self, free: Arranged, upper: Arranged, lower: Arranged) -> None:
        if self.turned:
            whole = [v[register.number].d2 for register in (free, upper, lower)]
            self.asm.zip1(*whole)
            self.asm.zip2(whole[2], *whole[1:])
        else:
            self.asm.uzp1(free, upper, lower)
            self.asm.uzp2(lower, upper, lower)
