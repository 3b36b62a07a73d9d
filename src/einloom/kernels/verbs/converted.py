"""Vector verbs of float64 whose memory holds float32 on one side: what converting kernels are generated with."""

from __future__ import annotations

from typing import Any

from einloom.dtypes import FLOAT32, FLOAT64
from einloom.kernels.verbs.machine import KernelMachine, Mask, Place

__all__ = ["ConvertedVectors"]


class ConvertedVectors:
    """Registers hold float64; what is read (or else what is written) is float32. Other verbs are float64's own.

    Args:
        km: emits the code.
        reads: whether float32 is read; otherwise it is written.
    """

    load_transposed = None  # It would load float64.

    def __init__(self, km: KernelMachine, reads: bool) -> None:
        self._wide: Any = km.vectors(FLOAT64)
        self._single: Any = km.vectors(FLOAT32)
        self._views = {register.number: register for register in self._single.registers}
        self._reads = reads

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wide, name)

    def load(self, dst: Any, place: Place, mask: Mask = None) -> None:
        (self._wide.load_single if self._reads else self._wide.load)(dst, place, mask)

    def store(
        self, place: Place, src: Any, mask: Mask = None, nontemporal: bool = False, temporary: Any = None
    ) -> None:
        if self._reads:
            self._wide.store(place, src, mask, nontemporal, temporary)
        else:
            self._wide.store_single(place, src, mask)

    def broadcast(self, dst: Any, place: Place) -> None:
        if not self._reads:
            self._wide.broadcast(dst, place)
            return
        self._single.broadcast(self._views[dst.number], place)
        self._wide.widen(dst)

    def load_strided(self, dst: Any, base: Any, offset: int, index: Any, count: int, temporaries: Any) -> None:
        if not self._reads:
            self._wide.load_strided(dst, base, offset, index, count, temporaries)
            return
        self._single.load_strided(self._views[dst.number], base, offset, index, count, temporaries)
        self._wide.widen(dst)

    def store_strided(self, base: Any, offset: int, src: Any, index: Any, count: int, temporaries: Any) -> None:
        if self._reads:
            self._wide.store_strided(base, offset, src, index, count, temporaries)
            return
        self._wide.narrow(src)
        self._single.store_strided(base, offset, self._views[src.number], index, count, temporaries)
