"""`GroupedRows`: the last few rows of a tile, several products of k side by side in one register.

Where at most half (or a quarter) of a vector is filled by rows, 2 (or 4) consecutive k share a register: lanes (row, k).
A's columns are put together by one permutation, B's elements of consecutive k come from one broadcast, and one FMA does
the work of 2 (or 4). The sum over the lanes of a row is taken once at the end, for 2 (or 4) columns of C together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from einloom.kernels.machine import VectorMachine

__all__ = ["GroupedRows"]

Register = Any
PlaceOf = Callable[[int, int], Any]  # (step, bytes to add) -> address in A; (column, step) -> address in B


class GroupedRows:
    """Accumulators, steps and end of the grouped rows of one tile.

    Args:
        vec: the vector verbs.
        rows: how many rows.
        group: how many products share a register.
        columns: columns of the tile.
        registers: `columns` accumulators for each set.
        free: three free registers: two during steps, one at the end.
        contiguous: whether A's columns follow each other without gap, so that one load fetches a group.
    """

    def __init__(
        self,
        vec: VectorMachine,
        rows: int,
        group: int,
        columns: int,
        registers: list[list[Register]],
        free: list[Register],
        contiguous: bool,
    ) -> None:
        self.vec = vec
        self.rows = rows
        self.group = group
        self.columns = columns
        self.sets = registers
        self.fresh = set(range(len(registers)))
        self.pieces, self.fragment = free[:2]
        self.multiplier = free[2]
        self.width = vec.lanes // group
        self.contiguous = contiguous and rows == self.width

    def clear(self) -> None:
        """Set the accumulators to zero; without it the first group of each set overwrites them."""
        for which in sorted(self.fresh):
            for register in self.sets[which]:
                self.vec.zero(register)
        self.fresh.clear()

    def step(self, step: int, is_last: bool, a: PlaceOf, b: PlaceOf) -> None:
        """Fetch one column of A; with the last one of a group add the group's products."""
        piece = step % self.group
        if not self.contiguous:
            self.vec.load_piece(
                self.pieces, a(step, -piece * self.width * self.vec.dtype.size), piece, self.rows, self.group
            )
        if piece < self.group - 1 and not is_last:
            return
        first = step - piece
        if self.contiguous and piece == self.group - 1:
            self.vec.order_rows(self.fragment, a(first, 0), self.group)
        else:
            if self.contiguous:
                for each in range(piece + 1):
                    place = a(first + each, -each * self.width * self.vec.dtype.size)
                    self.vec.load_piece(self.pieces, place, each, self.rows, self.group)
            self.vec.order_rows(self.fragment, self.pieces, self.group)
        self._accumulate(first // self.group % len(self.sets), first, piece + 1, b)

    def _accumulate(self, which: int, step: int, count: int, b: PlaceOf) -> None:
        operation = self.vec.mul if which in self.fresh else self.vec.fma
        for column, accumulator in enumerate(self.sets[which]):
            self.vec.broadcast_group(self.multiplier, b(column, step), self.group, count)
            operation(accumulator, self.fragment, self.multiplier)
        self.fresh.discard(which)

    def combine(self) -> None:
        """Sum over the sets and over the lanes of each row: `blocks` then holds `group` columns a register."""
        started = [registers for which, registers in enumerate(self.sets) if which not in self.fresh] or self.sets[:1]
        for other in started[1:]:
            for target, source in zip(started[0], other):
                self.vec.add(target, target, source)
        registers = started[0]
        self.blocks = []
        for first in range(0, self.columns, self.group):
            block = registers[first : first + self.group]
            self.vec.sum_groups(block, self.group, self.multiplier)
            self.blocks.append(block[0])

    def parts(self, column: int) -> tuple[Register, int, Any]:
        """Return the register that holds a column, the bytes by which its place shifts, and the mask of its lanes."""
        index = column % self.group
        mask = self.vec.lane_mask(self.masks(self.rows, self.group, self.vec.lanes)[index])
        return self.blocks[column // self.group], -index * self.width * self.vec.dtype.size, mask

    @staticmethod
    def masks(rows: int, group: int, lanes: int) -> list[int]:
        """Return the lanes of every mask that such rows need."""
        return [((1 << rows) - 1) << index * (lanes // group) for index in range(group)]
