"""`BlockMicrokernel`: a tile whose accumulators are blocks of two rows by two columns, with 8 bytes of k a step.

A register of A holds two rows, one of B two columns: 8 bytes of each, side by side where rows, or columns, lie so. At
the end two blocks above each other become four rows of one column and four of the next, which is what every other
tile's sums look like.

    A  r0 r0 … r0 r1 r1 … r1      B  c0 c0 … c0 c1 c1 … c1      block  r0c0 r0c1 r1c0 r1c1
"""

from __future__ import annotations

from collections.abc import Sequence

from einloom.kernels.contraction.cursor import Cursor
from einloom.kernels.contraction.microkernel import Microkernel
from einloom.kernels.contraction.registers import Setting
from einloom.kernels.contraction.tiles import Tile
from einloom.kernels.verbs.abilities import BlockVerbs
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import V

__all__ = ["BlockMicrokernel"]


class BlockMicrokernel(Microkernel[R, V, A]):
    """See `einloom.kernels.contraction.microkernel.Microkernel`. A tile has two blocks a vector and two columns."""

    def __init__(self, setting: Setting[R, V, A], tile: Tile, tail: int, verbs: BlockVerbs[V, A]) -> None:
        super().__init__(setting, tile, tail)
        self.verbs = verbs
        self.rows = (tile.vectors - 1) * self.vec.lanes + self.registers.row_lanes(tile.vectors - 1)
        self.pairs = range(0, tile.columns, 2)
        self.blocks = 2 * tile.vectors
        count, registers = self.blocks * len(self.pairs), self.vec.working
        self.registers.accumulators = [registers[s * count : (s + 1) * count] for s in range(tile.sets)]
        self.registers.free = registers[tile.sets * count :]

    def _step(self, step: int) -> None:
        which = step % self.tile.sets
        a, b = self.setting.inputs
        free = list(self.registers.free)
        rows = [free.pop(0) for _ in range(0, self.rows, 2)]
        for number, register in enumerate(rows):
            self._load_pair(a, register, 2 * number, 0, self.rows, step)
        for number, column in enumerate(self.pairs):
            columns = free[number % min(len(free), 2)]
            self._load_pair(b, columns, 0, column, self.tile.columns, step)
            self._prefetch(2)
            for row, register in enumerate(rows):
                sums = self.registers.accumulators[which][number * self.blocks + row]
                if which in self.fresh:
                    self.vec.zero(sums)
                self.verbs.multiply_add(sums, register, columns)
        self.fresh.discard(which)

    def _load_pair(self, cursor: Cursor, register: V, row: int, column: int, count: int, step: int) -> None:
        """Load two rows of A or two columns of B, or the last one alone; `count` is how many there are."""
        axis = 1 if cursor is self.setting.inputs[1] else 0
        alone, adjacent = row + column + 1 == count, cursor.strides[axis] == cursor.operand.dtype.size
        if adjacent and not alone:
            self.verbs.load_both(register, self._at(cursor, row, column, step))
            return
        self.verbs.load_one(register, self._at(cursor, row, column, step))
        if not alone:
            self.verbs.load_other(register, self._at(cursor, row + 1 - axis, column + axis, step))

    def _at(self, cursor: Cursor, row: int, column: int, step: int) -> A:
        km, frame, stride = self.setting.km, self.setting.frame, cursor.strides[0]
        if isinstance(stride, int) or not row:
            return cursor.place(frame, row * stride if isinstance(stride, int) else 0, column, step)
        base, offset, _, _ = cursor.address(frame, 0, column, step)
        km.sum_multiple(frame.temporary, base, frame.read(stride), row)
        return km.place(frame.temporary, offset)

    def _combine(self) -> Sequence[V]:
        """Add up the sets; return registers of four rows, one column after another."""
        blocks = [*super()._combine()]
        spare, columns = self.registers.free[0], list[V]()
        for first in range(0, len(blocks), self.blocks):
            pair: tuple[list[V], list[V]] = [], []
            for upper, lower in zip(
                blocks[first : first + self.blocks : 2], blocks[first + 1 : first + self.blocks : 2]
            ):
                self.verbs.part_columns(spare, upper, lower)
                pair[0].append(spare)
                pair[1].append(lower)
                spare = upper
            columns += [*pair[0], *pair[1]]
        self.registers.free = (spare, *self.registers.free[1:])
        return columns
