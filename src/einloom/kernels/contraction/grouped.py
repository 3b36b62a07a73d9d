"""The last few rows of a tile, which fill at most half (or a quarter) of a vector: 2 (or 4) of them share a register.

`GroupedProducts`: consecutive products of k do, in lanes (row, k). A's columns are put together by one permutation, B's
elements of consecutive k come from one broadcast, and one FMA does the work of 2 (or 4). The sum over the lanes of a
row is taken once at the end, for 2 (or 4) columns of C together.

`GroupedColumns`: neighbouring columns do, in lanes (row, column), where B's elements of those lie side by side. Each of
A's elements is repeated by one permutation, B's come from one broadcast. At the end a permutation parts the columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic

from einloom.kernels.verbs.abilities import GroupingVerbs
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import ArithmeticVerbs, Mask, V

__all__ = ["GroupedColumns", "GroupedProducts", "GroupedRows"]

RowsOf = Callable[[int], A]  # step -> address in A
ElementOf = Callable[[int, int], A]  # (column, step) -> address in B


class GroupedRows(ABC, Generic[R, V, A]):
    """Accumulators, steps and end of the grouped rows of one tile.

    Args:
        vec: the vector verbs.
        grouping: those that put several products side by side.
        rows: how many rows.
        group: how many products, or columns, share a register.
        columns: columns of the tile.
        registers: the accumulators of each set.
        free: three free registers; the second and the third one may serve others between steps.
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
        """Set the accumulators to zero; without it the first products of each set overwrite them."""
        for which in sorted(self.fresh):
            for register in self.sets[which]:
                self.vec.zero(register)
        self.fresh.clear()

    @abstractmethod
    def step(self, step: int, is_last: bool, a: RowsOf[A], b: ElementOf[A]) -> None:
        """Fetch one column of A, and add its products or, with the last one of a group, those of the group."""

    def combine(self) -> None:
        """Sum over the sets, and bring what a column needs side by side: `blocks` holds `group` columns a register."""
        started = [registers for which, registers in enumerate(self.sets) if which not in self.fresh] or self.sets[:1]
        for other in started[1:]:
            for target, source in zip(started[0], other):
                self.vec.add(target, target, source)
        self.blocks[:] = self._columns(started[0])

    @abstractmethod
    def _columns(self, sums: list[V]) -> list[V]:
        """Return the registers of `group` columns each, `pitch` lanes from one to the next."""

    @property
    def pitch(self) -> int:
        """Lanes from one column to the next in the registers that are stored."""
        return self.rows if self.joined_c else self.width

    def add_c(self, column: int, place: A, temporary: V) -> None:
        """Add the rows of a column of C, or with the first one those of `group` where they follow each other."""
        register, piece = self.blocks[column // self.group], column % self.group
        if not self.joined_c:
            self.grouping.add_piece(register, place, piece, self.rows, self.group, temporary)
        elif piece == 0:
            self.vec.add_memory(register, place, self._joined_mask(column), temporary)

    def store_c(self, column: int, place: A, temporary: V) -> None:
        """Store the rows of a column of C, or with the first one those of `group` where they follow each other."""
        register, piece = self.blocks[column // self.group], column % self.group
        if not self.joined_c:
            self.grouping.store_piece(place, register, piece, self.rows, self.group, temporary)
        elif piece == 0:
            self.vec.store(place, register, self._joined_mask(column), temporary=temporary)

    def _joined_mask(self, column: int) -> Mask:
        """Return the mask of the columns of a register, from the first one on."""
        return self.vec.mask(min(self.group, self.columns - column) * self.rows)

    def masks(self, steps: set[int]) -> list[int]:
        """Return the lanes of every mask that is needed for straight code of so many steps."""
        pieces = [((1 << self.rows) - 1) << index * self.width for index in range(self.group)]
        masks = self._masks_of_a(pieces, steps) if self.joined_c else [*pieces, *self._masks_of_a(pieces, steps)]
        if self.joined_c:
            masks += [(1 << n * self.rows) - 1 for n in {min(self.group, self.columns), self.columns % self.group} if n]
        whole = (1 << self.vec.lanes) - 1
        return [mask for mask in dict.fromkeys(masks) if mask != whole]

    @abstractmethod
    def _masks_of_a(self, pieces: list[int], steps: set[int]) -> list[int]:
        """Return the lanes of every mask that A's rows are loaded with, given those of each part of a register."""


class GroupedProducts(GroupedRows[R, V, A]):
    """Rows of which consecutive products of k share a register."""

    def step(self, step: int, is_last: bool, a: RowsOf[A], b: ElementOf[A]) -> None:
        piece = step % self.group
        is_complete = is_last or piece == self.group - 1
        if not self.joined_a:
            self.grouping.load_piece(self.pieces, a(step), piece, self.rows, self.group, self.fragment)
        if is_complete:
            first = step - piece
            self._order(a(first), piece + 1)
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

    def _accumulate(self, which: int, step: int, count: int, b: ElementOf[A]) -> None:
        operation = self.vec.product if which in self.fresh else self.vec.fma
        for column, accumulator in enumerate(self.sets[which]):
            self.grouping.broadcast_group(self.multiplier, b(column, step), self.group, count)
            operation(accumulator, self.fragment, self.multiplier)
        self.fresh.discard(which)

    def _columns(self, sums: list[V]) -> list[V]:
        blocks = [sums[first : first + self.group] for first in range(0, self.columns, self.group)]
        for block in blocks:
            self.grouping.sum_groups(block, self.group, self.pitch, self.multiplier)
        return [block[0] for block in blocks]

    def _masks_of_a(self, pieces: list[int], steps: set[int]) -> list[int]:
        if not self.joined_a:
            return pieces
        return [(1 << count * self.rows) - 1 for count in {self.group, *(n % self.group for n in steps)} if count]


class GroupedColumns(GroupedRows[R, V, A]):
    """Rows of which neighbouring columns share a register; `pieces` holds how lanes are repeated."""

    is_ready = False

    def clear(self) -> None:
        self._get_ready()
        super().clear()

    def _get_ready(self) -> None:
        """Load, once and before any loop over k, how lanes are repeated."""
        if not self.is_ready:
            self.grouping.load_repeats(self.pieces, self.group)
            self.is_ready = True

    def step(self, step: int, is_last: bool, a: RowsOf[A], b: ElementOf[A]) -> None:
        self._get_ready()
        self.grouping.load_repeated(self.fragment, a(step), self.rows, self.group, self.pieces)
        which = step % len(self.sets)
        operation = self.vec.product if which in self.fresh else self.vec.fma
        for first, accumulator in zip(range(0, self.columns, self.group), self.sets[which]):
            count = min(self.group, self.columns - first)
            self.grouping.broadcast_group(self.multiplier, b(first, step), self.group, count)
            operation(accumulator, self.fragment, self.multiplier)
        self.fresh.discard(which)

    def _columns(self, sums: list[V]) -> list[V]:
        for register in sums:
            self.grouping.part_columns(register, self.group, self.pitch, self.multiplier)
        return sums

    def _masks_of_a(self, pieces: list[int], steps: set[int]) -> list[int]:
        return pieces[:1] if self.rows < self.width else []
