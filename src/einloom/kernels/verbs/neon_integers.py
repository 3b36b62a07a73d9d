"""Integers on Neon. Products of 64 bits are put together from those of 32: there is no instruction for them."""

from __future__ import annotations

from einloom.asm.aarch64.operands import Arranged, v
from einloom.dtypes import DType, Kind
from einloom.kernels.verbs.aarch64 import AArch64Machine
from einloom.kernels.verbs.neon import NeonVectors
from einloom.kernels.verbs.neon_elements import NeonElements

__all__ = ["NeonIntegers"]


class NeonIntegers(NeonVectors):
    """See `einloom.kernels.verbs.vector.FormulaVerbs`."""

    def __init__(self, km: AArch64Machine, dtype: DType) -> None:
        super().__init__(km, dtype)
        asm, sign = km.asm, "u" if dtype.kind is Kind.UNSIGNED else "s"
        self.spare = self.registers[len(self.working) :]
        self.add, self.sub = asm.add, asm.sub
        self.is_unsigned = sign == "u"
        # Lanes of a register multiply only where there is one instruction for a product and sum.
        self.elements = NeonElements(self) if dtype.size == 4 and dtype.kind is not Kind.BOOL else None
        if dtype.kind is Kind.BOOL:
            self.add = self.max = self.bit_or
            self.mul = self.min = self.bit_and
            self.fma = self._or_of_and
        elif dtype.size == 4:
            self.mul, self.fma, self.fnma = asm.mul, asm.mla, asm.mls
            self.min, self.max = getattr(asm, f"{sign}min"), getattr(asm, f"{sign}max")
        else:
            self.mul, self.fma, self.fnma = self._product, self._multiply_add, self._multiply_subtract
            self.min, self.max = self._lesser, self._greater
        self.product = self.mul

    def broadcast_constant(self, dst: Arranged, value: float) -> None:
        self.load_constant(dst, int(value) & (1 << 8 * self.dtype.size) - 1)

    def sum_lanes(self, registers: list[Arranged], temporary: Arranged, group: int = 1) -> None:
        if group > 1:
            super().sum_lanes(registers, temporary, group)
            return
        for _ in range(self.lanes.bit_length() - 1):
            for i in range(0, len(registers), 2):
                self._sum_neighbours(registers[i], registers[min(i + 1, len(registers) - 1)], temporary)
            registers = registers[::2]

    def _sum_neighbours(self, first: Arranged, second: Arranged, temporary: Arranged) -> None:
        """first = the sums of neighbours of both, one register's before the other's."""
        if self.dtype.kind is not Kind.BOOL:
            self.asm.addp(first, first, second)
            return
        self.asm.uzp1(temporary, first, second)
        self.asm.uzp2(first, first, second)
        self.bit_or(first, first, temporary)

    def _or_of_and(self, dst: Arranged, a: Arranged, b: Arranged) -> None:
        self.bit_and(self.spare[0], a, b)
        self.bit_or(dst, dst, self.spare[0])

    def _product(self, dst: Arranged, a: Arranged, b: Arranged) -> None:
        """dst = a * b; dst may be one of them, or the first of the spare registers."""
        asm, crossed, low = self.asm, self.spare[1].number, self.spare[2].number
        asm.rev64(v[crossed].s4, v[b.number].s4)
        asm.mul(v[crossed].s4, v[crossed].s4, v[a.number].s4)
        asm.uaddlp(v[crossed].d2, v[crossed].s4)
        asm.shl(v[crossed].d2, v[crossed].d2, 32)
        asm.xtn(v[low].s2, v[a.number].d2)
        asm.xtn(v[dst.number].s2, v[b.number].d2)
        asm.umlal(v[crossed].d2, v[low].s2, v[dst.number].s2)
        self.copy(dst, self.spare[1])

    def _multiply_add(self, dst: Arranged, a: Arranged, b: Arranged) -> None:
        self._product(self.spare[0], a, b)
        self.add(dst, dst, self.spare[0])

    def _multiply_subtract(self, dst: Arranged, a: Arranged, b: Arranged) -> None:
        self._product(self.spare[0], a, b)
        self.sub(dst, dst, self.spare[0])

    def compare(self, operation: str, dst: Arranged, a: Arranged, b: Arranged) -> None:
        if operation in ("lt", "le"):
            a, b = b, a
        asm = self.asm
        above, not_below = (asm.cmhi, asm.cmhs) if self.is_unsigned else (asm.cmgt, asm.cmge)
        {"gt": above, "lt": above, "ge": not_below, "le": not_below}.get(operation, asm.cmeq)(dst, a, b)
        if operation == "ne":
            whole = v[dst.number].b16
            asm.not_(whole, whole)

    def _lesser(self, dst: Arranged, a: Arranged, b: Arranged) -> None:
        self.compare("lt", self.spare[0], a, b)
        self.select(dst, self.spare[0], a, b)

    def _greater(self, dst: Arranged, a: Arranged, b: Arranged) -> None:
        self.compare("gt", self.spare[0], a, b)
        self.select(dst, self.spare[0], a, b)
