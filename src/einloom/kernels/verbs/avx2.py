"""The vector verbs on AVX2 with FMA: 16 registers of 32 bytes.

A mask is the number of lanes. One, two or half the lanes are narrower loads and stores; other numbers take
`vmaskmov`, whose mask lies in data behind the code.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from einloom.asm.x86.operands import mem, r11, xmm, ymm
from einloom.dtypes import DType
from einloom.errors import InternalError
from einloom.kernels.verbs.fold import fold_lanes
from einloom.kernels.verbs.interleave import in_row_order, interleave
from einloom.kernels.verbs.machine import Place, Verb
from einloom.kernels.verbs.x86_formula import Avx2Formulas

if TYPE_CHECKING:
    from einloom.kernels.verbs.x86 import X86Machine

__all__ = ["Avx2Vectors"]

UNORDERED = 3
"""Predicate of a comparison that holds if an operand is NaN."""

ARITHMETIC = ("add", "sub", "mul", "div", "min", "max", "sqrt")


class Avx2Vectors(Avx2Formulas):
    """See `einloom.kernels.verbs.machine.VectorMachine`. Masks are numbers of lanes."""

    registers: tuple[Any, ...] = ymm[:16]
    broadcast_operand = False
    index_bytes = 0

    fma: Verb
    add: Verb
    sub: Verb
    mul: Verb
    div: Verb
    min: Verb
    max: Verb
    sqrt: Verb

    def __init__(self, km: X86Machine, dtype: DType) -> None:
        self.km = km
        self.dtype = dtype
        self.lanes = 32 // dtype.size
        suffix = {4: "ps", 8: "pd"}[dtype.size]
        asm = km.asm
        self.asm = asm
        self._mov = getattr(asm, f"vmovu{suffix}")
        self._stream = getattr(asm, f"vmovnt{suffix}")
        self._masked = getattr(asm, f"vmaskmov{suffix}")
        self._broadcast = asm.vbroadcastss if dtype.size == 4 else asm.vbroadcastsd
        self._narrow = {self.lanes // 2: self._mov, 8 // dtype.size: asm.vmovsd, 4 // dtype.size: asm.vmovss}
        self._narrow.pop(0, None)
        self.fma = getattr(asm, f"vfmadd231{suffix}")
        for name in ARITHMETIC:
            setattr(self, name, getattr(asm, f"v{name}{suffix}"))
        self._set_formulas()

    def mask(self, count: int) -> int | None:
        return None if count == self.lanes else count

    def _mask_place(self, count: int) -> Place:
        code = {4: "<8i", 8: "<4q"}[self.dtype.size]
        return mem(self.asm.data(struct.pack(code, *(-(lane < count) for lane in range(self.lanes))), 32))

    # Whole vectors

    def load(self, dst: Any, place: Place, mask: int | None = None) -> None:
        if mask is None:
            self._mov(dst, place)
        elif mask in self._narrow:
            self._narrow[mask](xmm[dst.number], place)
        else:
            self._mov(dst, self._mask_place(mask))
            self._masked(dst, dst, place)

    def store(
        self, place: Place, src: Any, mask: int | None = None, nontemporal: bool = False, temporary: Any = None
    ) -> None:
        if mask is None:
            (self._stream if nontemporal else self._mov)(place, src)
        elif mask in self._narrow:
            self._narrow[mask](place, xmm[src.number])
        else:
            self._mov(temporary, self._mask_place(mask))
            self._masked(place, temporary, src)

    def broadcast(self, dst: Any, place: Place) -> None:
        self._broadcast(dst, place)

    def broadcast_constant(self, dst: Any, value: float) -> None:
        """Every lane of dst = a number that lies behind the code."""
        place = mem(self.asm.data(struct.pack("<f" if self.dtype.size == 4 else "<d", value)))
        self._broadcast(dst, place)

    def element(self, place: Place) -> Place:
        raise InternalError("AVX2 has no broadcast operands")

    def zero(self, dst: Any) -> None:
        low = xmm[dst.number]
        self.asm.vxorps(low, low, low)

    def copy(self, dst: Any, src: Any) -> None:
        self._mov(dst, src)

    def add_memory(self, dst: Any, place: Place, mask: int | None = None, temporary: Any = None) -> None:
        """dst += the lanes at a place; masked bytes are not touched."""
        if mask is None:
            self.add(dst, dst, place)
        else:
            self.load(temporary, place, mask)
            self.add(dst, dst, temporary)

    def keep_nan(self, dst: Any, src: Any, temporary: Any) -> None:
        """Lanes of dst = src where src is NaN."""
        if self.dtype.size == 4:
            self.asm.vcmpps(temporary, src, src, UNORDERED)
            self.asm.vblendvps(dst, dst, src, temporary)
        else:
            self.asm.vcmppd(temporary, src, src, UNORDERED)
            self.asm.vblendvpd(dst, dst, src, temporary)

    def transpose(self, block: list[Any], free: list[Any]) -> tuple[list[Any], list[Any]]:
        """Transpose a block of `lanes` registers with as many free ones; return (where it is now, the others)."""
        half = len(block) // 2
        block, free = self._transpose_parts(block, free)
        for i in range(half):
            self.asm.vperm2f128(free[i], block[i], block[i + half], 0x20)
            self.asm.vperm2f128(free[i + half], block[i], block[i + half], 0x31)
        return free, block

    def load_transposed(
        self, lines: Iterable[tuple[Any, int]], block: list[Any], free: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Load a block from up to `lanes` places (base, offset), transposed; return (where it is, the free registers).

        Lanes without place are 0.
        """
        per_part, line = 16 // self.dtype.size, -1
        for line, (base, offset) in enumerate(lines):
            part, row = divmod(line, per_part)
            for column, register in enumerate(block[row::per_part]):
                place = mem(base, offset + 16 * column)
                if part == 0:
                    self._mov(xmm[register.number], place)
                else:
                    self.asm.vinsertf128(register, register, place, part)
        for row in range(line + 1, per_part):
            for register in block[row::per_part]:
                self.zero(register)
        return self._transpose_parts(block, free)

    def _transpose_parts(self, block: list[Any], free: list[Any]) -> tuple[list[Any], list[Any]]:
        """Transpose inside every 128 bits."""
        asm = self.asm
        if self.dtype.size == 8:
            return interleave(block, free, asm.vunpcklpd, asm.vunpckhpd, 1)
        block, free = interleave(block, free, asm.vunpcklps, asm.vunpckhps, 1)
        return in_row_order(*interleave(block, free, asm.vunpcklpd, asm.vunpckhpd, 2))

    def finish(self) -> None:
        """End a function that used vectors: SSE code that follows runs at full speed."""
        self.asm.vzeroupper()

    # Sums over the lanes

    def sum_lanes(self, registers: list[Any], temporary: Any) -> None:
        """registers[0] = in lane i the sum over the lanes of registers[i]; up to `lanes` registers."""
        fold_lanes(self, registers, temporary, lambda first, second: self.add(first, first, second))

    def split_lanes(self, level: int, first: Any, second: Any, temporary: Any) -> None:
        """Take neighbours apart in 128-bit parts, at last the parts themselves."""
        asm = self.asm
        if level == (2 if self.dtype.size == 4 else 1):
            asm.vperm2f128(temporary, first, second, 0x20)
            asm.vperm2f128(first, first, second, 0x31)
        elif self.dtype.size == 4:
            asm.vshufps(temporary, first, second, 0x88)
            asm.vshufps(first, first, second, 0xDD)
        else:
            asm.vunpcklpd(temporary, first, second)
            asm.vunpckhpd(first, first, second)

    def keep_lanes(self, dst: Any, other: Any, mask: int, temporary: Any) -> None:
        """Lanes of dst that are masked = those of another register."""
        self._mov(temporary, self._mask_place(mask))
        self.select(dst, temporary, dst, other)

    # Strided vectors, an element at a time: a walk along r11

    def stride_index(self, stride: Any, slot: int, temporary: Any) -> Any:
        return stride

    def load_strided(self, dst: Any, base: Any, offset: int, index: Any, count: int, temporaries: Any) -> None:
        places = self._places(base, offset, index, count)
        half, upper = self.lanes // 2, xmm[temporaries[0].number]
        self._load_half(xmm[dst.number], places, min(count, half))
        if count > half:
            self._load_half(upper, places, count - half)
            self.asm.vinsertf128(dst, dst, upper, 1)

    def _load_half(self, dst: Any, places: Any, count: int) -> None:
        if self.dtype.size == 8:
            self.asm.vmovsd(dst, next(places))
            if count == 2:
                self.asm.vmovhpd(dst, dst, next(places))
            return
        self.asm.vmovss(dst, next(places))
        for lane in range(1, count):
            self.asm.vinsertps(dst, dst, next(places), lane << 4)

    def store_strided(self, base: Any, offset: int, src: Any, index: Any, count: int, temporaries: Any) -> None:
        places = self._places(base, offset, index, count)
        half, upper = self.lanes // 2, xmm[temporaries[0].number]
        self._store_half(places, xmm[src.number], min(count, half))
        if count > half:
            self.asm.vextractf128(upper, src, 1)
            self._store_half(places, upper, count - half)

    def _store_half(self, places: Any, src: Any, count: int) -> None:
        if self.dtype.size == 8:
            self.asm.vmovlpd(next(places), src)
            if count == 2:
                self.asm.vmovhpd(next(places), src)
            return
        self.asm.vmovss(next(places), src)
        for lane in range(1, count):
            self.asm.vextractps(next(places), src, lane)

    def _places(self, base: Any, offset: int, stride: Any, count: int) -> Any:
        """Yield the address of each lane; each must be used before the next is asked for."""
        if isinstance(stride, int):
            for lane in range(count):
                yield mem(base, offset + lane * stride)
            return
        self.asm.lea(r11, mem(base, offset))
        for lane in range(count):
            if lane:
                self.asm.add(r11, stride)
            yield mem(r11)
