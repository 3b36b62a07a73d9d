"""Narrow elements in registers of wide ones on AVX2 and AVX-512: `vpmovsx`, `vpmovzx`, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from einloom.asm.x86.operands import R64, Address, Vector, mem, xmm, ymm
from einloom.dtypes import DType
from einloom.kernels.verbs.avx512 import Avx512Vectors
from einloom.kernels.verbs.vector import Mask, StrideIndex, Verb
from einloom.kernels.verbs.widened import WidenedCopies
from einloom.kernels.verbs.x86 import X86Machine
from einloom.kernels.verbs.x86_vectors import X86Vectors

__all__ = ["WidenedAvx2", "WidenedAvx512"]

WIDEN = {
    (1, True): "vpmovsxbd",
    (1, False): "vpmovzxbd",
    (2, True): "vpmovsxwd",
    (2, False): "vpmovzxwd",
}


class WidenedAvx2(WidenedCopies[R64, Vector, Address]):
    """Eight elements, which fit into 128 bits."""

    def __init__(self, km: X86Machine, memory: DType, wide: X86Vectors) -> None:
        super().__init__(km, memory, wide)
        self.km, self.asm = km, km.asm
        self._extend: Verb = getattr(km.asm, WIDEN[memory.size, self.is_signed])

    def load(self, dst: Vector, place: Address, mask: Mask = None) -> None:
        if mask is not None:
            super().load(dst, place, mask)
            return
        self._extend(dst, place)
        self._make_truth(dst)

    def _low(self, register: Vector) -> Vector:
        return xmm[register.number]

    def _widen(self, register: Vector) -> None:
        self._extend(register, xmm[register.number])
        self._make_truth(register)

    def _make_truth(self, register: Vector) -> None:
        """Elements that are not 0 = 1, where they are truth values."""
        if self.is_truth:
            self.asm.vpminud(register, register, self._ones())

    def _ones(self) -> Address:
        return mem(self.asm.data((1).to_bytes(4, "little") * self.lanes, 4 * self.lanes))

    def _narrow(self, register: Vector) -> None:
        """Bring the low bytes together in each half, then the halves."""
        self._make_truth(register)
        size, low = self.memory.size, xmm[register.number]
        half = bytes(4 * lane + byte for lane in range(4) for byte in range(size))
        self.asm.vpshufb(register, register, mem(self.asm.data((half + b"\x80" * (16 - len(half))) * 2, 32)))
        self.asm.vpermq(register, register, 0b1000)
        if size == 1:
            self.asm.vpshufd(low, low, 0b1000)


class WidenedAvx512(WidenedAvx2):
    """Sixteen elements, with masks; those of 2 bytes fill 256 bits."""

    wide: Avx512Vectors

    def __init__(self, km: X86Machine, memory: DType, wide: Avx512Vectors) -> None:
        super().__init__(km, memory, wide)
        self._truncate: Verb = km.asm.vpmovdb if memory.size == 1 else km.asm.vpmovdw
        self._insert: Verb = km.asm.vpinsrb if memory.size == 1 else km.asm.vpinsrw
        self._extract: Verb = km.asm.vpextrb if memory.size == 1 else km.asm.vpextrw

    def load(self, dst: Vector, place: Address, mask: Mask = None) -> None:
        self._extend(dst if mask is None else dst | self.wide.mask_register(mask).z, place)
        self._make_truth(dst)

    def store(
        self,
        place: Address,
        src: Vector,
        mask: Mask = None,
        nontemporal: bool = False,
        temporary: Vector | None = None,
    ) -> None:
        self._make_truth(src)
        self._truncate(place if mask is None else place | self.wide.mask_register(mask), src)

    def _ones(self) -> Address:
        return mem(self.asm.data((1).to_bytes(4, "little"), 4)).bcst

    def _low(self, register: Vector) -> Vector:
        """The narrow elements of a register: its lowest 128 or 256 bits."""
        return (xmm if self.memory.size == 1 else ymm)[register.number]

    def _widen(self, register: Vector) -> None:
        self._extend(register, self._low(register))
        self._make_truth(register)

    def _narrow(self, register: Vector) -> None:
        self._make_truth(register)
        self._truncate(self._low(register), register)

    def load_strided(
        self, dst: Vector, base: R64, offset: int, index: StrideIndex, count: int, temporaries: Sequence[Vector]
    ) -> None:
        places = self.km.strided_places(base, offset, index, count)
        self._gather(dst, places, min(count, self._in_half))
        if count > self._in_half:
            self._gather(temporaries[0], places, count - self._in_half)
            self.asm.vinserti32x4(ymm[dst.number], ymm[dst.number], xmm[temporaries[0].number], 1)
        self._widen(dst)

    @property
    def _in_half(self) -> int:
        return 16 // self.memory.size

    def _gather(self, dst: Vector, places: Iterator[Address], count: int) -> None:
        low = xmm[dst.number]
        self.wide.zero(dst)
        for lane, place in enumerate(islice(places, count)):
            self._insert(low, low, place, lane)

    def store_strided(
        self, base: R64, offset: int, src: Vector, index: StrideIndex, count: int, temporaries: Sequence[Vector]
    ) -> None:
        places = self.km.strided_places(base, offset, index, count)
        self._narrow(src)
        self._scatter(places, src, min(count, self._in_half))
        if count > self._in_half:
            self.asm.vextracti32x4(xmm[temporaries[0].number], ymm[src.number], 1)
            self._scatter(places, temporaries[0], count - self._in_half)

    def _scatter(self, places: Iterator[Address], src: Vector, count: int) -> None:
        for lane, place in enumerate(islice(places, count)):
            self._extract(place, xmm[src.number], lane)
