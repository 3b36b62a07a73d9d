"""Products of k, or columns, side by side in a register of AVX-512: permutations, broadcasts of pairs and fours."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from einloom.asm.x86.operands import Address, Vector, mem, xmm, ymm
from einloom.kernels.verbs.x86 import behind
from einloom.kernels.verbs.x86_grouping import X86Grouping

if TYPE_CHECKING:
    from einloom.kernels.verbs.avx512 import Avx512Vectors

__all__ = ["Avx512Grouping"]


class Avx512Grouping(X86Grouping):
    """See `GroupingVerbs`: a piece is masked lanes of a vector in memory that begins as many lanes before it."""

    def __init__(self, vec: Avx512Vectors) -> None:
        super().__init__(vec)
        self._load_over = vec.load_over

    def load_piece(self, dst: Vector, place: Address, piece: int, rows: int, group: int, temporary: Vector) -> None:
        if piece == 0 and rows == self.vec.lanes // group:
            self.vec.load((ymm if group == 2 else xmm)[dst.number], place)
            return
        place, mask = self._piece(place, piece, rows, group)
        (self._load_over if piece else self.vec.load)(dst, place, mask)

    def add_piece(self, register: Vector, place: Address, piece: int, rows: int, group: int, temporary: Vector) -> None:
        self.vec.add_memory(register, *self._piece(place, piece, rows, group))

    def store_piece(self, place: Address, src: Vector, piece: int, rows: int, group: int, temporary: Vector) -> None:
        place, mask = self._piece(place, piece, rows, group)
        self.vec.store(place, src, mask)

    def _piece(self, place: Address, piece: int, rows: int, group: int) -> tuple[Address, int]:
        """Return the place of the vector, and the mask, of which a piece is rows of a place."""
        first = piece * self.vec.lanes // group
        shifted = mem(place.base, place.disp - first * self.vec.dtype.size, place.index, place.scale)
        return shifted, ((1 << rows) - 1) << first

    def load_repeats(self, dst: Vector, group: int) -> None:
        self._load_index(dst, [lane // group for lane in range(self.vec.lanes)])

    def load_repeated(self, dst: Vector, place: Address, rows: int, group: int, repeats: Vector) -> None:
        self.load_piece(dst, place, 0, rows, group, dst)
        self._permuted(dst, repeats, dst)

    def _permute(self, dst: Vector, src: Vector | Address, index: Vector, lanes: Sequence[int]) -> None:
        self._load_index(index, lanes)
        self._permuted(dst, index, src)

    def _load_index(self, dst: Vector, lanes: Sequence[int]) -> None:
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
            asm.vinsertps(low, low, behind(place, 8), 0x20)
        if group * element == 8:
            asm.vbroadcastsd(dst, low)
        else:
            asm.vshuff32x4(dst, dst, dst, 0)
