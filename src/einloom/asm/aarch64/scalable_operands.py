"""Operands of SVE and SME: vectors and predicates of whatever length, tiles of ZA and their rows.

>>> from einloom.asm.aarch64.operands import w, x
>>> z[3].s, p[1].s, p[0].zeroing, p[0].merging, za.s[1], za.s[1].row(w[12], 2), mem_vectors(x[0], -1)
(z3.s, p1.s, p0/z, p0/m, za1.s, za1h.s[w12, 2], [x0, #-1, mul vl])
"""

from __future__ import annotations

from functools import cache
from typing import ClassVar

from einloom.asm.aarch64.operands import Address, Register, StackX, W, X
from einloom.asm.register_file import RegisterFile
from einloom.errors import EncodingError

__all__ = [
    "PREDICATES",
    "SCALABLE",
    "TILES",
    "TILE_ROWS",
    "Matrix",
    "Predicate",
    "Scalable",
    "Tile",
    "TileRow",
    "VectorsAway",
    "ZVector",
    "mem_vectors",
    "p",
    "z",
    "za",
]


class Scalable(Register):
    """A vector register seen as elements: z0.s. One subclass for each size."""

    __slots__ = ()
    element: ClassVar[str]


class Predicate(Register):
    """A predicate register as one view: p0, p0.s, p0/z, p0/m. One subclass for each."""

    __slots__ = ()


class Tile(Register):
    """A tile of ZA: za0.s. One subclass for each size of element."""

    __slots__ = ()
    element: ClassVar[str]

    @cache  # noqa: B019 - there are twelve tiles
    def row(self, index: W, offset: int) -> TileRow:
        """Return the row number `index` + `offset`; the index is one of w12 to w15."""
        if type(index) is not W or not 12 <= index.number <= 15:
            raise EncodingError(f"{index!r} cannot number rows: w12 to w15 can")
        return TILE_ROWS[self.element](self, index, offset)


class TileRow(Register):
    """One row of a tile: za0h.s[w12, 1]. One subclass for each size of element."""

    __slots__ = ("index", "offset")

    def __init__(self, tile: Tile, index: W, offset: int) -> None:
        super().__init__(f"za{tile.number}h.{tile.element}[{index}, {offset}]", tile.number)
        self.index, self.offset = index.number - 12, offset


class Matrix(Register):
    """All of ZA."""

    __slots__ = ()


SCALABLE = {size: type(f"Z{size}", (Scalable,), {"__slots__": (), "element": size}) for size in "bhsd"}
PREDICATES = {view: type(f"P{view}", (Predicate,), {"__slots__": ()}) for view in ("", ".b", ".s", ".d", "/z", "/m")}
TILES = {size: type(f"ZA{size}", (Tile,), {"__slots__": (), "element": size}) for size in "sd"}
TILE_ROWS = {size: type(f"ZA{size}Row", (TileRow,), {"__slots__": ()}) for size in "sd"}


class ZVector:
    """A vector register and its views."""

    __slots__ = ("b", "d", "h", "number", "s")

    def __init__(self, number: int) -> None:
        self.number = number
        self.b, self.h, self.s, self.d = (kind(f"z{number}.{size}", number) for size, kind in SCALABLE.items())

    def __repr__(self) -> str:
        return f"z{self.number}"


class ZPredicate:
    """A predicate register and its views: `whole` has no view, `zeroing` and `merging` govern an instruction."""

    __slots__ = ("b", "d", "merging", "number", "s", "whole", "zeroing")

    def __init__(self, number: int) -> None:
        self.number = number
        self.whole, self.b, self.s, self.d, self.zeroing, self.merging = (
            kind(f"p{number}{view}", number) for view, kind in PREDICATES.items()
        )

    def __repr__(self) -> str:
        return f"p{self.number}"


class _Za(Matrix):
    """All of ZA, and its tiles by the size of their elements."""

    __slots__ = ("d", "s")

    def __init__(self) -> None:
        super().__init__("za", 0)
        self.s, self.d = (
            RegisterFile(TILES[size](f"za{i}.{size}", i) for i in range(n)) for size, n in (("s", 4), ("d", 8))
        )


z = RegisterFile(ZVector(i) for i in range(32))
p = RegisterFile(ZPredicate(i) for i in range(16))
za = _Za()


class VectorsAway(Address):
    """[base, #offset, mul vl]: so many whole vectors behind the base."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"[{self.base}, #{self.offset}, mul vl]"


@cache
def mem_vectors(base: X | StackX, offset: int) -> VectorsAway:
    """Return the address `base` + `offset` whole vectors."""
    return VectorsAway(base, offset)
