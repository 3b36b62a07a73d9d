"""Copies between scalable registers of float32 and memory of bfloat16 or float16, as many elements as registers have.

Each half lies in the lower part of an element: `fcvt` widens and rounds it, bfloat16 is widened by a shift and rounded
by `bfcvt`, to nearest even, NaN kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from einloom.asm.aarch64.operands import Offset, X
from einloom.asm.aarch64.scalable_operands import Scalable, z
from einloom.dtypes import BFLOAT16, DType
from einloom.kernels.verbs.sve import WHOLE, SveVectors, chosen, refuse
from einloom.kernels.verbs.vector import Block, CopyVerbs, Mask, StrideIndex

__all__ = ["SveHalves"]

UPPER = 16
"""Bits by which bfloat16 is the upper half of float32."""


class SveHalves(CopyVerbs[X, Scalable, Offset]):
    """See `CopyVerbs`. Stores clobber the register."""

    scalable = True
    index_bytes = 0
    load_transposed = None

    def __init__(self, memory: DType, single: SveVectors) -> None:
        self.memory, self.single, self.asm = memory, single, single.asm
        self.dtype, self.lanes, self.registers = single.dtype, single.lanes, single.registers

    def mask(self, count: int) -> Mask:
        return self.single.mask(count)

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

    def zero(self, dst: Scalable) -> None:
        self.single.zero(dst)

    def copy(self, dst: Scalable, src: Scalable) -> None:
        self.single.copy(dst, src)

    # Kernels of elements in order need none of the rest.

    def transpose(self, block: list[Scalable], free: list[Scalable]) -> Block[Scalable]:
        refuse()

    def load_strided(
        self, dst: Scalable, base: X, offset: int, index: StrideIndex, count: int, temporaries: Sequence[Scalable]
    ) -> None:
        refuse()

    def store_strided(
        self, base: X, offset: int, src: Scalable, index: StrideIndex, count: int, temporaries: Sequence[Scalable]
    ) -> None:
        refuse()
