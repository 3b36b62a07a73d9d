"""What the vector verbs on AVX2 and AVX-512 share: instructions by the type of elements, transpositions, constants."""

from __future__ import annotations

import struct
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from einloom.asm.x86.operands import R64, Address, Vector, mem, xmm
from einloom.dtypes import DType
from einloom.kernels.verbs.fold import fold_lanes
from einloom.kernels.verbs.interleave import in_row_order, interleave
from einloom.kernels.verbs.products import vectors_of
from einloom.kernels.verbs.vector import Block, FormulaVerbs, Verb
from einloom.kernels.verbs.x86 import X86Machine

__all__ = ["INSTRUCTIONS", "LOW", "X86Vectors"]

# Predicates of comparisons: all but "ne" are false where an operand is NaN, and none of them signals.
PREDICATES = {"eq": 0, "lt": 17, "le": 18, "ne": 4, "ge": 29, "gt": 30}

# Instructions whose names end in `ps` or `pd`, by verb.
INSTRUCTIONS = {
    "_mov": "vmovu",
    "_stream": "vmovnt",
    "_compare": "vcmp",
    "fma": "vfmadd231",
    "fnma": "vfnmadd231",
    "multiply_add": "vfmadd213",
    "add": "vadd",
    "sub": "vsub",
    "mul": "vmul",
    "product": "vmul",
    "div": "vdiv",
    "min": "vmin",
    "max": "vmax",
    "sqrt": "vsqrt",
    "bit_and": "vand",
    "bit_or": "vor",
    "bit_xor": "vxor",
}


PART = 16
"""Bytes within which shuffles of AVX exchange elements: vectors consist of such parts."""

LOW = tuple(xmm)
"""The lowest 128 bits of vector registers, by numbers that nobody has to check."""


class X86Vectors(FormulaVerbs[R64, Vector, Address]):
    """Verbs that are the same on both, and what they are made of."""

    width: ClassVar[int]  # of a register in bytes
    mnemonics: ClassVar[Mapping[str, str]] = INSTRUCTIONS
    memory_operand = True
    keeps_nan = False
    elements = None

    _mov: Verb
    _stream: Verb
    _broadcast: Verb
    _compare: Verb
    _insert_part: Verb  # 128 bits

    def __init__(self, km: X86Machine, dtype: DType) -> None:
        self.km = km
        self.dtype = dtype
        self.lanes = self.width // dtype.size
        self.part = PART // dtype.size
        self.working = self.registers[: vectors_of(km.machine.vectors, dtype).registers]
        self.asm = km.asm
        vars(self).update(self._instructions(km, dtype.size))
        self.load_transposed = self._load_transposed

    @classmethod
    def _instructions(cls, km: X86Machine, size: int) -> dict[str, Verb]:
        """Return the assembler's methods for elements of so many bytes, by verb; looked up once a program."""
        found = km.instructions.get(size)
        if found is None:
            suffix, scalar, integer = {4: ("ps", "ss", "d"), 8: ("pd", "sd", "q")}[size]
            names = {verb: mnemonic + suffix for verb, mnemonic in cls.mnemonics.items()}
            names |= {"shift_left": f"vpsll{integer}", "shift_right": f"vpsrl{integer}"}
            names["_broadcast"] = f"vbroadcast{scalar}"
            found = km.instructions[size] = {verb: getattr(km.asm, name) for verb, name in names.items()}
        return found

    @property
    def is_single(self) -> bool:
        """Whether elements are float32."""
        return self.dtype.size == 4

    def broadcast(self, dst: Vector, place: Address) -> None:
        self._broadcast(dst, place)

    def broadcast_constant(self, dst: Vector, value: float) -> None:
        self._broadcast(dst, mem(self.asm.data(struct.pack("<f" if self.is_single else "<d", value))))

    def copy(self, dst: Vector, src: Vector) -> None:
        self._mov(dst, src)

    def finish(self) -> None:
        """End a function that used vectors: SSE code that follows runs at full speed."""
        self.asm.vzeroupper()

    # Transpositions

    def _load_transposed(
        self, lines: Iterable[tuple[R64, int]], block: list[Vector], free: list[Vector]
    ) -> Block[Vector]:
        """Load parts of 128 bits to where they belong, which spares half of the shuffles."""
        line, insert = -1, self._insert_part
        for line, (base, offset) in enumerate(lines):
            part, row = divmod(line, self.part)
            for register in block[row :: self.part]:
                place = mem.direct(base, offset)
                if part == 0:
                    self._mov(LOW[register.number], place)
                else:
                    insert(register, register, place, part)
                offset += PART
        for row in range(line + 1, self.part):
            for register in block[row :: self.part]:
                self.zero(register)
        return self._transpose_parts(block, free)

    def _transpose_parts(self, block: list[Vector], free: list[Vector]) -> Block[Vector]:
        """Transpose inside every 128 bits."""
        asm = self.asm
        if not self.is_single:
            return interleave(block, free, asm.vunpcklpd, asm.vunpckhpd, 1)
        block, free = interleave(block, free, asm.vunpcklps, asm.vunpckhps, 1)
        return in_row_order(*interleave(block, free, asm.vunpcklpd, asm.vunpckhpd, 2))

    # Lanes of several registers folded into one

    def sum_lanes(self, registers: list[Vector], temporary: Vector, group: int = 1) -> None:
        fold_lanes(self, registers, temporary, lambda first, second: self.add(first, first, second), group)

    def split_lanes(self, level: int, first: Vector, second: Vector, temporary: Vector, group: int = 1) -> None:
        """Take neighbours apart in every 128 bits, then among the 128-bit parts."""
        size = group * self.dtype.size
        if size << level >= PART:
            self._split_parts(first, second, temporary)
        elif size == 4:
            self.asm.vshufps(temporary, first, second, 0x88)
            self.asm.vshufps(first, first, second, 0xDD)
        else:
            self.asm.vunpcklpd(temporary, first, second)
            self.asm.vunpckhpd(first, first, second)

    # Neighbours

    def swap_neighbours(self, dst: Vector, src: Vector) -> None:
        if self.is_single:
            self.asm.vpermilps(dst, src, 0xB1)
        else:
            self.asm.vpermilpd(dst, src, 0x55)

    def repeat_neighbour(self, dst: Vector, src: Vector, odd: bool) -> None:
        if not self.is_single:
            self.asm.vpermilpd(dst, src, 0xFF if odd else 0)
        elif odd:
            self.asm.vmovshdup(dst, src)
        else:
            self.asm.vmovsldup(dst, src)

    def load_lanes(self, dst: Vector, bits: Sequence[int]) -> None:
        elements = b"".join(each.to_bytes(self.dtype.size, "little") for each in bits)
        self._mov(dst, mem(self.asm.data(elements, self.width)))

    def exchange_lanes(self, dst: Vector, src: Vector, distance: int) -> None:
        size = distance * self.dtype.size
        if size == 8:
            self.asm.vpermilpd(dst, src, 0x55)
        elif self.width == 32:
            self.asm.vpermpd(dst, src, 0x4E)
        else:
            self.asm.vshuff64x2(dst, src, src, 0xB1 if size == 16 else 0x4E)

    @abstractmethod
    def _split_parts(self, first: Vector, second: Vector, temporary: Vector) -> None:
        """Take the even and odd 128-bit parts apart."""

    # Formulas

    def compare(self, operation: str, dst: object, a: Vector, b: object) -> None:
        self._compare(dst, a, b, PREDICATES[operation])

    def _constant(self, bits: int, count: int) -> Address:
        size = self.dtype.size
        return mem(self.asm.data(bits.to_bytes(size, "little") * count, size * count))
