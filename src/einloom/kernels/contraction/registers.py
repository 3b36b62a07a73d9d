"""`Setting`: what all tiles of a kernel share. `TileRegisters`: which vector registers one tile takes, and what for.

Nothing is emitted here but masks; the tile's code is in `microkernel` (start, steps) and `epilogue` (end).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic

from einloom.kernels.contraction.cursor import Cursor
from einloom.kernels.contraction.grouped import GroupedColumns, GroupedProducts, GroupedRows
from einloom.kernels.contraction.product import Product
from einloom.kernels.contraction.tiles import Tile
from einloom.kernels.fetch import STRIDED
from einloom.kernels.verbs.frame import Frame
from einloom.kernels.verbs.scalar import A, R, ScalarVerbs
from einloom.kernels.verbs.vector import ArithmeticVerbs, CopyVerbs, Mask, StrideIndex, V

__all__ = ["Setting", "TileRegisters"]


@dataclass(slots=True)
class Setting(Generic[R, V, A]):
    """What all tiles of a kernel share: the product, its cursors and pointers, the machine.

    Attributes:
        inputs: cursors of A and, if there is one, B.
        output: strides of C along (m, n) in bytes or names of variables.
        views: the verbs that read and write each operand, by name.
        indices: what strided accesses need, by operand.
        bias: where in the frame the sums lie that the first tile of a row keeps for the others; None: there are none.
    """

    km: ScalarVerbs[R, A]
    vec: ArithmeticVerbs[R, V, A]
    frame: Frame[R, A]
    product: Product
    inputs: tuple[Cursor, ...]
    output: tuple[int | str, ...]
    views: Mapping[str, CopyVerbs[R, V, A]]
    indices: dict[str, StrideIndex] = field(default_factory=dict[str, StrideIndex])
    bias: int | None = None


class TileRegisters(Generic[R, V, A]):
    """The registers of one tile; the last vector of each column has `tail` lanes (0: all).

    Attributes:
        mask: of the last vector of each column; masks: of all of them.
        accumulators: of each set, `vectors` for one column after another; columns: the same, a list for each column.
        grouped: the grouped rows, which have accumulators of their own, or None.
        free: registers that nothing holds between two steps.
        temporaries: those of them that strided accesses take.
    """

    def __init__(self, setting: Setting[R, V, A], tile: Tile, tail: int) -> None:
        self.setting = setting
        self.vec = setting.vec
        self.tile = tile
        self.tail = tail if tile.group == 1 else 0
        self.mask = self.vec.mask(tail) if self.tail else None
        self.masks: list[Mask] = [None] * (tile.vectors - 1) + [self.mask] * min(tile.vectors, 1)
        registers = self.vec.working
        used = tile.accumulators * tile.sets
        self.accumulators = [registers[s * tile.accumulators : (s + 1) * tile.accumulators] for s in range(tile.sets)]
        vectors = tile.vectors
        starts = range(0, vectors * tile.columns, vectors) if vectors else [0] * tile.columns
        self.columns = [[sums[start : start + vectors] for start in starts] for sums in self.accumulators]
        self.free = registers[used + tile.grouped :]
        self.grouped = self._grouped_rows(tail, list(registers[used : used + tile.grouped])) if tile.group > 1 else None
        self.strided = setting.product.c.fetch is STRIDED or any(c.operand.fetch is STRIDED for c in setting.inputs)
        self.temporaries = self.free[-2:] if self.strided else ()

    def _grouped_rows(self, rows: int, registers: list[V]) -> GroupedRows[R, V, A]:
        """Return the rows behind the whole vectors; they take one register for themselves and borrow two."""
        tile, cursor = self.tile, self.setting.inputs[0]
        count = tile.grouped // tile.group_sets
        sets = [registers[s * count : (s + 1) * count] for s in range(tile.group_sets)]
        free, self.free = [self.free[-1], *self.free[:2]], self.free[:-1]
        column = rows * self.vec.dtype.size
        joined_a, joined_c = (
            not tile.vectors and stride == column for stride in (cursor.strides[2], self.setting.output[1])
        )
        assert self.vec.grouping is not None
        kind = GroupedColumns[R, V, A] if tile.across else GroupedProducts[R, V, A]
        return kind(self.vec, self.vec.grouping, rows, tile.group, tile.columns, sets, free, joined_a, joined_c)

    @property
    def above(self) -> int:
        """Bytes from the first row of a tile to its grouped rows: those of its whole vectors."""
        return self.tile.vectors * self.vec.lanes * self.vec.dtype.size

    def row_lanes(self, row: int) -> int:
        """Return how many lanes of a vector of a column count."""
        return self.tail if self.tail and row == self.tile.vectors - 1 else self.vec.lanes
