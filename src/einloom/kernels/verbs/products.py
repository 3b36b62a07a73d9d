"""What a product and sum of a type costs on a vector ISA: registers, and how many begin in a cycle.

Floats have one instruction for both. Integers have two or more, with registers between them: the last ones of all,
which arithmetic keeps for itself; copies and transpositions may use them.

>>> from einloom.machine import AVX2
>>> vectors_of(AVX2.vectors, INT64).registers
13
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from einloom.dtypes import INT16, INT32, INT64, ONES, TRUTH, DType, Kind
from einloom.frozen import frozen
from einloom.machine import NEON, VectorISA

__all__ = ["scalable_sums", "vectors_of"]


@frozen
class _Cost:
    """What products and sums take.

    Attributes:
        registers: that arithmetic keeps for itself.
        share: how many begin in a cycle, relative to multiply-adds of floats of the same vector (measured on Intel
            Sapphire Rapids; on Neon as the guide for Neoverse V1 says).
    """

    registers: int
    share: float


_COSTS = {
    "avx512": {INT32: _Cost(1, 0.33), INT64: _Cost(1, 0.26), TRUTH: _Cost(0, 1.0)},
    "avx2": {INT32: _Cost(2, 0.44), INT64: _Cost(3, 0.15), TRUTH: _Cost(2, 0.73)},
    "neon": {INT32: _Cost(0, 0.5), INT64: _Cost(3, 0.15), TRUTH: _Cost(1, 0.5)},
}


_KEPT = {(INT16, INT16): 1, (ONES, ONES): 1}
"""Registers that products of groups keep for themselves, where they are two instructions."""


def scalable_sums(dtype: DType) -> bool:
    """Whether scalable vectors sum products of elements of this type: floats, and integers of 4 and 8 bytes."""
    return dtype.kind is not Kind.BOOL


@lru_cache(64)
def vectors_of(
    isa: VectorISA, dtype: DType, groups: tuple[DType, DType] | None = None, in_order: bool = True
) -> VectorISA:
    """Return a vector ISA as products and sums of a type that is computed in, or of groups, see it.

    Args:
        isa: the vector ISA.
        dtype: the type.
        groups: types of the members of groups, if groups are multiplied.
        in_order: whether elements in memory are those of registers, one after the other: scalable vectors take no
            others, and of groups those that `takes_scalable` says.
    """
    if isa.scalable and (not in_order or (groups is None and not scalable_sums(dtype))):
        isa = NEON.vectors
    if groups is not None:
        return replace(isa, registers=isa.registers - _KEPT.get(groups, 0))
    if dtype.kind is Kind.FLOAT or isa.name not in _COSTS:
        return isa
    cost = _COSTS[isa.name][TRUTH if dtype.kind is Kind.BOOL else INT64 if dtype.size == 8 else INT32]
    return replace(isa, registers=isa.registers - cost.registers, fmas_per_cycle=isa.fmas_per_cycle * cost.share)
