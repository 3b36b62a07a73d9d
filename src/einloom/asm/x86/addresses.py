"""Memory addresses of x86-64: `mem(base, disp, index, scale)`, or `mem[…]` with a sum, or `mem(label)` relative to rip.

Displacements are in bytes. The size of the access follows from the instruction; `mem.dword(…)` states it where two forms
differ in nothing else.

>>> mem(rdi, 64)
[rdi + 64]
>>> mem[rax + rcx * 4 + 64].bcst
[rax + 4*rcx + 64]{bcst}
>>> mem.dword(rdi) | k[1]
dword ptr [rdi] {k1}
"""

from __future__ import annotations

import operator
from functools import cache
from typing import Any, ClassVar

from einloom.asm.assembler import Label
from einloom.asm.x86.registers import R64, Mask, Sum, Vector, refuse_k0
from einloom.errors import EncodingError

SIZE_NAMES = {1: "byte", 2: "word", 4: "dword", 8: "qword", 16: "xmmword", 32: "ymmword", 64: "zmmword"}
SCALES = {1: 0, 2: 1, 4: 2, 8: 3}


class Address:
    """base + disp. Subclasses add an index, a label; their `kind` tells a stated size, a broadcast, a write mask."""

    kind: ClassVar[str] = "m"
    size: ClassVar[int] = 0
    plain: ClassVar[type[Address]]
    __slots__ = ("base", "disp", "index", "mask", "scale")

    def __init__(self, base: Any, disp: int = 0, index: Any = None, scale: int = 1, mask: Mask | None = None) -> None:
        self.base = base
        self.disp = disp
        self.index = index
        self.scale = scale
        self.mask = mask

    def locate(self, unit: int) -> tuple[int, int, int]:
        """Return (modrm, SIB and displacement as a little-endian number; their length; high bits of index and base).

        `unit` is what an 8-bit displacement counts in: 1 byte, or N in EVEX.
        """
        base, disp = self.base, self.disp
        if disp == 0 and base.number & 7 != 5:
            modrm, length = base.direct[0]
            return modrm, length, base.high
        steps, rest = divmod(disp, unit)
        if rest == 0 and -128 <= steps < 128:
            modrm, length = base.direct[1]
            return modrm | (steps & 255) << 8 * length, length + 1, base.high
        modrm, length = base.direct[2]
        return modrm | self.disp32() << 8 * length, length + 4, base.high

    def disp32(self) -> int:
        """Return the displacement as 32 unsigned bits."""
        if not -(1 << 31) <= self.disp < 1 << 31:
            raise EncodingError(
                f"{self}: the displacement has more than 32 bits\n  Add a part of it to the base register."
            )
        return self.disp & 0xFFFFFFFF

    @property
    def bcst(self) -> Address:
        """The same address, one element of which the instruction broadcasts to all lanes."""
        return _variant(self.plain, self.size, True, self.mask is not None)(
            self.base, self.disp, self.index, self.scale, self.mask
        )

    def __or__(self, mask: Mask) -> Address:
        if type(mask) is not Mask:
            raise EncodingError(f"{self} | {mask}: a store merges, it cannot zero\n  Take the mask itself: k[1].")
        refuse_k0(str(self), mask)
        kind = _variant(self.plain, self.size, self.kind.endswith("b"), True)
        return kind(self.base, self.disp, self.index, self.scale, mask)

    def text(self, size: int) -> str:
        """Return the address in assembly notation, with the size of the access in bytes (0: without)."""
        name = f"{SIZE_NAMES[size]} ptr " if size else ""
        return f"{name}[{Sum(self.base, self.disp, self.index, self.scale)}]"

    def __repr__(self) -> str:
        mask = f" {{{self.mask}}}" if self.mask else ""
        return self.text(self.size) + ("{bcst}" if "b" in self.kind else "") + mask


class IndexedAddress(Address):
    """base + index * scale + disp, with or without base or index."""

    __slots__ = ()

    def locate(self, unit: int) -> tuple[int, int, int]:
        """See Address."""
        base, index, disp = self.base, self.index, self.disp
        sib = SCALES[self.scale] << 14 | ((index.number & 7) << 11 if index else 0x2000)
        high = (index.number >> 3) << 1 if index else 0  # bit 2 is there for vector registers 16 to 31
        if base is None:
            return 0x0504 | sib | self.disp32() << 16, 6, high
        sib |= 4 | (base.number & 7) << 8
        high |= base.high
        if disp == 0 and base.number & 7 != 5:
            return sib, 2, high
        steps, rest = divmod(disp, unit)
        if rest == 0 and -128 <= steps < 128:
            return sib | 0x40 | (steps & 255) << 16, 3, high
        return sib | 0x80 | self.disp32() << 16, 6, high


class VectorAddress(IndexedAddress):
    """base + (each element of a vector register) * scale + disp, of a gather or a scatter."""

    __slots__ = ()


class VectorAddressX(VectorAddress):
    """A vector of addresses with an xmm index."""

    kind = "vx"
    __slots__ = ()


class VectorAddressY(VectorAddress):
    """A vector of addresses with a ymm index."""

    kind = "vy"
    __slots__ = ()


class VectorAddressZ(VectorAddress):
    """A vector of addresses with a zmm index."""

    kind = "vz"
    __slots__ = ()


class RelativeAddress(Address):
    """A label's address + disp, relative to the next instruction."""

    __slots__ = ()

    def locate(self, unit: int) -> tuple[int, int, int]:
        """See Address; the displacement is written by a fix-up."""
        return 0x05, 5, 0

    def text(self, size: int) -> str:
        """See Address."""
        name = f"{SIZE_NAMES[size]} ptr " if size else ""
        disp = f" {'+' if self.disp > 0 else '-'} {abs(self.disp)}" if self.disp else ""
        return f"{name}[rip + {self.base.name}{disp}]"


@cache
def _variant(plain: type[Address], size: int, broadcast: bool, masked: bool) -> type[Address]:
    """Return the class of a kind of address with a stated size, a broadcast, a write mask."""
    if not (size or broadcast or masked):
        return plain
    kind = f"{plain.kind}{8 * size or ''}{'b' * broadcast}{'{k}' * masked}"
    return type(f"{plain.__name__}_{kind}", (plain,), {"kind": kind, "size": size, "plain": plain, "__slots__": ()})


_VECTOR_ADDRESSES = {"x": VectorAddressX, "y": VectorAddressY, "z": VectorAddressZ}
for _plain in (Address, IndexedAddress, RelativeAddress, *_VECTOR_ADDRESSES.values()):
    _plain.plain = _plain


class AddressMaker:
    """`mem(…)`, `mem[…]` and `mem.dword(…)`: makes addresses of a stated size in bytes, 0 for "as the instruction has it"."""

    __slots__ = ("byte", "direct", "dword", "qword", "size", "word", "xmmword", "ymmword", "zmmword")

    def __init__(self, size: int = 0) -> None:
        self.size = size
        self.direct = _variant(Address, size, False, False)
        if size == 0:
            for number, name in SIZE_NAMES.items():
                setattr(self, name, AddressMaker(number))

    def __call__(self, base: Any, disp: int = 0, index: Any = None, scale: int = 1) -> Address:
        """Return base + disp + index * scale; base is a 64-bit register, a label or None, disp in bytes."""
        if type(disp) is not int:
            disp = operator.index(disp)
        if index is None and type(base) is R64:
            return self.direct(base, disp)
        if base is None and type(index) is R64 and scale == 1:
            return self.direct(index, disp)  # shorter
        return self._variant(base, index, scale)(base, disp, index, scale)

    def __getitem__(self, place: Any) -> Address:
        """Return the address that a sum such as rax + rcx * 4 + 64 describes."""
        if isinstance(place, Sum):
            return self(place.base, place.disp, place.index, place.scale)
        return self(None, place) if isinstance(place, int) else self(place)

    def _variant(self, base: Any, index: Any, scale: int) -> type[Address]:
        if scale not in SCALES:
            raise EncodingError(f"scale {scale}: an index counts in 1, 2, 4 or 8 bytes")
        if isinstance(base, Label) and index is None:
            return _variant(RelativeAddress, self.size, False, False)
        if base is not None and type(base) is not R64:
            raise EncodingError(
                f"base {base}: an address starts from a 64-bit register or, without index, from a label"
            )
        if isinstance(index, Vector):
            return _variant(_VECTOR_ADDRESSES[index.kind], self.size, False, False)
        if index is not None and (type(index) is not R64 or index.number == 4):
            raise EncodingError(f"index {index}: an index is a vector register or a 64-bit register other than rsp")
        return _variant(IndexedAddress, self.size, False, False)


mem = AddressMaker()
