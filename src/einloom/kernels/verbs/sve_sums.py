"""Scalable vectors for sums of products of integers, and of groups: quads of bytes, pairs of bfloat16."""

from __future__ import annotations

from einloom.asm.aarch64.operands import mem
from einloom.asm.aarch64.scalable_operands import Scalable, z
from einloom.dtypes import BFLOAT16, INT8, UINT8, DType, Kind
from einloom.kernels.verbs.aarch64 import AArch64Machine, own
from einloom.kernels.verbs.sve import WHOLE, SveVectors

__all__ = ["SveGroups", "SveIntegers"]

INSTRUCTIONS = {
    (BFLOAT16, BFLOAT16): "bfdot",
    (INT8, INT8): "sdot",
    (UINT8, UINT8): "udot",
    (UINT8, INT8): "usdot",
    (INT8, UINT8): "usdot",
}
"""By the types of the members of both groups; `usdot` takes the unsigned ones first."""


class SveIntegers(SveVectors):
    """Integers of 4 and 8 bytes."""

    def __init__(self, km: AArch64Machine, dtype: DType) -> None:
        super().__init__(km, dtype)
        self.product, self.mul, self.add, self.sub = self._multiply, self._multiply, km.asm.add, km.asm.sub

    def broadcast_constant(self, dst: Scalable, value: float) -> None:
        number = (int(value) % (1 << 8 * self.dtype.size)).to_bytes(self.dtype.size, "little")
        self.km.address_of(own, self.asm.data(number))
        self._replicate((dst,), WHOLE.zeroing, mem(own))

    def _multiply_add(self, dst: Scalable, a: Scalable, b: Scalable) -> None:
        self.asm.mla(dst, WHOLE.merging, a, b)

    def _multiply(self, dst: Scalable, a: Scalable, b: Scalable) -> None:
        if dst is not a:
            self.zero(dst)
            self.asm.mla(dst, WHOLE.merging, a, b)
        else:
            self.asm.mul(dst, WHOLE.merging, dst, b)


class SveGroups(SveIntegers):
    """Groups, whose products are summed in elements of 4 bytes."""

    def __init__(self, km: AArch64Machine, dtype: DType, groups: tuple[DType, DType]) -> None:
        super().__init__(km, dtype)
        self.instruction = getattr(km.asm, INSTRUCTIONS[groups])
        self.exchanged, self.is_bytes = groups == (INT8, UINT8), groups[0].size == 1
        self.product = self._first
        if dtype.kind is Kind.FLOAT:
            self.add, self.sub, self.mul = km.asm.fadd, km.asm.fsub, km.asm.fmul

    def broadcast_constant(self, dst: Scalable, value: float) -> None:
        kind = SveVectors if self.dtype.kind is Kind.FLOAT else SveIntegers
        kind.broadcast_constant(self, dst, value)

    def _multiply_add(self, dst: Scalable, a: Scalable, b: Scalable) -> None:
        first, second = (b, a) if self.exchanged else (a, b)
        self.instruction(dst, self._members(first), self._members(second))

    def _first(self, dst: Scalable, a: Scalable, b: Scalable) -> None:
        self.zero(dst)
        self._multiply_add(dst, a, b)

    def _members(self, register: Scalable) -> Scalable:
        return z[register.number].b if self.is_bytes else z[register.number].h
