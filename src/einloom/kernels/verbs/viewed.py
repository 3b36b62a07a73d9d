"""Copies between memory of one type and the registers of other verbs, which do what happens in registers alone."""

from __future__ import annotations

from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import Block, CopyVerbs, Mask, V

__all__ = ["ViewedCopies"]


class ViewedCopies(CopyVerbs[R, V, A]):
    """What all of them share; each has loads and stores of its own.

    Args:
        verbs: those whose registers take the elements.
    """

    load_transposed = None

    def __init__(self, verbs: CopyVerbs[R, V, A]) -> None:
        self._verbs, self.index_bytes = verbs, verbs.index_bytes
        self.dtype, self.lanes, self.registers = verbs.dtype, verbs.lanes, verbs.registers

    def mask(self, count: int) -> Mask:
        return self._verbs.mask(count)

    def zero(self, dst: V) -> None:
        self._verbs.zero(dst)

    def copy(self, dst: V, src: V) -> None:
        self._verbs.copy(dst, src)

    def transpose(self, block: list[V], free: list[V]) -> Block[V]:
        return self._verbs.transpose(block, free)

    def finish(self) -> None:
        self._verbs.finish()
