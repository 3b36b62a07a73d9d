"""Transpositions by in-register shuffles: square blocks of vectors, loops over blocks, edges by masks.

A block is loaded as columns of A (contiguous along m) and stored as rows of B (contiguous along n). Interleaving pairs
of registers, then pairs of pairs, and exchanging 128-bit parts at last, takes log2(lanes) shuffles a register.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic

from einloom.kernels.elementwise.columns import Matrix
from einloom.kernels.parts import parts
from einloom.kernels.verbs.frame import Frame
from einloom.kernels.verbs.scalar import A, R, ScalarVerbs
from einloom.kernels.verbs.vector import CopyVerbs, Mask, V

__all__ = ["Blocks"]


class Blocks(Generic[R, V, A]):
    """Loops over square blocks. `a` is contiguous along m, `b` along n; `apply` works on one register in place.

    `verbs` are those of registers, those that read a and those that write b.

    The pointers end behind the last column; `counters` name the variables that count along m and n. With `padded` whole
    vectors of b are written, 0 behind its last column. `in_halves`: they are stored so where the ISA's are of a whole
    cache line.
    """

    def __init__(
        self,
        km: ScalarVerbs[R, A],
        verbs: tuple[CopyVerbs[R, V, A], CopyVerbs[R, V, A], CopyVerbs[R, V, A]],
        frame: Frame[R, A],
        size: tuple[int, int],
        a: Matrix,
        b: Matrix,
        apply: Callable[[list[V], list[V]], V],
        counters: tuple[str, str] = ("m", "n"),
        padded: bool = False,
        writes_in_order: bool = False,
        in_halves: bool = False,
    ) -> None:
        self.km, self.frame = km, frame
        self.vec, self.reads, self.writes = verbs
        self.m, self.n = size
        self.counters = counters
        self.padded = padded
        self.order = (0, 1) if writes_in_order else (1, 0)
        self.a, self.b = a, b
        self.apply = apply
        self.store_half = self.writes.store_half if in_halves else None

    def emit(self) -> None:
        """Emit the loops: inside along m, where the reads are contiguous, or along n, where the writes are."""
        outer, inner = self.order
        sizes, lanes = (self.m, self.n), self.vec.lanes
        for across, count in parts(sizes[outer], lanes):
            with self.frame.loop(count, self.counters[outer]):
                for along, times in parts(sizes[inner], lanes):
                    with self.frame.loop(times, self.counters[inner]):
                        rows, columns = (along, across) if inner == 0 else (across, along)
                        self._block(rows, columns)
                        self._advance(inner, along)
                self._advance(inner, -sizes[inner])
                self._advance(outer, across)

    def _advance(self, axis: int, count: int) -> None:
        for operand in (self.a, self.b):
            self.frame.advance(operand.name, operand.strides[axis], count)

    def _block(self, rows: int, columns: int) -> None:
        """Transpose a block; of registers that hold lines beyond `columns`, whatever they hold is masked at the end."""
        vec, lanes = self.vec, self.vec.lanes
        load = self.reads.load_transposed
        held = rows if load is not None and rows % self.reads.part == 0 else lanes
        registers = list(vec.registers[: 2 * lanes])
        block, free = registers[:held], registers[held : 2 * held]
        row_mask, column_masks = vec.mask(rows), self._column_masks(columns)
        if load is not None and held == rows:
            block, free = load(self._lines(self.a, 1, columns), block, free)
        else:
            for register, (base, offset) in zip(block, self._lines(self.a, 1, columns)):
                self.reads.load(register, self.km.place(base, offset), row_mask)
            for register in block[columns:] if self.padded else ():
                vec.zero(register)
            block, free = vec.transpose(block, free)
        for register, (base, offset) in zip(block, self._lines(self.b, 0, rows)):
            result = self.apply([register], free)
            if self.store_half is None:
                self.writes.store(self.km.place(base, offset), result, column_masks[0], temporary=free[0])
                continue
            for high, mask in enumerate(column_masks):
                place = self.km.place(base, offset + high * lanes * self.b.element // 2)
                self.store_half(place, result, high == 1, mask, free[0])

    def _column_masks(self, columns: int) -> list[Mask]:
        """Return the masks of what a row is stored in: a vector, or the halves that have some of its columns.

        They are set up before addresses are, for which there may be no other register.
        """
        vec, half = self.vec, self.vec.lanes // 2
        if self.store_half is None:
            return [None if self.padded else vec.mask(columns)]
        counts = [min(columns - first, half) for first in range(0, columns, half)]
        return [None if count == half else vec.lane_mask((1 << count) - 1) for count in counts]

    def _lines(self, matrix: Matrix, axis: int, count: int) -> Iterator[tuple[R, int]]:
        """Return (base, offset) of the columns or rows of a block."""
        return self.frame.walk(matrix.name, matrix.strides[axis], count, self.km.reach)
