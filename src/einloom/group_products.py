"""Which instructions multiply neighbours along k and sum them: what passes choose by and kernels are generated from.

A *group* is as many neighbours as fill 4 bytes, pairs or quads. An instruction adds the products of two groups to an
element of 4 bytes; so a product of groups is one of elements of 4 bytes with that many times fewer steps along k. Where
instructions multiply two rows by two columns, a group has 8 bytes.

>>> from einloom.dtypes import INT32
>>> from einloom.machine import AVX512
>>> products_of(INT8, INT8, AVX512, INT32) is None
True
"""

from __future__ import annotations

from einloom.dtypes import (
    BFLOAT16,
    BFLOAT16_FOURS,
    BOOL,
    FLOAT16,
    INT8,
    INT8_EIGHTS,
    INT16,
    LOWERED,
    ONES,
    RAISED,
    UINT8,
    UINT8_EIGHTS,
    DType,
)
from einloom.frozen import frozen
from einloom.machine import TILES, Machine

__all__ = ["GROUP", "GroupProducts", "outer_products_of", "products_of", "takes_scalable"]

GROUP = 4
"""Bytes of a group that is an element of what it is summed in."""


@frozen
class GroupProducts:
    """Instructions for products of groups.

    Attributes:
        first, second: types that the neighbours are packed in, those of the operand that vectors run along second.
        features: that the machine must have.
        rate: how many such products a core does in the time of one multiply-add of float32.
        tile: rows and columns of the sums that one microkernel holds; None: those of vectors.
        vector: the vector ISA whose registers the instructions have; None: the features say so.
        outer: whether they are sums of outer products, in tiles of as many rows as vectors have elements.
    """

    first: DType
    second: DType
    features: frozenset[str]
    rate: float
    tile: tuple[int, int] | None = None
    vector: str | None = None
    outer: bool = False

    @property
    def bytes(self) -> int:
        """Bytes of a group."""
        return self.group * self.first.size

    @property
    def group(self) -> int:
        """How many neighbours are multiplied at once."""
        return self.first.group


def _tiles(first: DType, second: DType, feature: str) -> GroupProducts:
    """Products of AMX's tiles: 16 x 16 x 16 groups in 16 cycles, where vectors do 32 multiply-adds in one."""
    return GroupProducts(first, second, frozenset({TILES, "amxtile", feature}), 8.0, (32, 32), vector="avx512")


def _quads(feature: str, vector: str) -> list[GroupProducts]:
    """Products of unsigned bytes by signed ones; of other pairs the first operand is packed with its sign turned."""
    by_rate = {1.0: ((INT8, UINT8), (UINT8, INT8)), 0.9: ((RAISED, INT8), (LOWERED, UINT8))}
    return [
        GroupProducts(*types, frozenset({feature}), rate, vector=vector)
        for rate, pairs in by_rate.items()
        for types in pairs
    ]


_BYTES = (INT8, UINT8)
_EIGHTS = (INT8_EIGHTS, UINT8_EIGHTS)
_BLOCKS = (("bf16", (BFLOAT16_FOURS, BFLOAT16_FOURS)), *(("i8mm", (a, b)) for a in _EIGHTS for b in _EIGHTS))
_SCALABLE = {
    (BFLOAT16, BFLOAT16): "sve_bf16",
    (INT8, INT8): "sve",
    (UINT8, UINT8): "sve",
    (INT8, UINT8): "sve_i8mm",
    (UINT8, INT8): "sve_i8mm",
}
"""Features by which scalable vectors multiply groups."""

_FIXED = {"sve": "sve", "sve_bf16": "bf16", "sve_i8mm": "i8mm"}
"""Features by which vectors of 128 bits multiply the same groups: what does not lie in order they take."""

_PRODUCTS = (
    _tiles(BFLOAT16, BFLOAT16, "amxbf16"),
    _tiles(FLOAT16, FLOAT16, "amxfp16"),
    *(_tiles(first, second, "amxint8") for first in _BYTES for second in _BYTES),
    GroupProducts(BFLOAT16, BFLOAT16, frozenset({"avx512bf16", "avx512fp16"}), 0.25, vector="avx512"),
    GroupProducts(BFLOAT16, BFLOAT16, frozenset({"avx512bf16"}), 1.0, vector="avx512"),
    GroupProducts(ONES, ONES, frozenset({"avx512bw"}), 1.0, vector="avx512"),
    GroupProducts(ONES, ONES, frozenset({"avx2"}), 0.7, vector="avx2"),
    *(GroupProducts(each, each, frozenset({"avxvnniint8"}), 1.0, vector="avx2") for each in _BYTES),
    *_quads("avx512vnni", "avx512"),
    *_quads("avxvnni", "avx2"),
    GroupProducts(INT16, INT16, frozenset({"avx512vnni"}), 1.0, vector="avx512"),
    GroupProducts(INT16, INT16, frozenset({"avx512bw"}), 0.5, vector="avx512"),
    GroupProducts(INT16, INT16, frozenset({"avxvnni"}), 1.0, vector="avx2"),
    GroupProducts(INT16, INT16, frozenset({"avx2"}), 0.72, vector="avx2"),
    *(
        GroupProducts(*types, frozenset({"neon", width, feature, _FIXED[feature]}), 1.0)
        for width in ("sve512", "sve1024", "sve2048")
        for types, feature in _SCALABLE.items()
    ),
    *(GroupProducts(*types, frozenset({"neon", feature}), 1.0) for feature, types in _BLOCKS),
    GroupProducts(BFLOAT16, BFLOAT16, frozenset({"neon", "bf16"}), 1.0),
    GroupProducts(INT8, INT8, frozenset({"neon", "dotprod"}), 1.0),
    GroupProducts(UINT8, UINT8, frozenset({"neon", "dotprod"}), 1.0),
    GroupProducts(UINT8, INT8, frozenset({"neon", "i8mm"}), 1.0),
    GroupProducts(INT8, UINT8, frozenset({"neon", "i8mm"}), 1.0),
)
"""The fastest first. Processors with AVX512_FP16 (Intel's from Sapphire Rapids on) begin a `vdpbf16ps` every other
cycle, where they begin two multiply-adds in each: there bfloat16 is widened to float32 instead. Products of blocks are
twice as many as those of vectors of 128 bits, and as many as those of 256 bits, of which cores begin half as many.
"""


_OUTER = tuple(
    GroupProducts(*types, frozenset({"neon", "sme", feature}), 1.0, outer=True)
    for feature, types in (("bf16", (BFLOAT16, BFLOAT16)), *(("i8mm", (a, b)) for a in _BYTES for b in _BYTES))
)
"""Sums of outer products of groups in SME's tiles. What does not fill these, the vectors of the features multiply."""

_PACKED_AS = {INT16: _BYTES, RAISED: (INT8,), LOWERED: (UINT8,), ONES: (BOOL,)}
"""Types that packs make others of."""


def products_of(first: DType, second: DType, machine: Machine, output: DType) -> GroupProducts | None:
    """Return the fastest products of groups of two types, summed into an output, on a machine; None: it has none.

    Integers may be taken as signed or unsigned ones of their size where the output has no more bits than they have.
    """
    return _first(_PRODUCTS, first, second, machine, output)


def outer_products_of(first: DType, second: DType, machine: Machine, output: DType) -> GroupProducts | None:
    """Return the outer products of groups of two types, as `products_of` does; None: the machine has none."""
    return _first(_OUTER, first, second, machine, output)


def takes_scalable(groups: tuple[DType, DType], machine: Machine) -> bool:
    """Whether a machine that computes with scalable vectors multiplies groups of two types with them."""
    return machine.vectors.scalable and _SCALABLE.get(groups) in machine.features


def _first(
    table: tuple[GroupProducts, ...], first: DType, second: DType, machine: Machine, output: DType
) -> GroupProducts | None:
    if 2 * max(first.size, second.size) > GROUP:  # Most contractions are of floats: a group has room for one of them.
        return None
    return next(
        (
            each
            for each in table
            if _stands_for(each.first, first, output)
            and _stands_for(each.second, second, output)
            and each.features <= machine.features
            and each.vector in (None, machine.vector)
        ),
        None,
    )


def _stands_for(taken: DType, given: DType, output: DType) -> bool:
    taken = taken.alone
    wraps = taken.is_integer and given.is_integer and taken.size == given.size >= output.size
    return taken == given or wraps or given in _PACKED_AS.get(taken, ())
