"""Transpositions by in-register shuffles: square blocks of vectors, loops over blocks, edges by masks.

A block is loaded as columns of A (contiguous along m) and stored as rows of B (contiguous along n). Interleaving pairs
of registers, then pairs of pairs, and exchanging 128-bit parts at last, takes log2(lanes) shuffles a register.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from einloom.kernels.elementwise.columns import Operand
from einloom.kernels.verbs.frame import Frame
from einloom.kernels.verbs.machine import KernelMachine

__all__ = ["Blocks"]


class Blocks:
    """Loops over square blocks. `a` is contiguous along m, `b` along n; `apply` works on one register in place.

    The pointers end behind the last column; `counters` name the variables that count along m and n. With `padded` whole
    vectors of b are written, 0 behind its last column.
    """

    def __init__(
        self,
        km: KernelMachine,
        vec: Any,
        frame: Frame,
        size: tuple[int, int],
        a: Operand,
        b: Operand,
        apply: Callable[[list[Any], list[Any]], Any],
        counters: tuple[str, str] = ("m", "n"),
        padded: bool = False,
    ) -> None:
        self.km, self.vec, self.frame = km, vec, frame
        self.m, self.n = size
        self.counters = counters
        self.padded = padded
        self.a, self.b = a, b
        self.apply = apply

    def emit(self) -> None:
        """Emit the loops: along n outside, along m, where the reads are contiguous, inside."""
        lanes = self.vec.lanes
        for columns, count in _parts(self.n, lanes):
            with self.frame.loop(count, self.counters[1]):
                for rows, times in _parts(self.m, lanes):
                    with self.frame.loop(times, self.counters[0]):
                        self._block(rows, columns)
                        self._advance(0, rows)
                self._advance(0, -self.m)
                self._advance(1, columns)

    def _advance(self, axis: int, count: int) -> None:
        for operand in (self.a, self.b):
            self.frame.advance(operand.name, operand.strides[axis], count)

    def _block(self, rows: int, columns: int) -> None:
        """Transpose a block; of registers that hold lines beyond `columns`, whatever they hold is masked at the end."""
        vec, lanes = self.vec, self.vec.lanes
        registers = list(vec.registers[: 2 * lanes])
        block, free = registers[:lanes], registers[lanes:]
        row_mask, column_mask = vec.mask(rows), None if self.padded else vec.mask(columns)
        load_transposed = getattr(vec, "load_transposed", None)  # There where it spares shuffles.
        if rows == lanes and load_transposed is not None:
            block, free = load_transposed(self._lines(self.a, 1, columns), block, free)
        else:
            for register, (base, offset) in zip(block, self._lines(self.a, 1, columns)):
                vec.load(register, self.km.place(base, offset), row_mask)
            for register in block[columns:] if self.padded else ():
                vec.zero(register)
            block, free = vec.transpose(block, free)
        for register, (base, offset) in zip(block, self._lines(self.b, 0, rows)):
            result = self.apply([register], free)
            vec.store(self.km.place(base, offset), result, column_mask, temporary=free[0])

    def _lines(self, operand: Operand, axis: int, count: int) -> Iterator[tuple[Any, int]]:
        """Yield (base, offset) of the columns or rows of a block; large and run-time strides are walked."""
        stride, base = operand.strides[axis], self.frame.read(operand.name)
        if isinstance(stride, int) and abs(stride) * count <= self.km.reach:
            for line in range(count):
                yield base, line * stride
            return
        walk = self.frame.temporary
        self.km.move(walk, base)
        for line in range(count):
            if line:
                self.frame.add_multiple(walk, stride, 1)
            yield walk, 0


def _parts(size: int, lanes: int) -> list[tuple[int, int]]:
    """Return (length, count): whole blocks, then the rest."""
    whole, rest = divmod(size, lanes)
    return [(length, count) for length, count in ((lanes, whole), (rest, 1)) if length and count]
