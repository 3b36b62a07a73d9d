"""Neon's products of float16 summed in float32 (`fp16fml`): each is exact, and rounded once with the sum.

That is what `fmla` makes of widened elements, bit for bit.
"""

from __future__ import annotations

from einloom.asm.aarch64.operands import Arranged, Offset, v
from einloom.dtypes import FLOAT16
from einloom.kernels.verbs.aarch64 import AArch64Machine
from einloom.kernels.verbs.abilities import HalfVerbs
from einloom.kernels.verbs.narrow_neon import NarrowNeon

__all__ = ["NeonHalfProducts"]


class NeonHalfProducts(HalfVerbs[Arranged, Offset]):
    """See `HalfVerbs`."""

    def __init__(self, km: AArch64Machine) -> None:
        self.asm, self.narrow = km.asm, NarrowNeon(km, FLOAT16)

    def load(self, dst: Arranged, place: Offset, count: int) -> None:
        self.narrow.load(dst, place, self.narrow.mask(count))

    def broadcast(self, dst: Arranged, place: Offset) -> None:
        self.narrow.broadcast(v[dst.number].h8, place)

    def multiply_add(self, sums: Arranged, rows: Arranged, upper: bool, element: Arranged) -> None:
        instruction = self.asm.fmlal2 if upper else self.asm.fmlal
        instruction(sums, v[rows.number].h4, v[element.number].h4)
