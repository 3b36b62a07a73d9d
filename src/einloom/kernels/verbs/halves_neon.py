"""Copies between registers of float32 and memory of bfloat16 or float16 on Neon, rounded to nearest even, NaN kept.

bfloat16 is the upper half of float32: it is widened by a shift and rounded by integer arithmetic, as on x86-64, so that
results are the same bits. Rounding saturates: NaN is made all ones before it, and stays so.
"""

from __future__ import annotations

from collections.abc import Sequence

from einloom.asm.aarch64.operands import Arranged, Offset, X, v
from einloom.dtypes import BFLOAT16, DType
from einloom.kernels.verbs.aarch64 import AArch64Machine
from einloom.kernels.verbs.narrow_neon import NarrowNeon
from einloom.kernels.verbs.vector import CopyVerbs, Mask, StrideIndex
from einloom.kernels.verbs.viewed import ViewedCopies

__all__ = ["NeonHalves"]

WHOLE = 0b1111
"""A register's lanes: half of what the verbs of copying take for whole."""


class NeonHalves(ViewedCopies[X, Arranged, Offset]):
    """Four halves a register. Stores clobber the register, and need a free one."""

    def __init__(self, km: AArch64Machine, memory: DType, single: CopyVerbs[X, Arranged, Offset]) -> None:
        super().__init__(single)
        self.asm, self.memory, self.narrow = km.asm, memory, NarrowNeon(km, memory)

    def load(self, dst: Arranged, place: Offset, mask: Mask = None) -> None:
        self.narrow.load(dst, place, WHOLE if mask is None else mask)
        self._widen(dst)

    def store(
        self,
        place: Offset,
        src: Arranged,
        mask: Mask = None,
        nontemporal: bool = False,
        temporary: Arranged | None = None,
    ) -> None:
        self._round(src, temporary)
        self.narrow.store(place, src, WHOLE if mask is None else mask)

    def broadcast(self, dst: Arranged, place: Offset) -> None:
        self.narrow.broadcast(v[dst.number].h8, place)
        self._widen(dst)

    def load_strided(
        self, dst: Arranged, base: X, offset: int, index: StrideIndex, count: int, temporaries: Sequence[Arranged]
    ) -> None:
        self.narrow.load_strided(dst, base, offset, index, count, temporaries)
        self._widen(dst)

    def store_strided(
        self, base: X, offset: int, src: Arranged, index: StrideIndex, count: int, temporaries: Sequence[Arranged]
    ) -> None:
        self._round(src, temporaries[0])
        self.narrow.store_strided(base, offset, src, index, count, temporaries)

    def _widen(self, register: Arranged) -> None:
        """Four lanes of float32 = the four lowest halves."""
        single, halves = v[register.number].s4, v[register.number].h4
        if self.memory is BFLOAT16:
            self.asm.shll(single, halves, 16)
        else:
            self.asm.fcvtl(single, halves)

    def _round(self, register: Arranged, temporary: Arranged | None) -> None:
        """The four lowest halves = the lanes, rounded."""
        asm, single, halves = self.asm, v[register.number].s4, v[register.number].h4
        if self.memory is not BFLOAT16:
            asm.fcvtn(halves, single)
            return
        assert temporary is not None
        free, whole = v[temporary.number].s4, v[register.number].b16
        asm.fcmeq(free, single, single)
        asm.orn(whole, whole, v[temporary.number].b16)
        asm.shl(free, single, 15)
        asm.ushr(free, free, 31)
        asm.uqadd(single, single, free)
        asm.movi(free, 0x7F, msl=8)
        asm.uqadd(single, single, free)
        asm.shrn(halves, single, 16)
