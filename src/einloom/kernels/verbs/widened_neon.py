"""Narrow elements in registers of wide ones on Neon: `sxtl`, `uxtl`, and `xtn` back."""

from __future__ import annotations

from einloom.asm.aarch64.operands import Arranged, Offset, X, v
from einloom.dtypes import DType
from einloom.kernels.verbs.aarch64 import AArch64Machine
from einloom.kernels.verbs.neon import NeonVectors
from einloom.kernels.verbs.widened import WidenedCopies

__all__ = ["WidenedNeon"]


class WidenedNeon(WidenedCopies[X, Arranged, Offset]):
    """See `WidenedCopies`."""

    def __init__(self, km: AArch64Machine, memory: DType, wide: NeonVectors) -> None:
        super().__init__(km, memory, wide)
        self.asm = km.asm

    def _low(self, register: Arranged) -> Arranged:
        whole = v[register.number]
        return whole.b16 if self.memory.size == 1 else whole.h8

    def _widen(self, register: Arranged) -> None:
        whole, extend = v[register.number], self.asm.sxtl if self.is_signed else self.asm.uxtl
        if self.memory.size == 1:
            extend(whole.h8, whole.b8)
        extend(whole.s4, whole.h4)
        self._make_truth(whole.s4)

    def _make_truth(self, elements: Arranged) -> None:
        """Elements that are not 0 = 1, where they are truth values: all bits where a bit is set, then the lowest."""
        if self.is_truth:
            self.asm.cmtst(elements, elements, elements)
            self.asm.ushr(elements, elements, 31)

    def _narrow(self, register: Arranged) -> None:
        whole = v[register.number]
        self._make_truth(whole.s4)
        self.asm.xtn(whole.h4, whole.s4)
        if self.memory.size == 1:
            self.asm.xtn(whole.b8, whole.h8)
