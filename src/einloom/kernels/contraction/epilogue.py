"""`Epilogue`: the end of a tile: its sums times alpha, C added as beta says, stored; and where C's columns are.

The sums are in registers already: those of whole vectors are given, those of grouped rows in `GroupedRows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic

from einloom.kernels.contraction.registers import TileRegisters
from einloom.kernels.fetch import VECTOR
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import V

__all__ = ["Epilogue"]


class Epilogue(Generic[R, V, A]):
    """The end of the tile that has these registers."""

    def __init__(self, registers: TileRegisters[R, V, A]) -> None:
        self.registers = registers
        self.setting, self.vec, self.tile = registers.setting, registers.vec, registers.tile
        self.view = self.setting.views["c"]
        self.is_vector = self.setting.product.c.fetch is VECTOR
        self.vector_bytes = self.vec.lanes * self.setting.product.c.dtype.size

    def emit(self, result: Sequence[V]) -> None:
        """Scale the sums, `vectors` registers for one column after another, add C as beta says, and store."""
        comment, product = self.setting.km.asm.comment, self.setting.product
        if product.alpha != 1:
            comment("times alpha")
            self._scale(result)
        if product.beta != 0:
            comment("add C")
        self.add(result)
        comment("store C")
        self.store(result)

    def store(self, result: Sequence[V]) -> None:
        """Store the tile."""
        vectors, store = self.tile.vectors, self._store_vectors if self.is_vector else self._store_strided
        for column, base, offset in self.columns():
            store(result[column * vectors : (column + 1) * vectors], base, offset)
            if self.registers.grouped:
                self.registers.grouped.store_c(column, self._grouped_place(base, offset), self.registers.free[0])

    def _scale(self, result: Sequence[V]) -> None:
        factor = self.registers.free[0]
        self.vec.broadcast_constant(factor, self.setting.product.alpha)
        for register in (*result, *(self.registers.grouped.blocks if self.registers.grouped else ())):
            self.vec.mul(register, register, factor)

    def add(self, result: Sequence[V]) -> None:
        """Add C, unless beta is 0 now or at run time."""
        beta = self.setting.product.beta
        if beta == 0:
            return
        km, skip, vectors = self.setting.km, None, self.tile.vectors
        add = self._add_vectors if self.is_vector else self._add_strided
        if beta is None:
            skip = km.asm.forward("overwrite")
            self.setting.frame.branch("eq", "beta", 0, skip)
        for column, base, offset in self.columns():
            add(result[column * vectors : (column + 1) * vectors], base, offset)
            if self.registers.grouped:
                self.registers.grouped.add_c(column, self._grouped_place(base, offset), self.registers.free[0])
        if skip is not None:
            km.asm.bind(skip)

    def _grouped_place(self, base: R, offset: int) -> A:
        """Return where the grouped rows of a column of C lie."""
        return self.setting.km.place(base, offset + self.registers.above)

    def columns(self) -> Iterator[tuple[int, R, int]]:
        """Yield (column, base, offset) of C; a run-time stride is walked."""
        km, frame, stride = self.setting.km, self.setting.frame, self.setting.output[1]
        if isinstance(stride, int) or self.tile.columns == 1:
            base = frame.read("c")
            for column in range(self.tile.columns):
                yield column, base, column * stride if isinstance(stride, int) else 0
            return
        walk = frame.read("c_walk")
        km.move(walk, frame.read("c"))
        for column in range(self.tile.columns):
            if column:
                km.add(walk, frame.read(stride))
            yield column, walk, 0

    # A column: its vectors lie side by side in C, or their lanes lie a stride apart

    def _add_vectors(self, registers: Sequence[V], base: R, offset: int) -> None:
        place, free = self.setting.km.place, self.registers.free[0]
        for register, mask in zip(registers, self.registers.masks):
            if self.view is self.vec:
                self.vec.add_memory(register, place(base, offset), mask, free)
            else:
                self.view.load(free, place(base, offset), mask)
                self.vec.add(register, register, free)
            offset += self.vector_bytes

    def _add_strided(self, registers: Sequence[V], base: R, offset: int) -> None:
        loaded, index, temporaries = self.registers.free[0], self.setting.indices["c"], self.registers.temporaries
        for row, register in enumerate(registers):
            row_base, row_offset = self._row_base(base, offset, self.setting.output[0], row)
            self.view.load_strided(loaded, row_base, row_offset, index, self.registers.row_lanes(row), temporaries)
            self.vec.add(register, register, loaded)

    def _store_vectors(self, registers: Sequence[V], base: R, offset: int) -> None:
        place, store, converts = self.setting.km.place, self.view.store, self.view is not self.vec
        for register, mask in zip(registers, self.registers.masks):
            temporary = self.registers.free[0] if converts or mask is not None else None
            store(place(base, offset), register, mask, temporary=temporary)
            offset += self.vector_bytes

    def _store_strided(self, registers: Sequence[V], base: R, offset: int) -> None:
        index, temporaries = self.setting.indices["c"], self.registers.temporaries
        for row, register in enumerate(registers):
            row_base, row_offset = self._row_base(base, offset, self.setting.output[0], row)
            self.view.store_strided(row_base, row_offset, register, index, self.registers.row_lanes(row), temporaries)

    def _row_base(self, base: R, offset: int, stride: int | str, row: int) -> tuple[R, int]:
        if isinstance(stride, int):
            return base, offset + row * self.vec.lanes * stride
        frame = self.setting.frame
        if row:
            self.setting.km.sum_multiple(frame.temporary, base, frame.read(stride), row * self.vec.lanes)
            base = frame.temporary
        return base, offset
