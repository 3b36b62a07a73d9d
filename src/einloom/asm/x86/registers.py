"""Registers and write masks of x86-64, interned, each with the bits that it contributes to an encoding.

Every class has a `kind`, a short text by which forms are chosen: `q` is a 64-bit register, `z` a zmm, `z{kz}` a
zeroing one.

>>> zmm[3] | k[1].z
zmm3 {k1} {z}
>>> rax + rcx * 4 + 64
rax + 4*rcx + 64
"""

from __future__ import annotations

from typing import ClassVar

from einloom.asm.register_file import RegisterFile
from einloom.errors import EncodingError

# A register that a prefix cannot name contributes a bit far above all code, so that one test, `code >= UNREACHABLE`,
# finds it. modrm.reg, vvvv, modrm.rm, addresses and forms have a bit each, since XOR would cancel equal ones.
UNREACHABLE = 1 << 200
NO_REG, NO_VVVV, NO_RM, NO_ADDRESS, NO_FORM = (UNREACHABLE << n for n in range(5))


def evex_bits(number: int) -> tuple[int, int, int]:
    """Return what a register flips in 62 P0 P1 P2 opcode modrm (little-endian) as modrm.reg, vvvv, modrm.rm."""
    low, bit3, bit4 = number & 7, number >> 3 & 1, number >> 4
    return bit3 << 15 | bit4 << 12 | low << 43, (number & 15) << 19 | bit4 << 27, bit3 << 13 | bit4 << 14 | low << 40


def vex3_bits(number: int) -> tuple[int, int, int]:
    """Return what a register flips in C4 P0 P1 opcode modrm as modrm.reg, vvvv, modrm.rm."""
    if number > 15:
        return NO_REG, NO_VVVV, NO_RM
    low, high = number & 7, number >> 3
    return high << 15 | low << 35, number << 19, high << 13 | low << 32


def vex2_bits(number: int) -> tuple[int, int, int]:
    """Return what a register flips in C5 P opcode modrm as modrm.reg, vvvv, modrm.rm (0 to 7 only)."""
    if number > 15:
        return NO_REG, NO_VVVV, NO_RM
    return number >> 3 << 15 | (number & 7) << 27, number << 11, number << 24 if number < 8 else NO_RM


EVEX_BITS, VEX3_BITS, VEX2_BITS = (tuple(map(bits, range(32))) for bits in (evex_bits, vex3_bits, vex2_bits))


class Register:
    """A register; `evex`, `vex3`, `vex2` hold what it contributes to an encoding as modrm.reg, vvvv and modrm.rm."""

    kind: ClassVar[str] = ""
    __slots__ = ("evex", "name", "number", "vex2", "vex3")

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.number = number
        self.evex = EVEX_BITS[number]
        self.vex3 = VEX3_BITS[number]
        self.vex2 = VEX2_BITS[number]

    def __repr__(self) -> str:
        return self.name


class R8(Register):
    """An 8-bit register: al, cl, … r15b. The high bytes (ah, …) are left out."""

    kind = "b"
    __slots__ = ()


class R16(Register):
    """A 16-bit register."""

    kind = "w"
    __slots__ = ()


class R32(Register):
    """A 32-bit register; writing it clears the upper half of the 64-bit one."""

    kind = "d"
    __slots__ = ()


class R64(Register):
    """A 64-bit register; sums of them make addresses for `mem[…]`.

    `direct[mod]` is (modrm, with a SIB byte where this base asks for one; their length) for mod 0, 1, 2.
    """

    kind = "q"
    __slots__ = ("direct", "high")

    def __init__(self, name: str, number: int) -> None:
        super().__init__(name, number)
        self.high = number >> 3
        sib, length = (0x2400, 2) if number & 7 == 4 else (0, 1)
        self.direct = tuple((sib | mod << 6 | number & 7, length) for mod in range(3))

    def __add__(self, other: Sum | R64 | int) -> Sum:
        return Sum(self) + other

    def __radd__(self, other: int) -> Sum:
        return Sum(self, other)

    def __sub__(self, other: int) -> Sum:
        return Sum(self) - other

    def __mul__(self, scale: int) -> Sum:
        return Sum(None, 0, self, scale)


class Vector(Register):
    """A vector register; `register | mask` merges, `register | mask.z` zeroes."""

    __slots__ = ("masked",)
    merging: ClassVar[type[Register]]
    zeroing: ClassVar[type[Register]]

    def __init__(self, name: str, number: int) -> None:
        super().__init__(name, number)
        self.masked: dict[Mask | ZeroingMask, Register] = {}

    def __or__(self, mask: Mask | ZeroingMask) -> Register:
        masked = self.masked.get(mask)
        if masked is None:
            masked = self.masked[mask] = _masked(self, mask, self.merging if type(mask) is Mask else self.zeroing)
        return masked

    def __add__(self, other: Sum | R64 | int) -> Sum:
        return Sum(None, 0, self) + other

    def __mul__(self, scale: int) -> Sum:
        return Sum(None, 0, self, scale)


class Mask(Register):
    """An AVX-512 mask register; `bits` is what it sets in an EVEX prefix as a merging write mask; `z` zeroes."""

    kind = "k"
    __slots__ = ("bits", "masked", "z")

    def __init__(self, name: str, number: int) -> None:
        super().__init__(name, number)
        self.bits = number << 24
        self.masked: dict[Mask, Register] = {}
        self.z = ZeroingMask(name, number)

    def __or__(self, mask: Mask) -> Register:
        masked = self.masked.get(mask)
        if masked is None:
            if isinstance(mask, ZeroingMask):
                raise EncodingError(f"{self} | {mask}: a mask register merges, it cannot zero\n  Take the mask itself.")
            masked = self.masked[mask] = _masked(self, mask, MergingK)
        return masked


class Tile(Register):
    """A tile register of AMX."""

    kind = "t"
    __slots__ = ()


class ZeroingMask:
    """`k[1].z`: the use of a mask register that writes zero where its bit is 0."""

    __slots__ = ("bits", "name", "number")

    def __init__(self, name: str, number: int) -> None:
        self.name = f"{name}}} {{z"
        self.number = number
        self.bits = number << 24 | 1 << 31

    def __repr__(self) -> str:
        return f"{{{self.name}}}"


def _masked(register: Register, mask: Mask | ZeroingMask, kind: type[Register]) -> Register:
    refuse_k0(register.name, mask)
    masked = kind(f"{register.name} {{{mask.name}}}", register.number)
    reg, vvvv, rm = masked.evex
    masked.evex = (reg ^ mask.bits, vvvv ^ mask.bits, rm ^ mask.bits)
    return masked


def refuse_k0(masked: str, mask: Mask | ZeroingMask) -> None:
    """Raise EncodingError for k0, whose number means "no mask" in the prefix, and for what is no mask."""
    if not isinstance(mask, Mask | ZeroingMask):
        raise EncodingError(f"{masked} | {mask!r:.80}: that is no write mask\n  Take k1 to k7, such as k[1] or k[1].z.")
    if mask.number == 0:
        raise EncodingError(f"{masked} | k0: k0 cannot be a write mask\n  Take k1 to k7, or leave the mask out.")


def _vector_type(name: str, letter: str) -> type[Vector]:
    """Return the class of a vector register and, as its attributes, those of its masked uses."""
    merging = type(f"Merging{name}", (Register,), {"kind": f"{letter}{{k}}", "__slots__": ()})
    zeroing = type(f"Zeroing{name}", (Register,), {"kind": f"{letter}{{kz}}", "__slots__": ()})
    return type(name, (Vector,), {"kind": letter, "merging": merging, "zeroing": zeroing, "__slots__": ()})


class MergingK(Register):
    """A mask register written under another mask."""

    kind = "k{k}"
    __slots__ = ()


class Sum:
    """base + index * scale + disp in bytes, as written inside `mem[…]`."""

    __slots__ = ("base", "disp", "index", "scale")

    def __init__(self, base: R64 | None, disp: int = 0, index: R64 | Vector | None = None, scale: int = 1) -> None:
        self.base = base
        self.disp = disp
        self.index = index
        self.scale = scale

    def __add__(self, other: Sum | R64 | Vector | int) -> Sum:
        if isinstance(other, int):
            return Sum(self.base, self.disp + other, self.index, self.scale)
        if isinstance(other, R64):
            other = Sum(other) if self.base is None else Sum(None, 0, other)
        elif isinstance(other, Vector):
            other = Sum(None, 0, other)
        if not isinstance(other, Sum) or (self.base and other.base) or (self.index and other.index):
            raise EncodingError(f"{self} + {other}: an address is base + index * scale + displacement")
        first = self if self.index else other
        return Sum(self.base or other.base, self.disp + other.disp, first.index, first.scale)

    def __radd__(self, other: int) -> Sum:
        return self + other

    def __sub__(self, other: int) -> Sum:
        if not isinstance(other, int):
            raise EncodingError(f"{self} - {other}: only a displacement, an integer of bytes, is subtracted")
        return self + -other

    def __repr__(self) -> str:
        parts = [str(self.base)] if self.base else []
        if self.index:
            parts.append(str(self.index) if self.scale == 1 else f"{self.scale}*{self.index}")
        if self.disp or not parts:
            parts.append(str(self.disp))
        return " + ".join(parts).replace("+ -", "- ")


class Rounding:
    """Embedded rounding: `{rn-sae}` and the like, the last operand of a form that takes it."""

    kind = "{er}"
    __slots__ = ("bits", "name")

    def __init__(self, name: str, bits: int) -> None:
        self.name = name
        self.bits = bits

    def __repr__(self) -> str:
        return self.name


class SuppressExceptions(Rounding):
    """`{sae}`: no exceptions, no rounding of its own."""

    kind = "{sae}"
    __slots__ = ()


Xmm, Ymm, Zmm = _vector_type("Xmm", "x"), _vector_type("Ymm", "y"), _vector_type("Zmm", "z")

_CLASSIC = ("ax", "cx", "dx", "bx", "sp", "bp", "si", "di")
_BYTES = ("al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil")
gpr64 = RegisterFile(R64(f"r{_CLASSIC[n] if n < 8 else n}", n) for n in range(16))
gpr32 = RegisterFile(R32(f"e{_CLASSIC[n]}" if n < 8 else f"r{n}d", n) for n in range(16))
gpr16 = RegisterFile(R16(_CLASSIC[n] if n < 8 else f"r{n}w", n) for n in range(16))
gpr8 = RegisterFile(R8(_BYTES[n] if n < 8 else f"r{n}b", n) for n in range(16))
xmm = RegisterFile(Xmm(f"xmm{n}", n) for n in range(32))
ymm = RegisterFile(Ymm(f"ymm{n}", n) for n in range(32))
zmm = RegisterFile(Zmm(f"zmm{n}", n) for n in range(32))
k = RegisterFile(Mask(f"k{n}", n) for n in range(8))
tmm = RegisterFile(Tile(f"tmm{n}", n) for n in range(8))

# What they set in P2: b, and the rounding mode in the place of the vector length.
sae = SuppressExceptions("{sae}", 1 << 28)
rn_sae, rd_sae, ru_sae, rz_sae = (
    Rounding(f"{{{mode}-sae}}", code << 29 | 1 << 28) for code, mode in enumerate(("rn", "rd", "ru", "rz"))
)
