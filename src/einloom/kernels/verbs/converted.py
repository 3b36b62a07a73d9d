"""Copies between registers of float64 and memory of float32: what kernels of two types are generated with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from einloom.dtypes import FLOAT32, DType
from einloom.errors import UnsupportedTarget
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import CopyVerbs, FormulaVerbs, KernelMachine, Mask, StrideIndex, V
from einloom.kernels.verbs.viewed import ViewedCopies

__all__ = ["ConvertedCopies", "RoundedIntegers", "no_conversion"]


class ConvertedCopies(ViewedCopies[R, V, A]):
    """Registers hold float64; what is read and written is float32, rounded to nearest; stores clobber the register."""

    def __init__(self, km: KernelMachine[R, V, A], wide: FormulaVerbs[R, V, A]) -> None:
        super().__init__(wide)
        self._wide, self._single = wide, km.vectors(FLOAT32)
        self._views = dict(zip(self._wide.registers, self._single.registers))

    def load(self, dst: V, place: A, mask: Mask = None) -> None:
        self._wide.load_single(dst, place, mask)

    def store(self, place: A, src: V, mask: Mask = None, nontemporal: bool = False, temporary: V | None = None) -> None:
        self._wide.store_single(place, src, mask)

    def broadcast(self, dst: V, place: A) -> None:
        self._single.broadcast(self._views[dst], place)
        self._wide.widen(dst)

    def stride_index(self, stride: R | int, slot: int, temporary: V) -> StrideIndex:
        return self._wide.stride_index(stride, slot, temporary)

    def load_strided(
        self, dst: V, base: R, offset: int, index: StrideIndex, count: int, temporaries: Sequence[V]
    ) -> None:
        self._single.load_strided(self._views[dst], base, offset, index, count, temporaries)
        self._wide.widen(dst)

    def store_strided(
        self, base: R, offset: int, src: V, index: StrideIndex, count: int, temporaries: Sequence[V]
    ) -> None:
        self._wide.narrow(src)
        self._single.store_strided(base, offset, self._views[src], index, count, temporaries)


class RoundedIntegers(ViewedCopies[R, V, A]):
    """Registers hold float32; what is read, and only read, is integers, rounded to nearest by `convert`.

    `integers` reads them from memory of their type as int32.
    """

    def __init__(self, memory: DType, integers: CopyVerbs[R, V, A], convert: Callable[[V], object]) -> None:
        super().__init__(integers)
        self._memory, self._integers, self._convert, self.dtype = memory, integers, convert, FLOAT32

    def load(self, dst: V, place: A, mask: Mask = None) -> None:
        self._integers.load(dst, place, mask)
        self._convert(dst)

    def store(self, place: A, src: V, mask: Mask = None, nontemporal: bool = False, temporary: V | None = None) -> None:
        raise no_conversion(self._memory, FLOAT32)

    def broadcast(self, dst: V, place: A) -> None:
        self._integers.broadcast(dst, place)
        self._convert(dst)

    def stride_index(self, stride: R | int, slot: int, temporary: V) -> StrideIndex:
        return self._integers.stride_index(stride, slot, temporary)

    def load_strided(
        self, dst: V, base: R, offset: int, index: StrideIndex, count: int, temporaries: Sequence[V]
    ) -> None:
        self._integers.load_strided(dst, base, offset, index, count, temporaries)
        self._convert(dst)

    def store_strided(
        self, base: R, offset: int, src: V, index: StrideIndex, count: int, temporaries: Sequence[V]
    ) -> None:
        raise no_conversion(self._memory, FLOAT32)


def no_conversion(memory: DType, registers: DType) -> UnsupportedTarget:
    """Return the error that says that kernels of one type cannot have an operand of another in memory."""
    return UnsupportedTarget(
        f"no kernel that computes in {registers} has this operand as {memory}\n"
        f"  Convert it to {registers}, or call einsum, which converts. Kernels read and write float16 and bfloat16"
        " where they compute in float32, float32 in float64, integers of 1 and 2 bytes and bool in integers of 4 bytes;"
        " they read, and do not write, int32 and narrower integers in float32."
    )
