"""The verbs of outer products on SME: streaming mode, and the square tiles of ZA.

Streaming mode begins and ends with all vector registers zero: those of the caller are saved. Nobody else's sums are in
ZA: who keeps some while calling others announces it (TPIDR2), and no code that calls Python does.

Source: Arm Architecture Reference Manual, B1.4.9 to B1.4.11 and C8 (FMOPA, MOVA); AAPCS64, "ZA".
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from einloom.asm.aarch64.operands import X, mem, w, x, xzr
from einloom.asm.aarch64.scalable_operands import Scalable, mem_vectors, p, z, za
from einloom.dtypes import BFLOAT16, FLOAT32, FLOAT64, INT8, UINT8, DType
from einloom.kernels.verbs.aarch64 import AArch64Machine, own
from einloom.kernels.verbs.abilities import OUTER_SHAPES, OuterVerbs

__all__ = ["Sme"]

ROW_NUMBER = 12
"""x12: rows of tiles are numbered by one of w12 to w15 alone."""

ACROSS, DOWN, SUMS, LOADED, FACTOR = (*range(4),), (4, 5), (*range(16, 20),), 24, 31
"""Numbers of the vectors that are multiplied, of a row of sums, of C beside it, and of alpha."""

INSTRUCTIONS = {
    (BFLOAT16, BFLOAT16): "bfmopa",
    (INT8, INT8): "smopa",
    (INT8, UINT8): "sumopa",
    (UINT8, INT8): "usmopa",
    (UINT8, UINT8): "umopa",
}
"""By the types of the members of groups in rows, which are B's, and in columns, which are A's."""


class Sme(OuterVerbs[X]):
    """See `einloom.kernels.verbs.abilities.OuterVerbs`."""

    def __init__(self, km: AArch64Machine) -> None:
        self.km, self.asm = km, km.asm
        self.bits, self.dtype = km.machine.streaming_bits, FLOAT32
        self.groups: tuple[DType, DType] | None = None

    def multiplies(self, dtype: DType, groups: tuple[DType, DType] | None) -> bool:
        if groups is not None:
            return groups[::-1] in INSTRUCTIONS
        return dtype == FLOAT32 or (dtype == FLOAT64 and "sme_f64f64" in self.km.machine.features)

    def side(self, dtype: DType) -> int:
        return self.bits // 8 // dtype.size

    def shape(self, dtype: DType) -> tuple[int, int]:
        return OUTER_SHAPES[dtype.size]

    def begin(self, dtype: DType, groups: tuple[DType, DType] | None, factor: float) -> None:
        asm, self.dtype, self.groups, self.factor = self.asm, dtype, groups, factor
        agrees = asm.forward("width")
        asm.require(f"sme{self.bits}")
        self.km.preserve_vectors()
        asm.smstart()
        asm.rdvl(own, 1)
        asm.cmp(own, self.bits // 8)
        asm.b_eq(agrees)
        asm.udf(0)
        asm.bind(agrees)
        if factor != 1:
            self._load_factor(factor)

    def _load_factor(self, factor: float) -> None:
        is_single = self.dtype == FLOAT32
        asm, everything = self.asm, p[0]
        self.km.address_of(own, asm.data(struct.pack("<f" if is_single else "<d", factor)))
        asm.ptrue(everything.s if is_single else everything.d)
        (asm.ld1rw if is_single else asm.ld1rd)((self._vector(FACTOR),), everything.zeroing, mem(own))

    def end(self) -> None:
        self.asm.smstop()

    def choose(self, across: Sequence[int], down: Sequence[int]) -> None:
        """Predicates are those of bytes: members of groups have bits of their own."""
        for number, count in (*zip(ACROSS, across), *zip(DOWN, down)):
            self.km.constant(own, count * self.dtype.size)
            self.asm.whilelo(p[number].b, xzr, own)

    def clear(self) -> None:
        self.asm.zero((za,))

    def step(self, a: X, b: X, across: int, down: int) -> None:
        tiles = za.s if self.dtype.size == 4 else za.d
        instruction = self.asm.fmopa
        if self.groups is not None:
            columns_of, rows_of = self.groups
            instruction = getattr(self.asm, INSTRUCTIONS[rows_of, columns_of])
        for i in range(across):
            self._load(ACROSS[i], ACROSS[i], a, i)
        for j in range(down):
            self._load(DOWN[j], DOWN[j], b, j)
            for i in range(across):
                rows, columns = self._members(DOWN[j]), self._members(ACROSS[i])
                instruction(tiles[self._tile(i, j)], p[DOWN[j]].merging, p[ACROSS[i]].merging, rows, columns)

    def _tile(self, i: int, j: int) -> int:
        return j * OUTER_SHAPES[self.dtype.size][0] + i

    def read_row(self, down: int, number: X | int, across: int) -> None:
        asm, tiles = self.asm, za.s if self.dtype.size == 4 else za.d
        asm.mov(own, x[ROW_NUMBER])  # It may be anybody's.
        if isinstance(number, int):
            self.km.constant(x[ROW_NUMBER], number)
        else:
            asm.sub(x[ROW_NUMBER], number, 1)
        for i in range(across):
            row = tiles[self._tile(i, down)].row(w[ROW_NUMBER], 0)
            asm.mova(self._vector(SUMS[i]), p[ACROSS[i]].merging, row)
        asm.mov(x[ROW_NUMBER], own)
        for i in range(across) if self.factor != 1 else ():
            asm.fmul(self._vector(SUMS[i]), self._vector(SUMS[i]), self._vector(FACTOR))

    def add_row(self, place: X, across: int) -> None:
        add = self.asm.add if self.dtype.is_integer else self.asm.fadd
        for i in range(across):
            self._load(LOADED, ACROSS[i], place, i)
            add(self._vector(SUMS[i]), self._vector(SUMS[i]), self._vector(LOADED))

    def store_row(self, place: X, across: int) -> None:
        store = self.asm.st1w if self.dtype.size == 4 else self.asm.st1d
        for i in range(across):
            store((self._vector(SUMS[i]),), p[ACROSS[i]].whole, mem_vectors(place, i))

    def _load(self, number: int, chosen: int, base: X, vectors: int) -> None:
        load = self.asm.ld1w if self.dtype.size == 4 else self.asm.ld1d
        load((self._vector(number),), p[chosen].zeroing, mem_vectors(base, vectors))

    def _vector(self, number: int) -> Scalable:
        return z[number].s if self.dtype.size == 4 else z[number].d

    def _members(self, number: int) -> Scalable:
        """The vector as what instructions multiply."""
        if self.groups is None:
            return self._vector(number)
        return z[number].b if self.groups[0].size == 1 else z[number].h
