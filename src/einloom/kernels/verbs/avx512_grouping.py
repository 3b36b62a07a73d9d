"""Products of k, or columns, side by side in a register of AVX-512: permutations, broadcasts of pairs and fours."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from einloom.asm.x86.operands import Address, Vector, mem, xmm, ymm
from einloom.kernels.verbs.abilities import GroupingVerbs

if TYPE_CHECKING:
    from einloom.kernels.verbs.avx512 import Avx512Vectors

__all__ = ["Avx512Grouping"]


class Avx512Grouping(GroupingVerbs[Vector, Address]):
    """See `GroupingVerbs`."""

    def __init__(self, vec: Avx512Vectors) -> None:
        self.vec, self.asm = vec, vec.asm

    def mask(self, lanes: int) -> int:
        return self.vec.lane_mask(lanes)

    def load_piece(self, dst: Vector, place: Address, piece: int, rows: int, group: int) -> None:
        width = self.vec.lanes // group
        if piece == 0 and rows == width:
            self.vec.load((ymm if group == 2 else xmm)[dst.number], place)
            return
        mask = self.vec.lane_mask(((1 << rows) - 1) << piece * width)
        (self.vec.load_over if piece else self.vec.load)(dst, place, mask)

    def order_rows(self, dst: Vector, pieces: Vector | Address, group: int, pitch: int) -> None:
        lanes = self.vec.lanes
        source = [(lane % group * pitch + lane // group) % lanes for lane in range(lanes)]
        self._permute(dst, pieces, dst, source)

    def load_repeats(self, dst: Vector, group: int) -> None:
        self._load_index(dst, [lane // group for lane in range(self.vec.lanes)])

    def repeat_rows(self, rows: Vector, repeats: Vector) -> None:
        self._permuted(rows, repeats, rows)

    def part_columns(self, register: Vector, group: int, pitch: int, temporary: Vector) -> None:
        lanes = self.vec.lanes
        source = [(lane % pitch * group + lane // pitch) % lanes for lane in range(lanes)]
        self._permute(register, register, temporary, source)

    def _permute(self, dst: Vector, src: Vector | Address, index: Vector, lanes: list[int]) -> None:
        self._load_index(index, lanes)
        self._permuted(dst, index, src)

    def _load_index(self, dst: Vector, lanes: list[int]) -> None:
        code = "<16I" if self.vec.is_single else "<8Q"
        self.asm.vmovdqu64(dst, mem(self.asm.data(struct.pack(code, *lanes), 64)))

    def _permuted(self, dst: Vector, index: Vector, src: Vector | Address) -> None:
        (self.asm.vpermps if self.vec.is_single else self.asm.vpermpd)(dst, index, src)

    def broadcast_group(self, dst: Vector, place: Address, group: int, count: int) -> None:
        asm, element = self.asm, self.vec.dtype.size
        if count == group:
            {8: asm.vbroadcastsd, 16: asm.vbroadcastf32x4}[group * element](dst, place)
            return
        low = xmm[dst.number]
        (asm.vmovss if count * element == 4 else asm.vmovsd)(low, place)
        if count == 3:
            asm.vinsertps(low, low, mem(place.base, place.disp + 8, place.index, place.scale), 0x20)
        if group * element == 8:
            asm.vbroadcastsd(dst, low)
        else:
            asm.vshuff32x4(dst, dst, dst, 0)

    def sum_groups(self, registers: list[Vector], group: int, pitch: int, temporary: Vector) -> None:
        first, *others = registers
        self._sum_pairs(first, others[0] if others else first, temporary)
        if group == 4:
            if len(others) > 1:
                self._sum_pairs(others[1], others[-1], temporary)
            self._sum_pairs(first, others[1] if len(others) > 1 else first, temporary)
        lanes = self.vec.lanes
        source = [self._lane_of(lane // pitch, lane % pitch, group) % lanes for lane in range(lanes)]
        self._permute(first, first, temporary, source)

    def _lane_of(self, column: int, row: int, group: int) -> int:
        """Return the lane that holds a row of a column once neighbours are summed."""
        if group == 4:
            return row * 4 + column
        unit = 2 if self.vec.is_single else 1
        return 2 * unit * (row // unit) + unit * column + row % unit

    def _sum_pairs(self, first: Vector, second: Vector, temporary: Vector) -> None:
        """first = in every 128 bits the sums of neighbours, those of first before those of second."""
        self.vec.split_lanes(0, first, second, temporary)
        self.vec.add(first, first, temporary)
