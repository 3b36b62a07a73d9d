"""Copies between registers of float32 and memory of bfloat16 or float16, rounded to nearest even, NaN kept.

bfloat16 is the upper half of float32: it is widened by a shift and rounded by integer arithmetic, so subnormals are
numbers like others. To the instructions of AVX512_BF16 they are zeros: these round registers that hold none of them.
float16 has conversions of its own (F16C).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from einloom.asm.x86.operands import R64, Address, Vector, k, mem, xmm, ymm
from einloom.dtypes import BFLOAT16, DType
from einloom.kernels.verbs.narrow_x86 import NarrowX86
from einloom.kernels.verbs.vector import Mask, StrideIndex
from einloom.kernels.verbs.viewed import ViewedCopies

__all__ = ["Avx2Halves", "Avx512Halves"]

NEAREST_EVEN = 0
"""Rounding of `vcvtps2ph`."""

UNORDERED = 3
"""Predicate of comparisons: whether either operand is NaN."""

SUBNORMAL = 0x20
"""Class of numbers in `vfpclassps`."""

QUIET, UPPER, ODD, BELOW_HALF = 0x00400000, 0xFFFF0000, 0x00010000, 0x7FFF
"""The bit of quiet NaN; the bits that stay, the last of them, and all but half of what goes."""


class Halves(ViewedCopies[R64, Vector, Address]):
    """What both ISAs share: registers are the single-precision verbs'. Stores clobber the register."""

    def __init__(self, km: Any, memory: DType, single: Any) -> None:
        super().__init__(single)
        self.km, self.asm, self.memory = km, km.asm, memory
        self.single, self.narrow = single, NarrowX86(km, memory)
        self.is_bfloat = memory is BFLOAT16

    def broadcast(self, dst: Vector, place: Address) -> None:
        if self.is_bfloat:  # Both halves are the element: the shift leaves the upper one.
            self.asm.vpbroadcastw(dst, place)
            self.asm.vpslld(dst, dst, 16)
        else:
            self._broadcast_half(dst, place)

    def load_strided(
        self, dst: Vector, base: R64, offset: int, index: StrideIndex, count: int, temporaries: Sequence[Vector]
    ) -> None:
        """Put 8 halves together at a time, and widen them."""
        parts = [dst, temporaries[0]][: -(-count // self.narrow.lanes)]
        places = self.km.strided_places(base, offset, index, count)
        for part, register in enumerate(parts):
            low = xmm[register.number]
            self.single.zero(register)
            for lane in range(min(self.narrow.lanes, count - part * self.narrow.lanes)):
                self.asm.vpinsrw(low, low, next(places), lane)
        self._widen_parts(dst, parts)

    def store_strided(
        self, base: R64, offset: int, src: Vector, index: StrideIndex, count: int, temporaries: Sequence[Vector]
    ) -> None:
        self._round(src, temporaries[0])
        places = self.km.strided_places(base, offset, index, count)
        for lane in range(count):
            part = lane // self.narrow.lanes
            if part and lane % self.narrow.lanes == 0:
                self.asm.vextracti32x4(xmm[src.number], ymm[src.number], part)
            self.asm.vpextrw(next(places), xmm[src.number], lane % self.narrow.lanes)

    @abstractmethod
    def _broadcast_half(self, dst: Vector, place: Address) -> None:
        """Every lane of dst = the float16 at a place."""

    @abstractmethod
    def _widen_parts(self, dst: Vector, parts: Sequence[Vector]) -> None:
        """dst = the halves in the lowest 16 bytes of its parts, the first of which is dst."""

    @abstractmethod
    def _round(self, register: Vector, temporary: Vector | None) -> None:
        """The lowest bytes of a register = its lanes as halves."""


class Avx512Halves(Halves):
    """16 halves, masked by registers."""

    def load(self, dst: Vector, place: Address, mask: Mask = None) -> None:
        target: Any = dst if mask is None else dst | self.single.mask_register(mask).z
        if self.is_bfloat:
            self.asm.vpmovzxwd(target, place)
            self.asm.vpslld(dst, dst, 16)
        else:
            self.asm.vcvtph2ps(target, place)

    def store(
        self,
        place: Address,
        src: Vector,
        mask: Mask = None,
        nontemporal: bool = False,
        temporary: Vector | None = None,
    ) -> None:
        target = place if mask is None else place | self.single.mask_register(mask)
        if not self.is_bfloat:
            self.asm.vcvtps2ph(target, src, NEAREST_EVEN)
        elif self._rounds:
            self._round(src, temporary)
            self.asm.vmovdqu16(target, ymm[src.number])
        else:
            self._round_lanes(src)
            self.asm.vpmovdw(target, src)

    @property
    def _rounds(self) -> bool:
        """Whether there is an instruction that rounds lanes which are not subnormal."""
        return {"avx512bf16", "avx512dq", "avx512bw"} <= self.km.machine.features

    def _round_unless_subnormal(self, register: Vector) -> None:
        """The lower half of a register = its lanes as halves; k7 is free between two accesses."""
        asm, found = self.asm, k[7]
        plain, done = asm.forward("plain"), asm.forward("rounded")
        asm.vfpclassps(found, register, SUBNORMAL)
        asm.kortestw(found, found)
        asm.je(plain)
        self._round_lanes(register)
        asm.vpmovdw(ymm[register.number], register)
        asm.jmp(done)
        asm.bind(plain)
        asm.vcvtneps2bf16(ymm[register.number], register)
        asm.bind(done)

    def _round_lanes(self, register: Vector) -> None:
        """The low half of each lane = the lane rounded; k7 is free between two accesses."""
        asm, odd = self.asm, k[7]
        asm.vcmpps(odd, register, register, UNORDERED)
        asm.vpord(register | odd, register, self._constant(QUIET))
        asm.vpandd(register | odd, register, self._constant(UPPER))
        asm.vptestmd(odd, register, self._constant(ODD))
        asm.vpaddd(register, register, self._constant(BELOW_HALF))
        asm.vpaddd(register | odd, register, self._constant(1))
        asm.vpsrld(register, register, 16)

    def _constant(self, bits: int) -> Address:
        return mem(self.asm.data(bits.to_bytes(4, "little"), 4)).bcst

    def _broadcast_half(self, dst: Vector, place: Address) -> None:
        self.asm.vpbroadcastw(ymm[dst.number], place)
        self.asm.vcvtph2ps(dst, ymm[dst.number])

    def _widen_parts(self, dst: Vector, parts: Sequence[Vector]) -> None:
        low = ymm[dst.number]
        if len(parts) == 2:
            self.asm.vinserti32x4(low, low, xmm[parts[1].number], 1)
        if self.is_bfloat:
            self.asm.vpmovzxwd(dst, low)
            self.asm.vpslld(dst, dst, 16)
        else:
            self.asm.vcvtph2ps(dst, low)

    def _round(self, register: Vector, temporary: Vector | None) -> None:
        if self.is_bfloat and self._rounds:
            self._round_unless_subnormal(register)
        elif self.is_bfloat:
            self._round_lanes(register)
            self.asm.vpmovdw(ymm[register.number], register)
        else:
            self.asm.vcvtps2ph(ymm[register.number], register, NEAREST_EVEN)


class Avx2Halves(Halves):
    """8 halves, which fill a register of 16 bytes: edges are moved as those of copies are."""

    def load(self, dst: Vector, place: Address, mask: Mask = None) -> None:
        self.narrow.load(xmm[dst.number], place, mask)
        self._widen_parts(dst, (dst,))

    def store(
        self,
        place: Address,
        src: Vector,
        mask: Mask = None,
        nontemporal: bool = False,
        temporary: Vector | None = None,
    ) -> None:
        self._round(src, temporary)
        self.narrow.store(place, xmm[src.number], mask)

    def _broadcast_half(self, dst: Vector, place: Address) -> None:
        self.asm.vpbroadcastw(xmm[dst.number], place)
        self.asm.vcvtph2ps(dst, xmm[dst.number])

    def _widen_parts(self, dst: Vector, parts: Sequence[Vector]) -> None:
        low = xmm[dst.number]
        if self.is_bfloat:
            self.asm.vpmovzxwd(dst, low)
            self.asm.vpslld(dst, dst, 16)
        else:
            self.asm.vcvtph2ps(dst, low)

    def _round(self, register: Vector, temporary: Vector | None) -> None:
        asm, low = self.asm, xmm[register.number]
        if not self.is_bfloat:
            asm.vcvtps2ph(low, register, NEAREST_EVEN)
            return
        assert temporary is not None
        self._clear_behind_nan(register, temporary)
        asm.vpsrld(temporary, register, 16)
        asm.vpand(temporary, temporary, self._constant(1))
        asm.vpaddd(temporary, temporary, self._constant(BELOW_HALF))
        asm.vpaddd(register, register, temporary)
        asm.vpsrld(register, register, 16)
        asm.vpackusdw(register, register, register)
        asm.vpermq(register, register, 0b1000)

    def _clear_behind_nan(self, register: Vector, temporary: Vector) -> None:
        """Make NaN quiet and its lower half zero, so that rounding leaves it as it is."""
        asm = self.asm
        asm.vcmpps(temporary, register, register, UNORDERED)
        asm.vpand(temporary, temporary, self._constant(QUIET))
        asm.vpor(register, register, temporary)
        asm.vcmpps(temporary, register, register, UNORDERED)
        asm.vpsrld(temporary, temporary, 16)
        asm.vpandn(register, temporary, register)

    def _constant(self, bits: int) -> Address:
        return mem(self.asm.data(bits.to_bytes(4, "little") * self.lanes, 32))
