"""The vector verbs on AVX-512 (F, VL, BW, DQ): 32 registers of 64 bytes, eight mask registers.

k7 belongs to gathers and scatters, which clear their mask, and to masks beyond the sixth; k1 to k6 hold the masks of
edges, and conditions take the last of these.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from einloom.asm.x86.operands import R64, Address, Vector, gpr32, k, mem, r11, ymm, zmm
from einloom.asm.x86.operands import Mask as MaskRegister
from einloom.dtypes import DType
from einloom.kernels.verbs.avx512_grouping import Avx512Grouping
from einloom.kernels.verbs.vector import Block, Mask, StrideIndex, Verb
from einloom.kernels.verbs.x86 import X86Machine
from einloom.kernels.verbs.x86_vectors import INSTRUCTIONS, LOW, X86Vectors

__all__ = ["Avx512Vectors"]

QUIET_NAN_OF_NAN = 0x22
"""Table of `vfixupimm`: of quiet and of signalling NaN take the quiet one, keep all else (Intel SDM volume 2C)."""

ABOVE = 6
"""Predicate of `vpcmpub`: whether the first number is the greater one."""


class Avx512Vectors(X86Vectors):
    """See `einloom.kernels.verbs.vector.FormulaVerbs`."""

    width = 64
    registers: tuple[Vector, ...] = zmm
    index_bytes = 128
    conditions = (k[6], k[5], k[4])
    kept_masks = tuple(k[1:7])
    nan_table = QUIET_NAN_OF_NAN
    mnemonics = INSTRUCTIONS | {
        "_blend": "vblendm",
        "_fix_up": "vfixupimm",
        "_of_two": "vpermi2",
        "_of_next": "vpermt2",
        "scale": "vscalef",
    }

    _blend: Verb
    _fix_up: Verb
    _of_two: Verb
    _of_next: Verb

    def __init__(self, km: X86Machine, dtype: DType) -> None:
        super().__init__(km, dtype)
        self._masks: dict[int, MaskRegister] = {}
        self._insert_part = km.asm.vinsertf32x4
        self.fix_nan = self._fix_nan
        self.element = _broadcast_operand
        self.constant_operand = self._broadcast_constant_operand
        self.grouping = Avx512Grouping(self)
        self.pick = self._pick
        self.copy_bytes = self._copy_bytes
        self.store_half = self._store_half

    def mask(self, count: int) -> Mask:
        return None if count == self.lanes else self.lane_mask((1 << count) - 1)

    def lane_mask(self, lanes: int) -> int:
        if lanes not in self._masks and len(self._masks) < len(self.kept_masks):
            register = self.kept_masks[len(self._masks)]
            self._set(register, lanes)
            self._masks[lanes] = register
        return lanes

    def mask_register(self, mask: int) -> MaskRegister:
        """The register that holds a mask; the few kernels with more masks than registers load the others at each use.

        From memory: an address may lie in the register that verbs take for themselves.
        """
        if mask not in self._masks:
            self.asm.kmovw(k[7], mem(self.asm.data(mask.to_bytes(2, "little"), align=2)))
            return k[7]
        return self._masks[mask]

    def _set(self, register: MaskRegister, lanes: int) -> None:
        self.asm.mov(gpr32[r11.number], lanes)
        self.asm.kmovw(register, gpr32[r11.number])

    # Whole vectors

    def load(self, dst: Vector, place: Address, mask: Mask = None) -> None:
        self._mov(dst if mask is None else dst | self.mask_register(mask).z, place)

    def store(
        self,
        place: Address,
        src: Vector,
        mask: Mask = None,
        nontemporal: bool = False,
        temporary: Vector | None = None,
    ) -> None:
        if mask is not None:
            self._mov(place | self.mask_register(mask), src)
        elif nontemporal:
            self._stream(place, src)
        else:
            self._mov(place, src)

    def load_over(self, dst: Vector, place: Address, mask: int) -> None:
        """Lanes of dst that are masked stay; the others = those at a place."""
        self._mov(dst | self.mask_register(mask), place)

    def zero(self, dst: Vector) -> None:
        if dst.number < 16:  # The shorter VEX form clears the whole register.
            low = LOW[dst.number]
            self.asm.vxorps(low, low, low)
        else:
            self.asm.vpxord(dst, dst, dst)

    def _store_half(self, place: Address, src: Vector, high: bool, mask: Mask, temporary: Vector) -> None:
        is_single = self.dtype.size == 4
        extract = self.asm.vextractf32x8 if is_single else self.asm.vextractf64x4
        if high and mask is None:
            extract(place, src, 1)
            return
        if high:  # What `extract` stores under a mask is touched as a whole (Intel SDM: exceptions of type E6NF).
            extract(ymm[temporary.number], src, 1)
        move = self.asm.vmovups if is_single else self.asm.vmovupd
        to = place if mask is None else place | self.mask_register(mask)
        move(to, ymm[(temporary if high else src).number])

    def _copy_bytes(self, target: R64, source: R64, count: R64, before: bool) -> None:
        """Move the bytes whose numbers, from the place on or back from it, are below the count.

        One line is touched: a store that reached into a second one would have it read.
        """
        moved, numbers = self.registers[:2]
        offset, order = (-self.width, -1) if before else (0, 1)
        self.asm.vpbroadcastb(numbers, gpr32[count.number])
        self.asm.vpcmpub(k[7], numbers, mem(self.asm.data(bytes(range(self.width))[::order], self.width)), ABOVE)
        self.asm.vmovdqu8(moved | k[7].z, mem(source, offset))
        self.asm.vmovdqu8(mem(target, offset) | k[7], moved)

    def add_memory(self, dst: Vector, place: Address, mask: Mask = None, temporary: Vector | None = None) -> None:
        self.add(dst if mask is None else dst | self.mask_register(mask), dst, place)

    def transpose(self, block: list[Vector], free: list[Vector]) -> Block[Vector]:
        half = len(block) // 2
        block, free = self._transpose_parts(block, free)
        for step in (half // 2, half):
            block, free = self._exchange(block, free, step)
        return block, free

    def _exchange(self, block: list[Vector], free: list[Vector], step: int) -> Block[Vector]:
        """Gather even and odd 128-bit parts of registers `step` apart."""
        for i in range(len(block)):
            if not i & step:
                pair = (block[i], block[i + step])
                self.asm.vshuff32x4(free[i], *pair, 0x88)
                self.asm.vshuff32x4(free[i + step], *pair, 0xDD)
        return free, block

    def _pick(
        self, dst: Vector, sources: Sequence[Vector], lanes: Sequence[int], temporaries: Sequence[Vector]
    ) -> None:
        """Take lanes of two registers, which are numbered through, then those of one more after the other."""
        count, index = self.lanes, temporaries[0]
        used = sorted({lane // count for lane in lanes})
        first, second = (used * 2)[:2]
        self._lane_numbers(dst, [lane % count + count * (lane // count == second) for lane in lanes])
        self._of_two(dst, sources[first], sources[second])
        for each in used[2:]:
            here = enumerate(lanes)
            self._lane_numbers(index, [count + lane % count if lane // count == each else i for i, lane in here])
            self._of_next(dst, index, sources[each])

    def _lane_numbers(self, dst: Vector, numbers: Sequence[int]) -> None:
        code = "<16I" if self.is_single else "<8Q"
        self._mov(dst, mem(self.asm.data(struct.pack(code, *numbers), 64)))

    def _split_parts(self, first: Vector, second: Vector, temporary: Vector) -> None:
        self.asm.vshuff32x4(temporary, first, second, 0x88)
        self.asm.vshuff32x4(first, first, second, 0xDD)

    # Formulas: constants are broadcast from one element in memory

    def _broadcast_constant_operand(self, bits: int) -> Address:
        return self._constant(bits, 1).bcst

    def load_constant(self, dst: Vector, bits: int) -> None:
        if bits:
            self._broadcast(dst, self._constant(bits, 1))
        else:
            self.zero(dst)

    def select(self, dst: Vector, condition: MaskRegister, a: Any, b: Vector) -> None:
        self._blend(dst | condition, b, a)

    def _fix_nan(self, dst: Vector, src: Vector, table: Any) -> None:
        self._fix_up(dst, src, table, 0)

    def keep_lanes(self, dst: Vector, other: Vector, mask: int, temporary: Vector) -> None:
        self.select(dst, self.mask_register(mask), dst, other)

    def load_single(self, dst: Vector, place: Address, mask: Mask = None) -> None:
        self.asm.vcvtps2pd(dst if mask is None else dst | self.mask_register(mask).z, place)

    def store_single(self, place: Address, src: Vector, mask: Mask = None) -> None:
        narrow = ymm[src.number]
        self.asm.vcvtpd2ps(narrow, src)
        self.asm.vmovups(place if mask is None else place | self.mask_register(mask), narrow)

    def widen(self, register: Vector) -> None:
        self.asm.vcvtps2pd(register, ymm[register.number])

    def narrow(self, register: Vector) -> None:
        self.asm.vcvtpd2ps(ymm[register.number], register)

    # Strided vectors: gathers and scatters

    def stride_index(self, stride: R64 | int, slot: int, temporary: Vector) -> StrideIndex:
        """Return where the byte offsets of lanes 0 to 7 and 8 to 15 lie; a register's are written to the frame."""
        if isinstance(stride, int):
            table = struct.pack("<16q", *(lane * stride for lane in range(16)))
            low, high = (self.asm.data(table[i : i + 64], 64) for i in (0, 64))
            return mem(low), mem(high)
        for start in (0, 8):
            lanes = self.asm.data(struct.pack("<8q", *range(start, start + 8)), 64)
            self.asm.vpbroadcastq(temporary, stride)
            self.asm.vpmullq(temporary, temporary, mem(lanes))
            self.asm.vmovdqu64(self.km.slot_place(slot + 8 * start), temporary)
        return self.km.slot_place(slot), self.km.slot_place(slot + 64)

    def load_strided(
        self, dst: Vector, base: R64, offset: int, index: StrideIndex, count: int, temporaries: Sequence[Vector]
    ) -> None:
        gather = self.asm.vgatherqps if self.is_single else self.asm.vgatherqpd
        where, upper = temporaries
        narrow = ymm if self.is_single else zmm
        self.zero(dst)
        self._lanes(where, index[0], min(count, 8))
        gather(narrow[dst.number] | k[7], mem(base, offset, where))
        if count > 8:
            self.zero(upper)
            self._lanes(where, index[1], count - 8)
            gather(ymm[upper.number] | k[7], mem(base, offset, where))
            self.asm.vinsertf32x8(dst, dst, ymm[upper.number], 1)

    def store_strided(
        self, base: R64, offset: int, src: Vector, index: StrideIndex, count: int, temporaries: Sequence[Vector]
    ) -> None:
        scatter = self.asm.vscatterqps if self.is_single else self.asm.vscatterqpd
        where, upper = temporaries
        narrow = ymm if self.is_single else zmm
        self._lanes(where, index[0], min(count, 8))
        scatter(mem(base, offset, where) | k[7], narrow[src.number])
        if count > 8:
            self._lanes(where, index[1], count - 8)
            self.asm.vextractf32x8(ymm[upper.number], src, 1)
            scatter(mem(base, offset, where) | k[7], ymm[upper.number])

    def _lanes(self, where: Vector, offsets: Address, count: int) -> None:
        self.asm.vmovdqu64(where, offsets)
        if count == 8:
            self.asm.kxnorw(k[7], k[7], k[7])
        else:
            self._set(k[7], (1 << count) - 1)


def _broadcast_operand(place: Address) -> Address:
    return place.bcst
