"""`HalfMicrokernel`: a tile of float32 sums whose inputs are float16 where they lie, multiplied without being widened.

A register of A holds the rows of two vectors of sums; the instruction says which half of it meets an element of B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from einloom.dtypes import FLOAT16
from einloom.kernels.contraction.cursor import Cursor
from einloom.kernels.contraction.microkernel import Microkernel
from einloom.kernels.contraction.product import Product
from einloom.kernels.contraction.registers import Setting
from einloom.kernels.contraction.tiles import PLAIN, Tile
from einloom.kernels.verbs.abilities import HalfVerbs
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import LastOperand, V

__all__ = ["HalfMicrokernel", "suits_halves"]


class _Rows(NamedTuple):
    """The lower or the upper half of a register of A."""

    register: Any
    upper: bool


def suits_halves(product: Product) -> bool:
    """Whether vectors of float16 meet single elements of float16."""
    fragments = tuple((operand.fetch, operand.per_column) for operand in product.inputs)
    return fragments == PLAIN and all(operand.dtype == FLOAT16 for operand in product.inputs)


class HalfMicrokernel(Microkernel[R, V, A]):
    """See `einloom.kernels.contraction.microkernel.Microkernel`."""

    def __init__(self, setting: Setting[R, V, A], tile: Tile, tail: int, verbs: HalfVerbs[V, A]) -> None:
        super().__init__(setting, tile, tail)
        self.verbs = verbs

    def _shared(self, cursor: Cursor, step: int, free: list[V]) -> list[Any]:
        lanes, vectors = self.vec.lanes, self.tile.vectors
        rows = (vectors - 1) * lanes + self.registers.row_lanes(vectors - 1)
        loaded: list[_Rows] = []
        for row in range(0, vectors, 2):
            register = free.pop(0)
            self.verbs.load(register, self._place(cursor, row, 0, step), min(2 * lanes, rows - row * lanes))
            loaded += [_Rows(register, upper) for upper in (False, True)]
        return loaded[:vectors]

    def _broadcasts(self, cursor: Cursor, step: int, free: list[V]) -> Iterator[Sequence[LastOperand]]:
        places = cursor.places(self.setting.frame, step, self.tile.columns)
        return self._in_register(self.verbs.broadcast, free.pop(0), places)

    def _accumulation(self, which: int) -> Callable[..., None]:
        fresh = which in self.fresh

        def accumulate(target: V, rows: _Rows, element: V) -> None:
            if fresh:
                self.vec.zero(target)
            self.verbs.multiply_add(target, rows.register, rows.upper, element)

        return accumulate
