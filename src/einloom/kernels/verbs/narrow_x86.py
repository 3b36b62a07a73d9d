"""Copies of narrow elements with AVX2's instructions, which processors with AVX-512 have as well."""

from __future__ import annotations

from collections.abc import Iterator

from einloom.asm.x86.operands import R64, Address, Vector, xmm
from einloom.dtypes import DType
from einloom.kernels.verbs.narrow import NarrowCopies
from einloom.kernels.verbs.vector import Verb
from einloom.kernels.verbs.x86 import X86Machine, behind

__all__ = ["NarrowX86"]


class NarrowX86(NarrowCopies[R64, Vector, Address]):
    """See `NarrowCopies`."""

    registers: tuple[Vector, ...] = xmm[:16]

    def __init__(self, km: X86Machine, dtype: DType) -> None:
        super().__init__(dtype)
        self.km = km
        asm = self.asm = km.asm
        unpack = {1: (asm.vpunpcklbw, asm.vpunpckhbw), 2: (asm.vpunpcklwd, asm.vpunpckhwd)}
        self._unpack_low, self._unpack_high = unpack[dtype.size]
        self._insert: dict[int, Verb] = {4: asm.vpinsrd, 2: asm.vpinsrw, 1: asm.vpinsrb}
        self._extract: dict[int, Verb] = {4: asm.vpextrd, 2: asm.vpextrw, 1: asm.vpextrb}

    def _beyond(self, place: Address, offset: int) -> Address:
        return behind(place, offset) if offset else place

    def _load(self, dst: Vector, place: Address, offset: int, size: int) -> None:
        if size >= 8:
            (self.asm.vmovdqu if size == 16 else self.asm.vmovq)(dst, place)
        elif size == 4 and offset == 0:
            self.asm.vmovd(dst, place)
        else:
            if offset == 0:
                self.zero(dst)
            self._insert[size](dst, dst, place, offset // size)

    def _store(self, place: Address, src: Vector, offset: int, size: int) -> None:
        if size >= 8:
            (self.asm.vmovdqu if size == 16 else self.asm.vmovq)(place, src)
        else:
            self._extract[size](place, src, offset // size)

    def _strided_places(self, base: R64, offset: int, stride: R64 | int, count: int) -> Iterator[Address]:
        return self.km.strided_places(base, offset, stride, count)

    def zip_low(self, dst: Vector, first: Vector, second: Vector) -> None:
        self._unpack_low(dst, first, second)

    def zip_high(self, dst: Vector, first: Vector, second: Vector) -> None:
        self._unpack_high(dst, first, second)

    def _upper_half(self, dst: Vector, src: Vector) -> None:
        self.asm.vpunpckhqdq(dst, src, src)

    def zero(self, dst: Vector) -> None:
        self.asm.vpxor(dst, dst, dst)

    def copy(self, dst: Vector, src: Vector) -> None:
        self.asm.vmovdqu(dst, src)

    def broadcast(self, dst: Vector, place: Address) -> None:
        (self.asm.vpbroadcastb if self.dtype.size == 1 else self.asm.vpbroadcastw)(dst, place)
