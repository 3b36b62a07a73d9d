"""Memory addresses of x86-64: `mem(base, disp, index, scale)`, `mem[sum]`, or `mem(label)` relative to rip.

Displacements are in bytes. The size of the access follows from the instruction; `mem.dword(…)` states it where two
forms differ in nothing else.

>>> mem(rdi, 64)
[rdi + 64]
>>> mem[rax + rcx * 4 + 64].bcst
[rax + 4*rcx + 64]{bcst}
>>> mem.dword(rdi) | k[1]
dword ptr [rdi] {k1}
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, Self, SupportsIndex

from einloom.asm.assembler import Label
from einloom.asm.x86.registers import R64, Mask, Sum, Vector, ZeroingMask, refuse_k0
from einloom.errors import EncodingError

SIZE_NAMES = {1: "byte", 2: "word", 4: "dword", 8: "qword", 16: "xmmword", 32: "ymmword", 64: "zmmword"}
SCALES = {1: 0, 2: 1, 4: 2, 8: 3}


class Address(tuple[Any, ...]):
    """base + disp. Subclasses add an index or start from a label.

    `kind` chooses the form: `m`, with the bits of a stated size `m32`, `b` for a broadcast, `{k}` for a write mask.
    It is a value, (kind, base, disp, index, scale, mask) up to the last that says something: an instruction that is
    written again with an equal address is found, not encoded.
    """

    __slots__ = ()
    kind: ClassVar[str] = "m"
    size: ClassVar[int] = 0  # as stated, in bytes
    base: Any = property(operator.itemgetter(1))
    disp: Any = property(operator.itemgetter(2))
    index: Any = None
    scale: Any = 1
    mask: Any = None

    def __new__(cls, base: Any, disp: int = 0) -> Self:
        return tuple.__new__(cls, (cls.kind, base, disp))

    @staticmethod
    def at(base: R64, disp: int = 0, make: Any = tuple.__new__) -> Address:
        """Return base + disp of no stated size: what is made most often, without asking what it is."""
        return make(Address, ("m", base, disp))

    def locate(self, unit: int) -> tuple[int, int, int]:
        """Return (modrm, SIB and displacement as a little-endian number; their length; high bits of index and base).

        `unit` is what an 8-bit displacement counts in: 1 byte, or N in EVEX.
        """
        base, disp = self[1], self[2]
        if disp == 0 and base.number & 7 != 5:
            modrm, length = base.direct[0]
            return modrm, length, base.high
        steps = disp // unit
        if -128 <= steps < 128 and steps * unit == disp:
            modrm, length = base.direct[1]
            return modrm | (steps & 255) << 8 * length, length + 1, base.high
        modrm, length = base.direct[2]
        if not -0x80000000 <= disp <= 0x7FFFFFFF:
            raise self._too_far()
        return modrm | (disp & 0xFFFFFFFF) << 8 * length, length + 4, base.high

    def _too_far(self) -> EncodingError:
        hint = "Add a part of it to the base register."
        return EncodingError(f"{self}: the displacement has more than 32 bits\n  {hint}")

    @property
    def bcst(self) -> Address:
        """The same address, one element of which the instruction broadcasts to all lanes."""
        if type(self) is Address:
            return tuple.__new__(_DIRECT_BROADCAST, ("mb", self[1], self[2]))
        return self._as(_broadcast(type(self)))

    def __or__(self, mask: Mask | ZeroingMask) -> Address:
        if type(mask) is not Mask:
            raise EncodingError(f"{self} | {mask}: a store merges, it cannot zero\n  Take the mask itself: k[1].")
        if mask.number == 0:
            refuse_k0(str(self), mask)
        return self._as(_masked(type(self)), mask)

    def _as(self, kind: type[Address], *mask: Mask) -> Address:
        """Return the same address as one of another class, under a mask where one is given."""
        return tuple.__new__(kind, (kind.kind, *self[1:], *mask))

    def text(self, size: int) -> str:
        """Return the address in assembly notation, with the size of the access in bytes (0: without)."""
        name = f"{SIZE_NAMES[size]} ptr " if size else ""
        return f"{name}[{self._sum()}]"

    def _sum(self) -> str:
        return str(Sum(self.base, self.disp, self.index, self.scale))

    def __repr__(self) -> str:
        mask = f" {{{self.mask}}}" if self.mask else ""
        return self.text(self.size) + "{bcst}" * ("b" in self.kind) + mask


class IndexedAddress(Address):
    """base + index * scale + disp, with or without base or index."""

    __slots__ = ()
    index: Any = property(operator.itemgetter(3))
    scale: Any = property(operator.itemgetter(4))

    def __new__(cls, base: R64 | None, disp: int = 0, index: R64 | Vector | None = None, scale: int = 1) -> Self:
        return tuple.__new__(cls, (cls.kind, base, disp, index, scale))

    def locate(self, unit: int) -> tuple[int, int, int]:
        """See Address."""
        _, base, disp, index, scale, *_ = self
        sib = SCALES[scale] << 14 | ((index.number & 7) << 11 if index else 0x2000)
        high = (index.number >> 3) << 1 if index else 0  # bit 2 is there for vector registers 16 to 31
        if not -0x80000000 <= disp <= 0x7FFFFFFF:
            raise self._too_far()
        if base is None:
            return 0x0504 | sib | (disp & 0xFFFFFFFF) << 16, 6, high
        sib |= 4 | (base.number & 7) << 8
        high |= base.high
        if disp == 0 and base.number & 7 != 5:
            return sib, 2, high
        steps = disp // unit
        if -128 <= steps < 128 and steps * unit == disp:
            return sib | 0x40 | (steps & 255) << 16, 3, high
        return sib | 0x80 | (disp & 0xFFFFFFFF) << 16, 6, high


class VectorAddressX(IndexedAddress):
    """base + (each element of an xmm register) * scale + disp, of a gather or a scatter."""

    kind = "vx"
    __slots__ = ()


class VectorAddressY(IndexedAddress):
    """The same with a ymm register."""

    kind = "vy"
    __slots__ = ()


class VectorAddressZ(IndexedAddress):
    """The same with a zmm register."""

    kind = "vz"
    __slots__ = ()


class RelativeAddress(Address):
    """A label's address + disp, relative to the next instruction. A fix-up writes the displacement."""

    __slots__ = ()

    def locate(self, unit: int) -> tuple[int, int, int]:
        """See Address."""
        return 0x05, 5, 0

    def _sum(self) -> str:
        disp = f" {'-' if self.disp < 0 else '+'} {abs(self.disp)}" if self.disp else ""
        return f"rip + {self.base.name}{disp}"


@cache
def _sized(kind: type[Address], size: int) -> type[Address]:
    """Return the class of addresses with a stated size in bytes."""
    return _subclass(kind, f"{8 * size}", size=size) if size else kind


@cache
def _broadcast(kind: type[Address]) -> type[Address]:
    """Return the class of addresses of one element for all lanes."""
    return _subclass(kind, "b")


@cache
def _masked(kind: type[Address]) -> type[Address]:
    """Return the class of addresses under a write mask."""
    return _subclass(kind, "{k}", mask=property(operator.itemgetter(-1)))


def _subclass(kind: type[Address], suffix: str, **members: Any) -> type[Address]:
    return type(kind.__name__ + suffix, (kind,), {"__slots__": (), **members, "kind": kind.kind + suffix})


VECTOR_ADDRESSES = {"x": VectorAddressX, "y": VectorAddressY, "z": VectorAddressZ}


_DIRECT_BROADCAST = _broadcast(Address)


class AddressMaker:
    """`mem(…)`, `mem[…]`, `mem.dword(…)`: makes addresses of a stated size in bytes, or 0: as the instruction says."""

    __slots__ = ("byte", "direct", "dword", "qword", "size", "word", "xmmword", "ymmword", "zmmword")

    def __init__(self, size: int = 0) -> None:
        self.size = size
        self.direct: Callable[..., Address] = _sized(Address, size) if size else Address.at
        if size == 0:
            for number, name in SIZE_NAMES.items():
                setattr(self, name, AddressMaker(number))

    def __call__(self, base: Any, disp: SupportsIndex = 0, index: Any = None, scale: int = 1) -> Address:
        """Return base + disp + index * scale; base is a 64-bit register, a label or None, disp in bytes."""
        if type(disp) is not int:
            disp = _displacement(disp)
        if index is None and scale == 1:
            if type(base) is R64:
                return self.direct(base, disp)
            if isinstance(base, Label):
                return _sized(RelativeAddress, self.size)(base, disp)
        elif base is None and type(index) is R64 and scale == 1:
            return self.direct(index, disp)  # shorter
        kind: Any = _sized(_indexed(base, index, scale), self.size)
        return kind(base, disp, index, scale)

    def __getitem__(self, place: Any) -> Address:
        """Return the address that a sum such as rax + rcx * 4 + 64 describes."""
        if isinstance(place, Sum):
            return self(place.base, place.disp, place.index, place.scale)
        return self(None, place) if isinstance(place, int) else self(place)


def _displacement(disp: Any) -> int:
    try:
        return operator.index(disp)
    except TypeError:
        raise EncodingError(f"{disp!r} is no displacement: an integer of bytes") from None


def _indexed(base: Any, index: Any, scale: int) -> type[IndexedAddress]:
    """Return the class of base + index * scale. Raises EncodingError for what no address can hold."""
    if not isinstance(scale, int) or scale not in SCALES:
        raise EncodingError(f"scale {scale}: an index counts in 1, 2, 4 or 8 bytes")
    if index is None and scale != 1:
        raise EncodingError(f"scale {scale}: there is no index to multiply")
    if base is not None and type(base) is not R64:
        raise EncodingError(f"base {base}: an address starts from a 64-bit register or, without index, from a label")
    if isinstance(index, Vector):
        return VECTOR_ADDRESSES[index.kind]
    if index is not None and (type(index) is not R64 or index.number == 4):
        raise EncodingError(f"index {index}: an index is a vector register or a 64-bit register other than rsp")
    return IndexedAddress


mem = AddressMaker()
