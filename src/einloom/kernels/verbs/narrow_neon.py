"""Copies of narrow elements on Neon, in registers that a function may clobber: v0 … v7 and v16 … v31."""

from __future__ import annotations

from collections.abc import Iterator

from einloom.asm.aarch64.operands import Arranged, Lane, Offset, Scalar, X, b, d, h, mem, q, s, v, x
from einloom.dtypes import DType
from einloom.kernels.verbs.aarch64 import AArch64Machine
from einloom.kernels.verbs.narrow import NarrowCopies

__all__ = ["NarrowNeon"]

WALK = x[17]
"""Of the machine's own registers the one that addresses do not need."""

SCALARS: dict[int, tuple[Scalar, ...]] = {16: q, 8: d, 4: s, 2: h, 1: b}

CLOBBERED = (*v[:8], *v[16:32])
VIEWS: dict[int, tuple[Arranged, ...]] = {
    1: tuple(register.b16 for register in CLOBBERED),
    2: tuple(register.h8 for register in CLOBBERED),
}


class NarrowNeon(NarrowCopies[X, Arranged, Offset]):
    """See `NarrowCopies`."""

    def __init__(self, km: AArch64Machine, dtype: DType) -> None:
        super().__init__(dtype)
        self.km = km
        self.asm = km.asm
        self.registers = VIEWS[dtype.size]

    def _beyond(self, place: Offset, offset: int) -> Offset:
        return mem(place.base, place.offset + offset) if offset else place

    def _load(self, dst: Arranged, place: Offset, offset: int, size: int) -> None:
        if offset == 0:
            self.asm.ldr(SCALARS[size][dst.number], self.km.near(place, size))
        else:
            self.asm.ld1((_lane(dst, offset, size),), self.km.at(place))

    def _store(self, place: Offset, src: Arranged, offset: int, size: int) -> None:
        if offset == 0:
            self.asm.str(SCALARS[size][src.number], self.km.near(place, size))
        else:
            self.asm.st1((_lane(src, offset, size),), self.km.at(place))

    def _strided_places(self, base: X, offset: int, stride: X | int, count: int) -> Iterator[Offset]:
        if isinstance(stride, int):
            yield from (mem(base, offset + lane * stride) for lane in range(count))
            return
        self.km.sum_constant(WALK, base, offset)
        for lane in range(count):
            if lane:
                self.km.add(WALK, stride)
            yield mem(WALK)

    def zip_low(self, dst: Arranged, first: Arranged, second: Arranged) -> None:
        self.asm.zip1(dst, first, second)

    def zip_high(self, dst: Arranged, first: Arranged, second: Arranged) -> None:
        self.asm.zip2(dst, first, second)

    def _upper_half(self, dst: Arranged, src: Arranged) -> None:
        self.asm.dup(v[dst.number].d2, v[src.number].d[1])

    def zero(self, dst: Arranged) -> None:
        self.asm.movi(v[dst.number].d2, 0)

    def copy(self, dst: Arranged, src: Arranged) -> None:
        self.asm.mov(v[dst.number].b16, v[src.number].b16)

    def broadcast(self, dst: Arranged, place: Offset) -> None:
        self.asm.ld1r((dst,), self.km.at(place))


def _lane(register: Arranged, offset: int, size: int) -> Lane:
    """Return the lane of so many bytes that begins at a byte of a register."""
    views = v[register.number]
    return {8: views.d, 4: views.s, 2: views.h, 1: views.b}[size][offset // size]
