"""Integers on AVX2. Products of 64 bits are put together from three of 32; nothing takes an operand from memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from einloom.asm import Label
from einloom.asm.x86.operands import Address, Vector
from einloom.kernels.verbs.avx2 import Avx2Vectors
from einloom.kernels.verbs.vector import Mask
from einloom.kernels.verbs.x86_integers import X86Integers

if TYPE_CHECKING:
    from einloom.dtypes import DType
    from einloom.kernels.verbs.x86 import X86Machine

__all__ = ["Avx2Integers"]


class Avx2Integers(X86Integers, Avx2Vectors):
    """See `einloom.kernels.verbs.vector.FormulaVerbs`."""

    memory_operand = False

    def __init__(self, km: X86Machine, dtype: DType) -> None:
        super().__init__(km, dtype)
        asm, sign = km.asm, "u" if self.is_unsigned else "s"
        self.constant_operand = None
        if not self.is_truth and self.is_single:
            self.min, self.max = getattr(asm, f"vpmin{sign}d"), getattr(asm, f"vpmax{sign}d")
        elif not self.is_truth:
            self.min, self.max = self._lesser, self._greater
        self._equal = asm.vpcmpeqd if self.is_single else asm.vpcmpeqq
        self._above = asm.vpcmpgtd if self.is_single else asm.vpcmpgtq

    def add_memory(self, dst: Vector, place: Address, mask: Mask = None, temporary: Vector | None = None) -> None:
        if mask is None:
            self.add(dst, dst, place)
        else:
            super().add_memory(dst, place, mask, temporary)

    def _product(self, dst: Vector, a: Vector, b: Any) -> None:
        """dst = a * b; dst may be one of them, or the first of the spare registers."""
        if self.is_single:
            self.asm.vpmulld(dst, a, b)
            return
        asm, (_, crossed, part) = self.asm, self.spare
        asm.vpsrlq(crossed, a, 32)
        asm.vpmuludq(crossed, crossed, b)
        asm.vpsrlq(part, b, 32)
        asm.vpmuludq(part, part, a)
        asm.vpaddq(crossed, crossed, part)
        asm.vpsllq(crossed, crossed, 32)
        asm.vpmuludq(part, a, b)
        asm.vpaddq(dst, crossed, part)

    def _branch_unless_zero(self, lanes: Vector, label: Label) -> None:
        zeros = self.spare[0]
        self.asm.vpxor(zeros, zeros, zeros)
        self.asm.vpcmpeqd(zeros, zeros, lanes)
        self.asm.vptest(zeros, zeros)
        self.asm.je(label)

    def _branch_if_none(self, register: Vector, label: Label) -> None:
        self.asm.vptest(register, register)
        self.asm.je(label)

    def _or_of_and(self, dst: Vector, a: Vector, b: Any) -> None:
        self.bit_and(self.spare[0], a, b)
        self.bit_or(dst, dst, self.spare[0])

    def compare(self, operation: str, dst: object, a: Vector, b: object) -> None:
        assert isinstance(dst, Vector) and isinstance(b, Vector)
        if operation in ("eq", "ne"):
            self._equal(dst, a, b)
        else:
            first, second = (b, a) if operation in ("lt", "ge") else (a, b)
            if self.is_unsigned:
                first, second = self._signed(self.spare[0], first), self._signed(self.spare[1], second)
            self._above(dst, first, second)
        if operation in ("ne", "ge", "le"):
            self._equal(self.spare[0], self.spare[0], self.spare[0])
            self.bit_xor(dst, dst, self.spare[0])

    def _signed(self, dst: Vector, src: Vector) -> Vector:
        """dst = src in the order of signed numbers: the highest bit turned."""
        self.bit_xor(dst, src, self._constant(1 << 8 * self.dtype.size - 1, self.lanes))
        return dst

    def _lesser(self, dst: Vector, a: Vector, b: Vector) -> None:
        self.compare("lt", self.spare[0], a, b)
        self.select(dst, self.spare[0], a, b)

    def _greater(self, dst: Vector, a: Vector, b: Vector) -> None:
        self.compare("gt", self.spare[0], a, b)
        self.select(dst, self.spare[0], a, b)
