"""Copies of narrow elements: 8 of 1 or 2 bytes, in the low half or the whole of a 128-bit register.

Copies and transpositions are all that there is for these types, so the verbs are those of copying alone. Edges are
moved in pieces of 8, 4, 2 and 1 bytes: no ISA masks single bytes everywhere.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence

from einloom.dtypes import DType
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import Block, Mask, NarrowVerbs, StrideIndex, V

__all__ = ["NarrowCopies"]


class NarrowCopies(NarrowVerbs[R, V, A]):
    """What both ISAs share."""

    lanes = 8
    index_bytes = 0
    load_transposed = None

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype

    def load(self, dst: V, place: A, mask: Mask = None) -> None:
        for offset, size in self._pieces(mask):
            self._load(dst, self._beyond(place, offset), offset, size)

    def store(self, place: A, src: V, mask: Mask = None, nontemporal: bool = False, temporary: V | None = None) -> None:
        """The lanes at a place = src. Nothing is non-temporal here."""
        for offset, size in self._pieces(mask):
            self._store(self._beyond(place, offset), src, offset, size)

    def _pieces(self, mask: Mask) -> Iterator[tuple[int, int]]:
        """Yield (offset, size) of the powers of two that the bytes of a mask consist of, the largest first."""
        total, offset = self.dtype.size * (self.lanes if mask is None else mask.bit_length()), 0
        for piece in (16, 8, 4, 2, 1):
            if total - offset >= piece:
                yield offset, piece
                offset += piece

    def transpose(self, block: list[V], free: list[V]) -> Block[V]:
        """Transpose by interleaving registers that lie half the block apart, three times.

        Each time turns the bits of (register, lane) by one place; three times exchange the two numbers. Registers of
        single bytes are half full: the first time fills half as many, and each ends up with two rows.
        """
        if self.dtype.size == 2:
            for _ in range(3):
                block, free = self._interleaved(block, free)
            return block, free
        full = free[:4]
        for target, first, second in zip(full, block[:4], block[4:]):
            self.zip_low(target, first, second)
        spare = block[:4]
        for _ in range(2):
            full, spare = self._interleaved(full, spare)
        rest = [register for register in (*block, *free) if register not in full]
        for upper, both in zip(rest, full):
            self._upper_half(upper, both)
        rows = [register for pair in zip(full, rest) for register in pair]
        return rows, rest[4:]

    def _interleaved(self, block: list[V], free: list[V]) -> Block[V]:
        half = len(block) // 2
        for i in range(half):
            self.zip_low(free[2 * i], block[i], block[i + half])
            self.zip_high(free[2 * i + 1], block[i], block[i + half])
        return free, block

    def load_strided(
        self, dst: V, base: R, offset: int, index: StrideIndex, count: int, temporaries: Sequence[V]
    ) -> None:
        for lane, place in enumerate(self._strided_places(base, offset, index, count)):
            self._load(dst, place, lane * self.dtype.size, self.dtype.size)

    def store_strided(
        self, base: R, offset: int, src: V, index: StrideIndex, count: int, temporaries: Sequence[V]
    ) -> None:
        for lane, place in enumerate(self._strided_places(base, offset, index, count)):
            self._store(place, src, lane * self.dtype.size, self.dtype.size)

    @abstractmethod
    def _beyond(self, place: A, offset: int) -> A: ...

    @abstractmethod
    def _load(self, dst: V, place: A, offset: int, size: int) -> None:
        """Bytes from `offset` of dst = so many bytes at a place; those before stay, if there are such."""

    @abstractmethod
    def _store(self, place: A, src: V, offset: int, size: int) -> None:
        """So many bytes at a place = those from `offset` of src."""

    @abstractmethod
    def _strided_places(self, base: R, offset: int, stride: R | int, count: int) -> Iterator[A]:
        """Yield the place of each lane, to be used before the next is asked for."""

    @abstractmethod
    def _upper_half(self, dst: V, src: V) -> None:
        """The low half of dst = the high half of src."""
