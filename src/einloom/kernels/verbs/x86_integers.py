"""Integer arithmetic on AVX2 and AVX-512: what `X86Vectors` says about floats, for integers modulo 2**bits and truth.

A product and sum are two instructions or more, with registers behind those that kernels see for what lies between.
Sums of truth values are or, their products and.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from einloom.asm import Label
from einloom.asm.x86.operands import Address, Vector, mem
from einloom.dtypes import Kind
from einloom.kernels.verbs.x86_vectors import X86Vectors

if TYPE_CHECKING:
    from einloom.dtypes import DType
    from einloom.kernels.verbs.x86 import X86Machine

__all__ = ["X86Integers"]


class X86Integers(X86Vectors):
    """The verbs that both have.

    Attributes:
        spare: the registers that these verbs keep for themselves.
    """

    fix_nan = scale = multiply_add = None
    keeps_nan = True  # There is none.
    nan_table = 0
    spare: tuple[Vector, ...]

    def __init__(self, km: X86Machine, dtype: DType) -> None:
        super().__init__(km, dtype)
        self.spare = self.registers[len(self.working) :]
        asm, letter = km.asm, "d" if dtype.size == 4 else "q"
        self.add, self.sub = getattr(asm, f"vpadd{letter}"), getattr(asm, f"vpsub{letter}")
        self.is_unsigned = dtype.kind is Kind.UNSIGNED
        self.is_truth = dtype.kind is Kind.BOOL
        if self.is_truth:
            self.add, self.mul = self.bit_or, self.bit_and
            self.min, self.max = self.bit_and, self.bit_or
            self.fma = self._or_of_and
            self.branch_if_all, self.branch_if_none = self._branch_if_all, self._branch_if_none
        else:
            self.mul, self.fma, self.fnma = self._product, self._multiply_add, self._multiply_subtract
        self.product = self.mul

    def broadcast_constant(self, dst: Vector, value: float) -> None:
        bits = int(value) & (1 << 8 * self.dtype.size) - 1
        self._broadcast(dst, mem(self.asm.data(struct.pack("<I" if self.is_single else "<Q", bits))))

    def _product(self, dst: Vector, a: Vector, b: Any) -> None:
        raise NotImplementedError

    def _or_of_and(self, dst: Vector, a: Vector, b: Any) -> None:
        raise NotImplementedError

    def _branch_if_all(self, registers: Sequence[Vector], temporary: Vector, label: Label) -> None:
        least, *others = registers
        for register in others:
            self.asm.vpminud(temporary, least, register)
            least = temporary
        self._branch_unless_zero(least, label)

    def _branch_if_none(self, register: Vector, label: Label) -> None:
        raise NotImplementedError

    def _branch_unless_zero(self, lanes: Vector, label: Label) -> None:
        """Go to the label if no lane is 0."""
        raise NotImplementedError

    def _multiply_add(self, dst: Vector, a: Vector, b: Any) -> None:
        self._product(self.spare[0], a, b)
        self.add(dst, dst, self.spare[0])

    def _multiply_subtract(self, dst: Vector, a: Vector, b: Any) -> None:
        self._product(self.spare[0], a, b)
        self.sub(dst, dst, self.spare[0])

    def _memory(self, operand: Any) -> bool:
        """Whether an operand is a place."""
        return isinstance(operand, Address)
