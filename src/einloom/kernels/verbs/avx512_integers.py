"""Integers on AVX-512 (F, VL, BW, DQ)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from einloom.asm import Label
from einloom.asm.x86.operands import Vector, k
from einloom.kernels.verbs.avx512 import Avx512Vectors
from einloom.kernels.verbs.x86_integers import X86Integers

if TYPE_CHECKING:
    from einloom.dtypes import DType
    from einloom.kernels.verbs.x86 import X86Machine

__all__ = ["Avx512Integers"]

PREDICATES = {"eq": 0, "lt": 1, "le": 2, "ne": 4, "ge": 5, "gt": 6}

A_OR_B_AND_C = 0xF8
"""Table of `vpternlog`: bit 4 a + 2 b + c says what comes of these bits."""


class Avx512Integers(X86Integers, Avx512Vectors):
    """See `einloom.kernels.verbs.vector.FormulaVerbs`."""

    def __init__(self, km: X86Machine, dtype: DType) -> None:
        super().__init__(km, dtype)
        asm, letter = km.asm, "d" if dtype.size == 4 else "q"
        sign = "u" if self.is_unsigned or self.is_truth else "s"
        if not self.is_truth:
            self.min, self.max = getattr(asm, f"vpmin{sign}{letter}"), getattr(asm, f"vpmax{sign}{letter}")
        self._multiply = asm.vpmulld if dtype.size == 4 else asm.vpmullq
        self._compare = getattr(asm, f"vpcmp{'u' if sign == 'u' else ''}{letter}")
        self.scale = self.fix_nan = None

    def compare(self, operation: str, dst: object, a: Vector, b: object) -> None:
        self._compare(dst, a, b, PREDICATES[operation])

    def _product(self, dst: Vector, a: Vector, b: Any) -> None:
        self._multiply(dst, a, b)

    def _branch_unless_zero(self, lanes: Vector, label: Label) -> None:
        self.asm.vptestmd(k[7], lanes, lanes)
        self.asm.kortestw(k[7], k[7])
        self.asm.jc(label)

    def _branch_if_none(self, register: Vector, label: Label) -> None:
        self.asm.vptestmd(k[7], register, register)
        self.asm.kortestw(k[7], k[7])
        self.asm.je(label)

    def _or_of_and(self, dst: Vector, a: Vector, b: Any) -> None:
        self.asm.vpternlogd(dst, a, b, A_OR_B_AND_C)
