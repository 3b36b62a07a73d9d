"""Products of k, or columns, side by side in a register of AVX2: two, each with half of the lanes at most."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from einloom.asm.x86.operands import Address, Vector, mem, xmm
from einloom.kernels.verbs.x86 import behind
from einloom.kernels.verbs.x86_grouping import X86Grouping

if TYPE_CHECKING:
    from einloom.kernels.verbs.avx2 import Avx2Vectors

__all__ = ["Avx2Grouping"]


class Avx2Grouping(X86Grouping):
    """See `GroupingVerbs`. Where there is a choice, instructions that leave the port of shuffles alone."""

    def __init__(self, vec: Avx2Vectors) -> None:
        super().__init__(vec)
        asm = vec.asm
        self._moves = {4: asm.vmovss, 8: asm.vmovsd, 12: asm.vmovsd, 16: asm.vmovups}
        self._broadcasts = {4: asm.vbroadcastss, 8: asm.vbroadcastsd, 16: asm.vbroadcastf128}

    def load_piece(self, dst: Vector, place: Address, piece: int, rows: int, group: int, temporary: Vector) -> None:
        if piece == 0:
            self._load_low(dst, place, rows)
        elif self._bytes(rows) == 16:
            self.asm.vinsertf128(dst, dst, place, 1)
        else:
            self._load_low(temporary, place, rows)
            self.asm.vinsertf128(dst, dst, xmm[temporary.number], 1)

    def add_piece(self, register: Vector, place: Address, piece: int, rows: int, group: int, temporary: Vector) -> None:
        self._load_low(temporary, place, rows)
        if piece:
            self.asm.vperm2f128(temporary, temporary, temporary, 0x08)  # The lower half becomes the upper one, and 0.
        self.vec.add(register, register, temporary)

    def store_piece(self, place: Address, src: Vector, piece: int, rows: int, group: int, temporary: Vector) -> None:
        if piece and self._bytes(rows) == 16:
            self.asm.vextractf128(place, src, 1)
        elif piece:
            self.asm.vextractf128(xmm[temporary.number], src, 1)
            self._store_low(place, temporary, rows)
        else:
            self._store_low(place, src, rows)

    def _bytes(self, rows: int) -> int:
        return rows * self.vec.dtype.size

    def _load_low(self, dst: Vector, place: Address, rows: int) -> None:
        """The first lanes of dst = so many rows, the others 0."""
        low, size = xmm[dst.number], self._bytes(rows)
        self._moves[size](low, place)
        if size == 12:
            self.asm.vinsertps(low, low, behind(place, 8), 0x20)

    def _store_low(self, place: Address, src: Vector, rows: int) -> None:
        low, size = xmm[src.number], self._bytes(rows)
        self._moves[size](place, low)
        if size == 12:
            self.asm.vextractps(behind(place, 8), low, 2)

    def load_repeats(self, dst: Vector, group: int) -> None:
        if self.vec.is_single:
            self._load_index(dst, [lane // group for lane in range(self.vec.lanes)])

    def load_repeated(self, dst: Vector, place: Address, rows: int, group: int, repeats: Vector) -> None:
        size = self._bytes(rows)
        if size == 12:
            self._load_low(dst, place, rows)
            self.asm.vpermps(dst, repeats, dst)
            return
        self._broadcasts[size](dst, place)  # What is there in both halves moves within them.
        if rows > 1 and self.vec.is_single:
            self.asm.vpermilps(dst, dst, repeats)
        elif rows > 1:
            self.asm.vpermilpd(dst, dst, 0xC)

    def _permute(self, dst: Vector, src: Vector | Address, index: Vector, lanes: Sequence[int]) -> None:
        if self.vec.is_single:
            self._load_index(index, lanes)
            self.asm.vpermps(dst, index, src)
        else:
            self.asm.vpermpd(dst, src, sum(lane << 2 * place for place, lane in enumerate(lanes)))

    def _load_index(self, dst: Vector, lanes: Sequence[int]) -> None:
        self.asm.vmovups(dst, mem(self.asm.data(struct.pack("<8I", *lanes), 32)))

    def broadcast_group(self, dst: Vector, place: Address, group: int, count: int) -> None:
        size = self.vec.dtype.size
        if count == group:
            self._broadcasts[group * size](dst, place)
            return
        low = xmm[dst.number]
        self._moves[size](low, place)
        if self.vec.is_single:
            self.asm.vbroadcastsd(dst, low)
        else:
            self.asm.vinsertf128(dst, dst, low, 1)
