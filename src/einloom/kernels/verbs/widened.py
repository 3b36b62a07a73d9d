"""Copies between registers of 4-byte elements and memory of narrower ones: integers of 1 and 2 bytes, truth values.

A load extends each element, by its sign where it has one; a store keeps the lowest bits, so it wraps. Bytes of truth
are made 0 or 1 on both ways, whatever they are. Stores clobber the register.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from einloom.dtypes import DType, Kind
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import FormulaVerbs, KernelMachine, Mask, StrideIndex, V
from einloom.kernels.verbs.viewed import ViewedCopies

__all__ = ["WidenedCopies"]


class WidenedCopies(ViewedCopies[R, V, A]):
    """What the ISAs share: a register's narrow elements lie side by side in its low part before they are widened.

    Args:
        km: emits the code.
        memory: type of the narrow elements.
        wide: the verbs whose registers take them.
    """

    def __init__(self, km: KernelMachine[R, V, A], memory: DType, wide: FormulaVerbs[R, V, A]) -> None:
        super().__init__(wide)
        self.wide, self.memory = wide, memory
        self.packed, self.index_bytes = km.copies(memory), 0
        self.is_signed = memory.kind is Kind.SIGNED
        self.is_truth = memory.kind is Kind.BOOL

    def load(self, dst: V, place: A, mask: Mask = None) -> None:
        self._load_packed(self._low(dst), place, self.lanes if mask is None else mask.bit_length())
        self._widen(dst)

    def store(self, place: A, src: V, mask: Mask = None, nontemporal: bool = False, temporary: V | None = None) -> None:
        self._narrow(src)
        self._store_packed(place, self._low(src), self.lanes if mask is None else mask.bit_length())

    def broadcast(self, dst: V, place: A) -> None:
        self.packed.broadcast(self._low(dst), place)
        self._widen(dst)

    def load_strided(
        self, dst: V, base: R, offset: int, index: StrideIndex, count: int, temporaries: Sequence[V]
    ) -> None:
        self.packed.load_strided(self._low(dst), base, offset, index, count, temporaries)
        self._widen(dst)

    def store_strided(
        self, base: R, offset: int, src: V, index: StrideIndex, count: int, temporaries: Sequence[V]
    ) -> None:
        self._narrow(src)
        self.packed.store_strided(base, offset, self._low(src), index, count, temporaries)

    def _load_packed(self, low: V, place: A, count: int) -> None:
        """The low part = `count` narrow elements at a place."""
        self.packed.load(low, place, (1 << count) - 1)

    def _store_packed(self, place: A, low: V, count: int) -> None:
        """`count` narrow elements at a place = those of a low part."""
        self.packed.store(place, low, (1 << count) - 1)

    @abstractmethod
    def _low(self, register: V) -> V:
        """The register as one of narrow elements."""

    @abstractmethod
    def _widen(self, register: V) -> None:
        """The elements of the register = those of its low part."""

    @abstractmethod
    def _narrow(self, register: V) -> None:
        """The low part of the register = its elements."""
