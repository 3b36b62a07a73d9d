"""Vectors of elements that are only moved: 8 of 1 or 2 bytes, in the low half or the whole of a 128-bit register.

Copies and transpositions are all that there is for these types, so the verbs are those that `elementwise` and
`transposition` need for them. Edges are moved in pieces of 8, 4, 2 and 1 bytes: no ISA masks single bytes everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from einloom.asm.aarch64.operands import b, d, h, q, s, v, x
from einloom.asm.aarch64.operands import mem as mem_aarch64
from einloom.asm.x86.operands import mem, r11, xmm
from einloom.dtypes import DType
from einloom.kernels.verbs.machine import Place

if TYPE_CHECKING:
    from einloom.kernels.verbs.aarch64 import AArch64Machine
    from einloom.kernels.verbs.x86 import X86Machine

__all__ = ["MovedNeon", "MovedX86"]

Register = Any
WALK = x[17]
"""Of the machine's own registers the one that addresses do not need."""


class MovedVectors(ABC):
    """What both ISAs share; the verbs are those of `verbs.machine.VectorMachine`. Masks are numbers of lanes."""

    lanes = 8
    index_bytes = 0
    memory_operand = broadcast_operand = multiplies_in_place = scales = keeps_nan = False
    nan_table = 0
    conditions: tuple[Any, ...] = ()

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype

    def mask(self, count: int) -> int | None:
        """Return the number of lanes that a part of a vector has, None for a whole one."""
        return None if count == self.lanes else count

    def load(self, dst: Register, place: Place, mask: int | None = None) -> None:
        """dst = the lanes at a place; what lies behind them is not read."""
        for offset, size in _pieces((mask or self.lanes) * self.dtype.size):
            self._load(dst, self._beyond(place, offset), offset, size)

    def store(
        self, place: Place, src: Register, mask: int | None = None, nontemporal: bool = False, temporary: Any = None
    ) -> None:
        """The lanes at a place = src; what lies behind them is not written. Nothing is non-temporal here."""
        for offset, size in _pieces((mask or self.lanes) * self.dtype.size):
            self._store(self._beyond(place, offset), src, offset, size)

    def transpose(self, block: list[Register], free: list[Register]) -> tuple[list[Register], list[Register]]:
        """Transpose a block of 8 registers with as many free ones; return (where it is now, the others).

        Interleaving registers that lie half the block apart turns the bits of (register, lane) by one place; three
        turns exchange the two numbers. Registers of single bytes are half full: the first turn fills half as many, and
        each ends up with two rows.
        """
        if self.dtype.size == 2:
            for _ in range(3):
                block, free = self._turned(block, free)
            return block, free
        full = free[:4]
        for target, first, second in zip(full, block[:4], block[4:]):
            self._low(target, first, second)
        spare = block[:4]
        for _ in range(2):
            full, spare = self._turned(full, spare)
        rest = [register for register in (*block, *free) if register not in full]
        for upper, both in zip(rest, full):
            self._upper_half(upper, both)
        rows = [register for pair in zip(full, rest) for register in pair]
        return rows, rest[4:]

    def _turned(self, block: list[Register], free: list[Register]) -> tuple[list[Register], list[Register]]:
        half = len(block) // 2
        for i in range(half):
            self._low(free[2 * i], block[i], block[i + half])
            self._high(free[2 * i + 1], block[i], block[i + half])
        return free, block

    def stride_index(self, stride: Any, slot: int, temporary: Any) -> Any:
        """Return what strided accesses need to know of a stride in bytes."""
        return stride

    def load_strided(self, dst: Register, base: Any, offset: int, index: Any, count: int, temporaries: Any) -> None:
        """dst = `count` elements that lie a stride apart."""
        for lane, place in enumerate(self._places(base, offset, index, count)):
            self._load(dst, place, lane * self.dtype.size, self.dtype.size)

    def store_strided(self, base: Any, offset: int, src: Register, index: Any, count: int, temporaries: Any) -> None:
        """`count` elements that lie a stride apart = the first lanes of src."""
        for lane, place in enumerate(self._places(base, offset, index, count)):
            self._store(place, src, lane * self.dtype.size, self.dtype.size)

    @abstractmethod
    def _beyond(self, place: Place, offset: int) -> Place: ...

    @abstractmethod
    def _load(self, dst: Register, place: Place, offset: int, size: int) -> None:
        """Bytes from `offset` of dst = so many bytes at a place; those before stay, if there are such."""

    @abstractmethod
    def _store(self, place: Place, src: Register, offset: int, size: int) -> None: ...

    @abstractmethod
    def _places(self, base: Any, offset: int, stride: Any, count: int) -> Iterator[Place]: ...

    @abstractmethod
    def _low(self, dst: Register, first: Register, second: Register) -> None: ...

    @abstractmethod
    def _high(self, dst: Register, first: Register, second: Register) -> None: ...

    @abstractmethod
    def _upper_half(self, dst: Register, src: Register) -> None: ...


class MovedX86(MovedVectors):
    """AVX2's instructions, which processors with AVX-512 have as well."""

    registers: tuple[Register, ...] = xmm[:16]

    def __init__(self, km: X86Machine, dtype: DType) -> None:
        super().__init__(dtype)
        asm = self.asm = km.asm
        self._unpack = {1: (asm.vpunpcklbw, asm.vpunpckhbw), 2: (asm.vpunpcklwd, asm.vpunpckhwd)}[dtype.size]
        self._insert = {4: asm.vpinsrd, 2: asm.vpinsrw, 1: asm.vpinsrb}
        self._extract = {4: asm.vpextrd, 2: asm.vpextrw, 1: asm.vpextrb}

    def _beyond(self, place: Place, offset: int) -> Place:
        return mem(place.base, place.disp + offset, place.index, place.scale) if offset else place

    def _load(self, dst: Register, place: Place, offset: int, size: int) -> None:
        if size >= 8:
            (self.asm.vmovdqu if size == 16 else self.asm.vmovq)(dst, place)
        elif size == 4 and offset == 0:
            self.asm.vmovd(dst, place)
        else:
            if offset == 0:
                self.zero(dst)
            self._insert[size](dst, dst, place, offset // size)

    def _store(self, place: Place, src: Register, offset: int, size: int) -> None:
        if size >= 8:
            (self.asm.vmovdqu if size == 16 else self.asm.vmovq)(place, src)
        else:
            self._extract[size](place, src, offset // size)

    def _places(self, base: Any, offset: int, stride: Any, count: int) -> Iterator[Place]:
        if isinstance(stride, int):
            yield from (mem(base, offset + lane * stride) for lane in range(count))
            return
        self.asm.lea(r11, mem(base, offset))
        for lane in range(count):
            if lane:
                self.asm.add(r11, stride)
            yield mem(r11)

    def _low(self, dst: Register, first: Register, second: Register) -> None:
        self._unpack[0](dst, first, second)

    def _high(self, dst: Register, first: Register, second: Register) -> None:
        self._unpack[1](dst, first, second)

    def _upper_half(self, dst: Register, src: Register) -> None:
        self.asm.vpunpckhqdq(dst, src, src)

    def zero(self, dst: Register) -> None:
        """dst = 0."""
        self.asm.vpxor(dst, dst, dst)

    def copy(self, dst: Register, src: Register) -> None:
        """dst = src."""
        self.asm.vmovdqu(dst, src)

    def broadcast(self, dst: Register, place: Place) -> None:
        """Every lane of dst = the element at a place."""
        (self.asm.vpbroadcastb if self.dtype.size == 1 else self.asm.vpbroadcastw)(dst, place)

    def finish(self) -> None:
        """Nothing is left to do: the upper halves of registers were not used."""


class MovedNeon(MovedVectors):
    """Registers v0 … v7 and v16 … v31, which a function may clobber."""

    registers: tuple[Register, ...] = (*v[:8], *v[16:32])

    def __init__(self, km: AArch64Machine, dtype: DType) -> None:
        super().__init__(dtype)
        self.km = km
        self.asm = km.asm
        self._view = "b16" if dtype.size == 1 else "h8"

    def _beyond(self, place: Place, offset: int) -> Place:
        return mem_aarch64(place.base, place.offset + offset) if offset else place

    def _load(self, dst: Register, place: Place, offset: int, size: int) -> None:
        if offset == 0:
            self.asm.ldr({16: q, 8: d, 4: s, 2: h, 1: b}[size][dst.number], self.km.near(place, size))
        else:
            self.asm.ld1((self._lane(dst, offset, size),), self.km.at(place))

    def _store(self, place: Place, src: Register, offset: int, size: int) -> None:
        if offset == 0:
            self.asm.str({16: q, 8: d, 4: s, 2: h, 1: b}[size][src.number], self.km.near(place, size))
        else:
            self.asm.st1((self._lane(src, offset, size),), self.km.at(place))

    def _lane(self, register: Register, offset: int, size: int) -> Any:
        return getattr(v[register.number], {8: "d", 4: "s", 2: "h", 1: "b"}[size])[offset // size]

    def _places(self, base: Any, offset: int, stride: Any, count: int) -> Iterator[Place]:
        if isinstance(stride, int):
            yield from (mem_aarch64(base, offset + lane * stride) for lane in range(count))
            return
        self.km.sum_constant(WALK, base, offset)
        for lane in range(count):
            if lane:
                self.km.add(WALK, stride)
            yield mem_aarch64(WALK)

    def _low(self, dst: Register, first: Register, second: Register) -> None:
        self.asm.zip1(*(getattr(register, self._view) for register in (dst, first, second)))

    def _high(self, dst: Register, first: Register, second: Register) -> None:
        self.asm.zip2(*(getattr(register, self._view) for register in (dst, first, second)))

    def _upper_half(self, dst: Register, src: Register) -> None:
        self.asm.dup(dst.d2, src.d[1])

    def zero(self, dst: Register) -> None:
        """dst = 0."""
        self.asm.movi(dst.d2, 0)

    def copy(self, dst: Register, src: Register) -> None:
        """dst = src."""
        self.asm.mov(dst.b16, src.b16)

    def broadcast(self, dst: Register, place: Place) -> None:
        """Every lane of dst = the element at a place."""
        self.asm.ld1r((getattr(dst, self._view),), self.km.at(place))

    def finish(self) -> None:
        """Nothing is left to do at the end of a function that used vectors."""


def _pieces(size: int) -> Iterator[tuple[int, int]]:
    """Yield (offset, size) of the powers of two that so many bytes consist of, the largest first."""
    offset = 0
    for piece in (16, 8, 4, 2, 1):
        if size - offset >= piece:
            yield offset, piece
            offset += piece
