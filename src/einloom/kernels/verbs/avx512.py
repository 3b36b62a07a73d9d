"""The vector verbs on AVX-512 (F, VL, BW, DQ): 32 registers of 64 bytes, eight mask registers.

k7 belongs to gathers and scatters, which clear their mask; k1 to k6 hold the masks of edges.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from einloom.asm.x86.operands import Mask, gpr32, k, mem, r11, xmm, ymm, zmm
from einloom.dtypes import DType
from einloom.errors import InternalError
from einloom.kernels.verbs.fold import fold_lanes
from einloom.kernels.verbs.interleave import in_row_order, interleave
from einloom.kernels.verbs.machine import Place, Verb
from einloom.kernels.verbs.x86_formula import Avx512Formulas

if TYPE_CHECKING:
    from einloom.kernels.verbs.x86 import X86Machine

__all__ = ["Avx512Vectors"]

UNORDERED = 3
"""Predicate of a comparison that holds if an operand is NaN."""

ARITHMETIC = ("add", "sub", "mul", "div", "min", "max", "sqrt")


class Avx512Vectors(Avx512Formulas):
    """See `einloom.kernels.verbs.machine.VectorMachine`. Masks are mask registers."""

    registers: tuple[Any, ...] = zmm
    broadcast_operand = True
    index_bytes = 128

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
        self.lanes = 64 // dtype.size
        self._masks: dict[int, Mask] = {}
        suffix = {4: "ps", 8: "pd"}[dtype.size]
        asm = km.asm
        self.asm = asm
        self._mov = getattr(asm, f"vmovu{suffix}")
        self._stream = getattr(asm, f"vmovnt{suffix}")
        self._broadcast = asm.vbroadcastss if dtype.size == 4 else asm.vbroadcastsd
        self.fma = getattr(asm, f"vfmadd231{suffix}")
        for name in ARITHMETIC:
            setattr(self, name, getattr(asm, f"v{name}{suffix}"))
        self._set_formulas()

    def mask(self, count: int) -> Mask | None:
        return None if count == self.lanes else self.lane_mask((1 << count) - 1)

    def lane_mask(self, lanes: int) -> Mask:
        """Return what masks all lanes whose bit is 0."""
        if lanes not in self._masks:
            if len(self._masks) == 6:
                raise InternalError("a kernel needs more than six masks")
            register = k[1 + len(self._masks)]
            self._set(register, lanes)
            self._masks[lanes] = register
        return self._masks[lanes]

    def _set(self, register: Mask, lanes: int) -> None:
        self.asm.mov(gpr32[r11.number], lanes)
        self.asm.kmovw(register, gpr32[r11.number])

    # Whole vectors

    def load(self, dst: Any, place: Place, mask: Mask | None = None) -> None:
        self._mov(dst if mask is None else dst | mask.z, place)

    def store(
        self, place: Place, src: Any, mask: Mask | None = None, nontemporal: bool = False, temporary: Any = None
    ) -> None:
        if mask is not None:
            self._mov(place | mask, src)
        elif nontemporal:
            self._stream(place, src)
        else:
            self._mov(place, src)

    def broadcast(self, dst: Any, place: Place) -> None:
        self._broadcast(dst, place)

    def broadcast_constant(self, dst: Any, value: float) -> None:
        """Every lane of dst = a number that lies behind the code."""
        place = mem(self.asm.data(struct.pack("<f" if self.dtype.size == 4 else "<d", value)))
        self._broadcast(dst, place)

    def element(self, place: Place) -> Place:
        return place.bcst

    def zero(self, dst: Any) -> None:
        if dst.number < 16:  # The shorter VEX form clears the whole register.
            low = xmm[dst.number]
            self.asm.vxorps(low, low, low)
        else:
            self.asm.vpxord(dst, dst, dst)

    def copy(self, dst: Any, src: Any) -> None:
        self._mov(dst, src)

    def add_memory(self, dst: Any, place: Place, mask: Mask | None = None, temporary: Any = None) -> None:
        """dst += the lanes at a place; masked bytes are not touched."""
        self.add(dst if mask is None else dst | mask, dst, place)

    def keep_nan(self, dst: Any, src: Any, temporary: Any) -> None:
        """Lanes of dst = src where src is NaN."""
        compare = self.asm.vcmpps if self.dtype.size == 4 else self.asm.vcmppd
        compare(k[7], src, src, UNORDERED)
        self._mov(dst | k[7], src)

    def transpose(self, block: list[Any], free: list[Any]) -> tuple[list[Any], list[Any]]:
        """Transpose a block of `lanes` registers with as many free ones; return (where it is now, the others)."""
        half = len(block) // 2
        block, free = self._transpose_parts(block, free)
        for step in (half // 2, half):
            block, free = self._exchange(block, free, step)
        return block, free

    def load_transposed(
        self, lines: Iterable[tuple[Any, int]], block: list[Any], free: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Load a block from up to `lanes` places (base, offset), transposed; return (where it is, the free registers).

        Parts of 128 bits are loaded to where they belong, which spares half of the shuffles. Lanes without place are 0.
        """
        per_part, line = 16 // self.dtype.size, -1
        for line, (base, offset) in enumerate(lines):
            part, row = divmod(line, per_part)
            for column, register in enumerate(block[row::per_part]):
                place = mem(base, offset + 16 * column)
                if part == 0:
                    self._mov(xmm[register.number], place)
                else:
                    self.asm.vinsertf32x4(register, register, place, part)
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

    def _exchange(self, block: list[Any], free: list[Any], step: int) -> tuple[list[Any], list[Any]]:
        """Gather even and odd 128-bit parts of registers `step` apart."""
        for i in range(len(block)):
            if not i & step:
                pair = (block[i], block[i + step])
                self.asm.vshuff32x4(free[i], *pair, 0x88)
                self.asm.vshuff32x4(free[i + step], *pair, 0xDD)
        return free, block

    def finish(self) -> None:
        """End a function that used vectors: SSE code that follows runs at full speed."""
        self.asm.vzeroupper()

    # Several products side by side: lanes (row, k), see `grouped`

    def load_piece(self, dst: Any, place: Place, piece: int, rows: int, group: int) -> None:
        """Lanes (piece, row) of dst = rows of a place that lies as many lanes before them; the first piece clears."""
        width = self.lanes // group
        if piece == 0 and rows == width:
            self._mov((ymm if group == 2 else xmm)[dst.number], place)
        else:
            mask = self.lane_mask(((1 << rows) - 1) << piece * width)
            self._mov(dst | mask if piece else dst | mask.z, place)

    def order_rows(self, dst: Any, pieces: Any, group: int, pitch: int) -> None:
        """dst = lanes (row, k) from lanes (k, row), `pitch` lanes from one k to the next, of a register or place."""
        source = [(lane % group * pitch + lane // group) % self.lanes for lane in range(self.lanes)]
        self._permute(dst, pieces, dst, source)

    def _permute(self, dst: Any, src: Any, index: Any, lanes: list[int]) -> None:
        code = {4: "<16I", 8: "<8Q"}[self.dtype.size]
        self.asm.vmovdqu64(index, mem(self.asm.data(struct.pack(code, *lanes), 64)))
        (self.asm.vpermps if self.dtype.size == 4 else self.asm.vpermpd)(dst, index, src)

    def broadcast_group(self, dst: Any, place: Place, group: int, count: int) -> None:
        """dst = `group` consecutive elements over and over, 0 from element `count` on."""
        asm, size = self.asm, group * self.dtype.size
        if count == group:
            {8: asm.vbroadcastsd, 16: asm.vbroadcastf32x4}[size](dst, place)
            return
        low = xmm[dst.number]
        (asm.vmovss if count * self.dtype.size == 4 else asm.vmovsd)(low, place)
        if count == 3:
            asm.vinsertps(low, low, mem(place.base, place.disp + 8, place.index, place.scale), 0x20)
        if size == 8:
            asm.vbroadcastsd(dst, low)
        else:
            asm.vshuff32x4(dst, dst, dst, 0)

    def sum_groups(self, registers: list[Any], group: int, pitch: int, temporary: Any) -> None:
        """registers[0] = the sums over k of `group` registers of lanes (row, k), as lanes (register, row).

        `pitch` lanes lie from one register to the next.
        """
        first, *others = registers
        if group == 4:
            self._sum_pairs(first, others[0] if others else first, temporary)
            if len(others) > 1:
                self._sum_pairs(others[1], others[-1], temporary)
            self._sum_pairs(first, others[1] if len(others) > 1 else first, temporary)
            place = lambda column, row: row * 4 + column  # noqa: E731
        else:
            self._sum_pairs(first, others[0] if others else first, temporary)
            unit = 2 if self.dtype.size == 4 else 1
            place = lambda column, row: 2 * unit * (row // unit) + unit * column + row % unit  # noqa: E731
        source = [place(lane // pitch, lane % pitch) % self.lanes for lane in range(self.lanes)]
        self._permute(first, first, temporary, source)

    def _sum_pairs(self, first: Any, second: Any, temporary: Any) -> None:
        """first = in every 128 bits the sums of neighbours, those of first before those of second."""
        self.split_lanes(0, first, second, temporary)
        self.add(first, first, temporary)

    # Lanes of several registers folded into one

    def sum_lanes(self, registers: list[Any], temporary: Any) -> None:
        """registers[0] = in lane i the sum over the lanes of registers[i]; up to `lanes` registers."""
        fold_lanes(self, registers, temporary, lambda first, second: self.add(first, first, second))

    def split_lanes(self, level: int, first: Any, second: Any, temporary: Any) -> None:
        """Take neighbours apart in every 128 bits, then among the 128-bit parts."""
        if level >= (2 if self.dtype.size == 4 else 1):
            self.asm.vshuff32x4(temporary, first, second, 0x88)
            self.asm.vshuff32x4(first, first, second, 0xDD)
        elif self.dtype.size == 4:
            self.asm.vshufps(temporary, first, second, 0x88)
            self.asm.vshufps(first, first, second, 0xDD)
        else:
            self.asm.vunpcklpd(temporary, first, second)
            self.asm.vunpckhpd(first, first, second)

    def keep_lanes(self, dst: Any, other: Any, mask: Mask, temporary: Any) -> None:
        """Lanes of dst that are masked = those of another register."""
        self.select(dst, mask, dst, other)

    # Strided vectors

    def stride_index(self, stride: Any, slot: int, temporary: Any) -> tuple[Place, Place]:
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

    def load_strided(self, dst: Any, base: Any, offset: int, index: Any, count: int, temporaries: Any) -> None:
        gather = self.asm.vgatherqps if self.dtype.size == 4 else self.asm.vgatherqpd
        where, upper = temporaries
        narrow = ymm if self.dtype.size == 4 else zmm
        self.zero(dst)
        self._lanes(where, index[0], min(count, 8))
        gather(narrow[dst.number] | k[7], mem(base, offset, where))
        if count > 8:
            self.zero(upper)
            self._lanes(where, index[1], count - 8)
            gather(ymm[upper.number] | k[7], mem(base, offset, where))
            self.asm.vinsertf32x8(dst, dst, ymm[upper.number], 1)

    def store_strided(self, base: Any, offset: int, src: Any, index: Any, count: int, temporaries: Any) -> None:
        scatter = self.asm.vscatterqps if self.dtype.size == 4 else self.asm.vscatterqpd
        where, upper = temporaries
        narrow = ymm if self.dtype.size == 4 else zmm
        self._lanes(where, index[0], min(count, 8))
        scatter(mem(base, offset, where) | k[7], narrow[src.number])
        if count > 8:
            self._lanes(where, index[1], count - 8)
            self.asm.vextractf32x8(ymm[upper.number], src, 1)
            scatter(mem(base, offset, where) | k[7], ymm[upper.number])

    def _lanes(self, where: Any, offsets: Place, count: int) -> None:
        self.asm.vmovdqu64(where, offsets)
        if count == 8:
            self.asm.kxnorw(k[7], k[7], k[7])
        else:
            self._set(k[7], (1 << count) - 1)
