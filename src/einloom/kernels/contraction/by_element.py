"""`ByElement`: the microkernel where an FMA takes one element of a register for all lanes, and no operand from memory.

Elements of B are loaded as they lie, one or, where columns follow each other in memory, a register full; nothing is
broadcast. C is loaded first, and products are added to it, where enough accumulators hide the latency of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle

from einloom.kernels.contraction.blocks import BlockMicrokernel
from einloom.kernels.contraction.cursor import Cursor
from einloom.kernels.contraction.epilogue import Epilogue
from einloom.kernels.contraction.halves import HalfMicrokernel, suits_halves
from einloom.kernels.contraction.microkernel import Microkernel
from einloom.kernels.contraction.registers import Setting, TileRegisters
from einloom.kernels.contraction.tiles import Tile
from einloom.kernels.fetch import BROADCAST, VECTOR
from einloom.kernels.verbs.abilities import ElementVerbs
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import LastOperand, V

__all__ = ["ByElement", "microkernel_for"]

SHORT = 64
"""Up to so many products C is loaded first; while more are computed, it can come into the cache."""

ROTATED = 4
"""Registers that elements of B are loaded into, one after the other, where there are so many free."""


class _RowEpilogue(Epilogue[R, V, A]):
    """The end of a tile whose registers of a column, where they are contiguous in C, are stored together.

    Attributes:
        begins_with_c: whether the accumulators begin as C, so that nothing is left to add.
    """

    def __init__(self, registers: TileRegisters[R, V, A], verbs: ElementVerbs[V, A]) -> None:
        super().__init__(registers)
        self.verbs = verbs
        product = self.setting.product
        self.contiguous = product.c.fetch is VECTOR
        # Several sets mean few accumulators: C's latency would count, and it is added at the end.
        plain = product.beta == 1 and product.alpha == 1 and self.contiguous
        self.begins_with_c = plain and self.tile.sets == 1 and product.steps <= SHORT

    def load(self, into: Sequence[V]) -> None:
        """Load C."""
        for registers, place in self._rows(into):
            self.verbs.load_row(registers, place, self.registers.mask)

    def add(self, result: Sequence[V]) -> None:
        """Add C, unless the accumulators began so."""
        if not self.begins_with_c:
            super().add(result)

    def store(self, result: Sequence[V]) -> None:
        """Store the tile."""
        if not self.contiguous:
            super().store(result)
            return
        for registers, place in self._rows(result):
            self.verbs.store_row(place, registers, self.registers.mask)

    def _rows(self, result: Sequence[V]) -> Iterator[tuple[Sequence[V], A]]:
        """Yield (registers, place) of each column of the tile."""
        vectors = self.tile.vectors
        for column, base, offset in self.columns():
            yield result[column * vectors : (column + 1) * vectors], self.setting.km.place(base, offset)


class ByElement(Microkernel[R, V, A]):
    """See `einloom.kernels.contraction.microkernel.Microkernel`."""

    def __init__(self, setting: Setting[R, V, A], tile: Tile, tail: int, verbs: ElementVerbs[V, A]) -> None:
        super().__init__(setting, tile, tail)
        self.verbs = verbs
        self.epilogue = self.rows = _RowEpilogue(self.registers, verbs)
        fetches = [cursor.operand.fetch for cursor in setting.inputs]
        self.by_element = len(fetches) == 2 and fetches.count(BROADCAST) == 1

    def clear(self) -> None:
        """Set accumulators to C, else to zero, that no step has overwritten yet."""
        self._begin()
        super().clear()

    def _begin(self) -> None:
        """Load C, once."""
        if self.rows.begins_with_c and 0 in self.fresh:
            self.rows.load(self.registers.accumulators[0])
            self.fresh.discard(0)

    def _step(self, step: int) -> None:
        self._begin()
        super()._step(step)

    def _shared(self, cursor: Cursor, step: int, free: list[V]) -> list[V]:
        if cursor.operand.fetch is not VECTOR:
            return super()._shared(cursor, step, free)
        registers = [free.pop(0) for _ in range(self.tile.vectors)]
        mask = None if self._reads_beyond(cursor) else self.registers.mask
        self.verbs.load_row(registers, self._place(cursor, 0, 0, step), mask)
        return registers

    def _broadcasts(self, cursor: Cursor, step: int, free: list[V]) -> Iterator[Sequence[LastOperand]]:
        if not self.by_element or cursor.operand.fetch is not BROADCAST:
            return super()._broadcasts(cursor, step, free)
        rotated = free[: self._rotated(free)]
        del free[0]
        return self._elements(cursor, step, rotated)

    def _elements(self, cursor: Cursor, step: int, rotated: Sequence[V]) -> Iterator[Sequence[LastOperand]]:
        """Load elements into one register after the other, and yield those of each column."""
        columns, vectors = self.tile.columns, self.tile.vectors
        width = self.vec.lanes if cursor.strides[1] == self.vec.dtype.size else 1
        for column, register in zip(range(0, columns, width), cycle(rotated)):
            count = min(width, columns - column)
            for element in self.verbs.load_elements(register, self._place(cursor, 0, column, step), count):
                yield [element] * vectors

    def _rotated(self, free: list[V]) -> int:
        """Return how many registers the elements of B are loaded into, one after the other."""
        shared = any(not cursor.operand.per_column for cursor in self.setting.inputs)
        return min(len(free), ROTATED) if shared and not self.registers.strided else 1

    def _accumulation(self, which: int) -> Callable[..., None]:
        accumulate = super()._accumulation(which)
        first, product = self.setting.inputs[0].operand, self.setting.product
        by_first = self.by_element and first.fetch is BROADCAST and first.per_column
        if not by_first or product.groups:  # Products of groups know which operand is which: they may be of two types.
            return accumulate

        def exchanged(target: V, element: LastOperand, vector: V) -> None:
            accumulate(target, vector, element)

        return exchanged


def microkernel_for(setting: Setting[R, V, A], tile: Tile, tail: int) -> Microkernel[R, V, A]:
    """Return the microkernel of a tile that suits the vector ISA."""
    if setting.product.has_blocks:
        assert setting.vec.blocks is not None
        return BlockMicrokernel(setting, tile, tail, setting.vec.blocks)
    if setting.vec.halves is not None and suits_halves(setting.product):
        return HalfMicrokernel(setting, tile, tail, setting.vec.halves)
    verbs = setting.vec.elements if setting.product.is_uniform else None
    return Microkernel(setting, tile, tail) if verbs is None else ByElement(setting, tile, tail, verbs)
