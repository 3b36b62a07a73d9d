"""`GroupedRows`: the last few rows of a tile, several products of k side by side in one register.

Where rows fill at most half (or a quarter) of a vector, 2 (or 4) consecutive k share a register: lanes (row, k). A's
columns are put together by one permutation, B's elements of consecutive k come from one broadcast, and one FMA does the
work of 2 (or 4). The sum over the lanes of a row is taken once at the end, for 2 (or 4) columns of C together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic

from einloom.kernels.verbs.abilities import GroupingVerbs
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import ArithmeticVerbs, V

__all__ = ["GroupedRows"]

PlaceOf = Callable[[int, int], A]  # (step, bytes to add) -> address in A; (column, step) -> address in B


class GroupedRows(Generic[R, V, A]):
    """Accumulators, steps and end of the grouped rows of one tile.

    Args:
        vec: the vector verbs.
        grouping: those that put several products side by side.
        rows: how many rows.
        group: how many products share a register.
        columns: columns of the tile.
        registers: `columns` accumulators for each set.
        free: three free registers; the third one may serve others between steps.
        joined_a: whether A's columns follow each other without gap, so that one load fetches a group.
        joined_c: whether C's columns do, so that one store writes `group` columns.
    """

    def __init__(
        self,
        vec: ArithmeticVerbs[R, V, A],
        grouping: GroupingVerbs[V, A],
        rows: int,
        group: int,
        columns: int,
        registers: list[list[V]],
        free: list[V],
        joined_a: bool,
        joined_c: bool,
    ) -> None:
        self.vec, self.grouping = vec, grouping
        self.rows = rows
        self.group = group
        self.columns = columns
        self.sets = registers
        self.fresh = set(range(len(registers)))
        self.blocks: list[V] = []
        self.pieces, self.fragment, self.multiplier = free
        self.width = vec.lanes // group
        self.joined_a = joined_a
        self.joined_c = joined_c

    def clear(self) -> None:
        """Set the accumulators to zero; without it the first group of each set overwrites them."""
        for which in sorted(self.fresh):
            for register in self.sets[which]:
                self.vec.zero(register)
        self.fresh.clear()

    def step(self, step: int, is_last: bool, a: PlaceOf[A], b: PlaceOf[A]) -> None:
        """Fetch one column of A; with the last one of a group add the group's products."""
        piece = step % self.group
        is_complete = is_last or piece == self.group - 1
        if not self.joined_a:
            self.grouping.load_piece(
                self.pieces, a(step, -piece * self.width * self.vec.dtype.size), piece, self.rows, self.group
            )
        if is_complete:
            first = step - piece
            self._order(a(first, 0), piece + 1)
            self._accumulate(first // self.group % len(self.sets), first, piece + 1, b)

    def _order(self, place: A, count: int) -> None:
        """Bring `count` columns of A, in `pieces` or at a place, into lanes (row, k)."""
        if not self.joined_a:
            self.grouping.order_rows(self.fragment, self.pieces, self.group, self.width)
            return
        lanes = count * self.rows
        if lanes == self.vec.lanes and self.vec.memory_operand:
            self.grouping.order_rows(self.fragment, place, self.group, self.rows)
            return
        self.vec.load(self.pieces, place, self.vec.mask(lanes))
        self.grouping.order_rows(self.fragment, self.pieces, self.group, self.rows)

    def _accumulate(self, which: int, step: int, count: int, b: PlaceOf[A]) -> None:
        operation = self.vec.product if which in self.fresh else self.vec.fma
        for column, accumulator in enumerate(self.sets[which]):
            self.grouping.broadcast_group(self.multiplier, b(column, step), self.group, count)
            operation(accumulator, self.fragment, self.multiplier)
        self.fresh.discard(which)

    def combine(self) -> None:
        """Sum over the sets and over the lanes of each row: `blocks` then holds `group` columns a register."""
        started = [registers for which, registers in enumerate(self.sets) if which not in self.fresh] or self.sets[:1]
        for other in started[1:]:
            for target, source in zip(started[0], other):
                self.vec.add(target, target, source)
        registers = started[0]
        self.blocks.clear()
        for first in range(0, self.columns, self.group):
            block = registers[first : first + self.group]
            self.grouping.sum_groups(block, self.group, self.pitch, self.multiplier)
            self.blocks.append(block[0])

    @property
    def pitch(self) -> int:
        """Lanes from one column to the next in the registers that are stored."""
        return self.rows if self.joined_c else self.width

    def part(self, column: int) -> tuple[V, int, int | None] | None:
        """Return the register of a column of C, the bytes by which its place shifts, and the mask of its lanes.

        None for a column that is stored together with one before it.
        """
        index = column % self.group
        if self.joined_c:
            count = min(self.group, self.columns - column)
            return None if index else (self.blocks[column // self.group], 0, self.vec.mask(count * self.rows))
        mask = self.grouping.mask(((1 << self.rows) - 1) << index * self.width)
        return self.blocks[column // self.group], -index * self.width * self.vec.dtype.size, mask

    def masks(self, steps: set[int]) -> list[int]:
        """Return the lanes of every mask that is needed for straight code of so many steps."""
        masks = [((1 << self.rows) - 1) << index * self.width for index in range(self.group)]
        if self.joined_a:
            masks += [(1 << count * self.rows) - 1 for count in {self.group, *(n % self.group for n in steps)} if count]
        if self.joined_c:
            masks += [(1 << n * self.rows) - 1 for n in {min(self.group, self.columns), self.columns % self.group} if n]
        own = masks if not (self.joined_a and self.joined_c) else masks[self.group :]
        whole = (1 << self.vec.lanes) - 1
        return [mask for mask in dict.fromkeys(own) if mask != whole]
