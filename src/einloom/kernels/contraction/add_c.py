"""`add_c`: sums of products of complex numbers with what is in C, as beta says."""

from __future__ import annotations

from collections.abc import Iterable

from einloom.kernels.verbs.frame import Frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import FormulaVerbs, KernelMachine, Mask, V

__all__ = ["add_c"]


def add_c(
    km: KernelMachine[R, V, A],
    vec: FormulaVerbs[R, V, A],
    beta: int | None,
    frame: Frame[R, A],
    places: Iterable[tuple[V, A]],
    mask: Mask,
    temporary: V,
) -> None:
    """Add to each register what is at its place, as beta says."""
    if beta == 0:
        return
    skip = None
    if beta is None:
        skip = km.asm.forward("overwrite")
        frame.branch("eq", "beta", 0, skip)
    for register, place in places:
        vec.add_memory(register, place, mask, temporary)
    if skip is not None:
        km.asm.bind(skip)
