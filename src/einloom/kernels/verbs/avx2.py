"""The vector verbs on AVX2 with FMA: 16 registers of 32 bytes.

One, two or half the lanes are narrower loads and stores. Other numbers of lanes are stored in parts and loaded by
`vmaskmov`, whose mask lies in data behind the code. Conditions are whole vectors.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

from einloom.asm.x86.operands import R64, Address, Vector, mem, xmm, ymm
from einloom.dtypes import DType
from einloom.kernels.verbs.avx2_grouping import Avx2Grouping
from einloom.kernels.verbs.vector import Block, Mask, StrideIndex, Verb
from einloom.kernels.verbs.x86 import X86Machine, behind
from einloom.kernels.verbs.x86_vectors import X86Vectors

__all__ = ["Avx2Vectors"]


class Avx2Vectors(X86Vectors):
    """See `einloom.kernels.verbs.vector.FormulaVerbs`."""

    width = 32
    registers: tuple[Vector, ...] = ymm[:16]
    index_bytes = 0
    conditions = ()
    nan_table = 0
    element = scale = fix_nan = None

    def __init__(self, km: X86Machine, dtype: DType) -> None:
        super().__init__(km, dtype)
        asm, size = km.asm, dtype.size
        self._insert_part = asm.vinsertf128
        self._masked: Verb = asm.vmaskmovps if size == 4 else asm.vmaskmovpd
        self._blend: Verb = asm.vblendvps if size == 4 else asm.vblendvpd
        self._narrow: dict[int, Verb] = {self.lanes // 2: self._mov, 8 // size: asm.vmovsd, 4 // size: asm.vmovss}
        self.constant_operand = self._constant_in_every_lane
        self.grouping = Avx2Grouping(self)
        self.pick = self._pick_singles if self.is_single else self._pick_doubles

    def _mask_place(self, mask: int) -> Address:
        code = "<8i" if self.is_single else "<4q"
        return mem(self.asm.data(struct.pack(code, *(-(mask >> lane & 1) for lane in range(self.lanes))), 32))

    # Whole vectors

    def load(self, dst: Vector, place: Address, mask: Mask = None) -> None:
        if mask is None:
            self._mov(dst, place)
        elif mask.bit_length() in self._narrow:
            self._narrow[mask.bit_length()](xmm[dst.number], place)
        else:
            self._mov(dst, self._mask_place(mask))
            self._masked(dst, dst, place)

    def store(
        self,
        place: Address,
        src: Vector,
        mask: Mask = None,
        nontemporal: bool = False,
        temporary: Vector | None = None,
    ) -> None:
        if mask is None:
            (self._stream if nontemporal else self._mov)(place, src)
        elif mask.bit_length() in self._narrow:
            self._narrow[mask.bit_length()](place, xmm[src.number])
        else:
            assert temporary is not None
            self._store_parts(place, src, mask.bit_length(), temporary)

    def _store_parts(self, place: Address, src: Vector, count: int, temporary: Vector) -> None:
        """Store halves, pairs and singles: a `vmaskmov` to memory takes AMD's processors 12 cycles and more.

        Source: uops.info, Zen 2 to Zen 4; rows of 7 float32 that were copied on Zen 3 took 1.6 to 1.8 times as long.
        """
        half, low = self.lanes // 2, xmm[src.number]
        if count > half:
            self._mov(place, low)
            low, place, count = xmm[temporary.number], behind(place, 16), count - half
            self.asm.vextractf128(low, src, 1)
        self._narrow[min(count, 2)](place, low)
        if count == 3:
            self.asm.vextractps(behind(place, 8), low, 2)

    def zero(self, dst: Vector) -> None:
        low = xmm[dst.number]
        self.asm.vxorps(low, low, low)

    def add_memory(self, dst: Vector, place: Address, mask: Mask = None, temporary: Vector | None = None) -> None:
        if mask is None:
            self.add(dst, dst, place)
            return
        assert temporary is not None
        self.load(temporary, place, mask)
        self.add(dst, dst, temporary)

    def transpose(self, block: list[Vector], free: list[Vector]) -> Block[Vector]:
        half = len(block) // 2
        block, free = self._transpose_parts(block, free)
        for i in range(half):
            self.asm.vperm2f128(free[i], block[i], block[i + half], 0x20)
            self.asm.vperm2f128(free[i + half], block[i], block[i + half], 0x31)
        return free, block

    def _pick_singles(
        self, dst: Vector, sources: Sequence[Vector], lanes: Sequence[int], temporaries: Sequence[Vector]
    ) -> None:
        """Take lanes of every register by the same numbers, and of each those that are wanted."""
        index, other = temporaries
        self._mov(index, mem(self.asm.data(struct.pack("<8I", *(lane % 8 for lane in lanes)), 32)))
        for taken, (source, wanted) in enumerate(_wanted(sources, lanes, 8)):
            self.asm.vpermps(other if taken else dst, index, source)
            if taken:
                self.asm.vblendps(dst, dst, other, wanted)

    def _pick_doubles(
        self, dst: Vector, sources: Sequence[Vector], lanes: Sequence[int], temporaries: Sequence[Vector]
    ) -> None:
        numbers = sum(lane % 4 << 2 * i for i, lane in enumerate(lanes))
        for taken, (source, wanted) in enumerate(_wanted(sources, lanes, 4)):
            self.asm.vpermpd(temporaries[0] if taken else dst, source, numbers)
            if taken:
                self.asm.vblendpd(dst, dst, temporaries[0], wanted)

    def _split_parts(self, first: Vector, second: Vector, temporary: Vector) -> None:
        self.asm.vperm2f128(temporary, first, second, 0x20)
        self.asm.vperm2f128(first, first, second, 0x31)

    # Formulas: constants lie in memory once a lane

    def _constant_in_every_lane(self, bits: int) -> Address:
        return self._constant(bits, self.lanes)

    def load_constant(self, dst: Vector, bits: int) -> None:
        if bits:
            self._mov(dst, self._constant(bits, self.lanes))
        else:
            self.zero(dst)

    def select(self, dst: Vector, condition: Vector, a: Any, b: Vector) -> None:
        self._blend(dst, b, a, condition)

    def keep_lanes(self, dst: Vector, other: Vector, mask: int, temporary: Vector) -> None:
        self._mov(temporary, self._mask_place(mask))
        self.select(dst, temporary, dst, other)

    def load_single(self, dst: Vector, place: Address, mask: Mask = None) -> None:
        low = xmm[dst.number]
        if mask is None:
            self.asm.vcvtps2pd(dst, place)
            return
        count = mask.bit_length()
        (self.asm.vmovss if count == 1 else self.asm.vmovsd)(low, place)
        if count == 3:
            self.asm.vinsertps(low, low, behind(place, 8), 0x20)
        self.asm.vcvtps2pd(dst, low)

    def store_single(self, place: Address, src: Vector, mask: Mask = None) -> None:
        low = xmm[src.number]
        self.asm.vcvtpd2ps(low, src)
        count = 4 if mask is None else mask.bit_length()
        {4: self.asm.vmovups, 1: self.asm.vmovss, 2: self.asm.vmovsd, 3: self.asm.vmovsd}[count](place, low)
        if count == 3:
            self.asm.vextractps(behind(place, 8), low, 2)

    def widen(self, register: Vector) -> None:
        self.asm.vcvtps2pd(register, xmm[register.number])

    def narrow(self, register: Vector) -> None:
        self.asm.vcvtpd2ps(xmm[register.number], register)

    # Strided vectors, an element at a time

    def load_strided(
        self, dst: Vector, base: R64, offset: int, index: StrideIndex, count: int, temporaries: Sequence[Vector]
    ) -> None:
        places = self.km.strided_places(base, offset, index, count)
        half, upper = self.lanes // 2, xmm[temporaries[0].number]
        self._load_half(xmm[dst.number], places, min(count, half))
        if count > half:
            self._load_half(upper, places, count - half)
            self.asm.vinsertf128(dst, dst, upper, 1)

    def _load_half(self, dst: Vector, places: Iterator[Address], count: int) -> None:
        if not self.is_single:
            self.asm.vmovsd(dst, next(places))
            if count == 2:
                self.asm.vmovhpd(dst, dst, next(places))
            return
        self.asm.vmovss(dst, next(places))
        for lane in range(1, count):
            self.asm.vinsertps(dst, dst, next(places), lane << 4)

    def store_strided(
        self, base: R64, offset: int, src: Vector, index: StrideIndex, count: int, temporaries: Sequence[Vector]
    ) -> None:
        places = self.km.strided_places(base, offset, index, count)
        half, upper = self.lanes // 2, xmm[temporaries[0].number]
        self._store_half(places, xmm[src.number], min(count, half))
        if count > half:
            self.asm.vextractf128(upper, src, 1)
            self._store_half(places, upper, count - half)

    def _store_half(self, places: Iterator[Address], src: Vector, count: int) -> None:
        if not self.is_single:
            self.asm.vmovlpd(next(places), src)
            if count == 2:
                self.asm.vmovhpd(next(places), src)
            return
        self.asm.vmovss(next(places), src)
        for lane in range(1, count):
            self.asm.vextractps(next(places), src, lane)


def _wanted(sources: Sequence[Vector], lanes: Sequence[int], count: int) -> Iterator[tuple[Vector, int]]:
    """Yield the registers that any lane is taken of, with the mask of where they go."""
    for number, source in enumerate(sources):
        wanted = sum(1 << i for i, lane in enumerate(lanes) if lane // count == number)
        if wanted:
            yield source, wanted
