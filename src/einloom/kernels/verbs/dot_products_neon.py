"""Vector verbs of Neon whose products are sums over groups: quads of bytes (`dotprod`, `i8mm`), pairs of bfloat16."""

from __future__ import annotations

from einloom.asm.aarch64.operands import Arranged, Lane, Offset, X, v
from einloom.asm.aarch64.scalable_operands import z
from einloom.dtypes import BFLOAT16, INT8, UINT8, DType
from einloom.kernels.verbs.aarch64 import AArch64Machine
from einloom.kernels.verbs.blocks_neon import BLOCKS, NeonBlocks
from einloom.kernels.verbs.neon import NeonVectors
from einloom.kernels.verbs.neon_elements import NeonElements
from einloom.kernels.verbs.vector import FormulaVerbs

__all__ = ["dot_products"]

Groups = tuple[DType, DType]

PRODUCTS: dict[Groups, tuple[str, str, str]] = {
    (INT8, INT8): ("dotprod", "sdot", "sdot"),
    (UINT8, UINT8): ("dotprod", "udot", "udot"),
    (UINT8, INT8): ("i8mm", "usdot", "usdot"),
    (INT8, UINT8): ("i8mm", "", "sudot"),
    (BFLOAT16, BFLOAT16): ("bf16", "bfdot", "bfdot"),
}
"""Feature, instruction of two registers, instruction of a register and one group of another one.

There is no product of signed bytes with a register of unsigned ones: the operands change places.
"""

SCALABLE: dict[Groups, str] = {(INT8, INT8): "sdot", (UINT8, UINT8): "udot"}
"""Instructions of every processor with scalable vectors, A64FX too, which has none of `dotprod`."""


def dot_products(km: AArch64Machine, dtype: DType, groups: Groups) -> FormulaVerbs[X, Arranged, Offset] | None:
    """Return the verbs of registers of `dtype` for products of groups; None if the machine has none of them."""
    features = km.machine.features
    feature = (BLOCKS.get(groups) or PRODUCTS.get(groups, ("",)))[0]
    by_scalable = feature not in features and groups in SCALABLE and "sve" in features
    if feature not in features and not by_scalable:
        return None
    vec = km.vectors(dtype)
    assert isinstance(vec, NeonVectors)
    if groups in BLOCKS:
        vec.blocks = NeonBlocks(km, groups)
        return vec
    vec.fma = _ScalableProduct(km, groups) if by_scalable else _GroupProduct(km, groups)
    vec.elements = None if by_scalable else _GroupElements(vec, groups[0].size)

    def product(dst: Arranged, first: Arranged, second: Arranged) -> None:
        vec.zero(dst)
        vec.fma(dst, first, second)

    vec.product = product
    return vec


class _GroupProduct:
    """dst += the sums of products of groups; at most one operand is one group for all elements."""

    def __init__(self, km: AArch64Machine, groups: Groups) -> None:
        self.asm, self.groups = km.asm, groups

    def __call__(self, dst: Arranged, first: Arranged | Lane, second: Arranged | Lane) -> None:
        groups = self.groups
        if isinstance(first, Lane) or (not isinstance(second, Lane) and groups == (INT8, UINT8)):
            first, second, groups = second, first, (groups[1], groups[0])
        _, whole, by_lane = PRODUCTS[groups]
        is_lane = isinstance(second, Lane)
        instruction = getattr(self.asm, by_lane if is_lane else whole)
        instruction(dst, self._whole(first), second if is_lane else self._whole(second))

    def _whole(self, register: Arranged | Lane) -> Arranged:
        return v[register.number].b16 if self.groups[0].size == 1 else v[register.number].h8


class _ScalableProduct:
    """dst += the sums of products of groups, in the first 128 bits of scalable vectors; the others are ignored."""

    def __init__(self, km: AArch64Machine, groups: Groups) -> None:
        self.instruction = getattr(km.asm, SCALABLE[groups])

    def __call__(self, dst: Arranged, first: Arranged, second: Arranged) -> None:
        self.instruction(z[dst.number].s, z[first.number].b, z[second.number].b)


class _GroupElements(NeonElements):
    """Elements are groups."""

    def __init__(self, vec: NeonVectors, size: int) -> None:
        super().__init__(vec)
        self.size = size

    def load_elements(self, dst: Arranged, place: Offset, count: int) -> list[Lane]:
        self.vec.load(dst, place, self.vec.mask(count))
        lanes = v[dst.number].b4 if self.size == 1 else v[dst.number].h2
        return [lanes[number] for number in range(count)]
