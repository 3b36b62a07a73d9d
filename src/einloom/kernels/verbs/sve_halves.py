"""Copies between scalable registers of float32 and memory of bfloat16 or float16, as many elements as registers have.

Each half lies in the lower part of an element: `fcvt` widens and rounds it, bfloat16 is widened by a shift and rounded
by `bfcvt`, to nearest even, NaN kept.
"""

from __future__ import annotations

from einloom.asm.aarch64.operands import Offset, X
from einloom.asm.aarch64.scalable_operands import Scalable, z
from einloom.dtypes import BFLOAT16, DType
from einloom.kernels.verbs.sve import WHOLE, CopiesInOrder, SveVectors, chosen
from einloom.kernels.verbs.vector import Mask
from einloom.kernels.verbs.viewed import ViewedCopies

__all__ = ["SveHalves"]

UPPER = 16
"""Bits by which bfloat16 is the upper half of float32."""


class SveHalves(CopiesInOrder, ViewedCopies[X, Scalable, Offset]):
    """See `CopyVerbs`. Stores clobber the register."""

    def __init__(self, memory: DType, single: SveVectors) -> None:
        super().__init__(single)
        self.memory, self.single, self.asm = memory, single, single.asm

    def load(self, dst: Scalable, place: Offset, mask: Mask = None) -> None:
        self.asm.ld1h((dst,), chosen(mask).zeroing, self.single.vectors_away(place, self.single.bytes // 2))
        self._widen(dst)

    def store(
        self,
        place: Offset,
        src: Scalable,
        mask: Mask = None,
        nontemporal: bool = False,
        temporary: Scalable | None = None,
    ) -> None:
        rounded = self.asm.bfcvt if self.memory == BFLOAT16 else self.asm.fcvt
        rounded(z[src.number].h, WHOLE.merging, src)
        self.asm.st1h((src,), chosen(mask).whole, self.single.vectors_away(place, self.single.bytes // 2))

    def broadcast(self, dst: Scalable, place: Offset) -> None:
        self.asm.ld1rh((dst,), WHOLE.zeroing, self.single.element_at(place, self.memory.size))
        self._widen(dst)

    def _widen(self, register: Scalable) -> None:
        if self.memory == BFLOAT16:
            self.asm.lsl(register, register, UPPER)
        else:
            self.asm.fcvt(register, WHOLE.merging, z[register.number].h)
