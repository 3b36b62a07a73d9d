"""`Microkernel`: one tile of C in registers: start, one step of the sum after another, add C and store.

It is straight code between pointers that its caller moves; the loops are in `brgemm`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic

from einloom.kernels.contraction.cursor import Cursor
from einloom.kernels.contraction.grouped import GroupedRows
from einloom.kernels.contraction.product import Product
from einloom.kernels.contraction.tiles import Tile
from einloom.kernels.fetch import BROADCAST, STRIDED, VECTOR
from einloom.kernels.verbs.frame import Frame
from einloom.kernels.verbs.scalar import A, R, ScalarVerbs
from einloom.kernels.verbs.vector import ArithmeticVerbs, LastOperand, Mask, StrideIndex, V

__all__ = ["Microkernel", "Setting"]

CACHE_LINE = 64


@dataclass(slots=True)
class Setting(Generic[R, V, A]):
    """What all tiles of a kernel share: the product, its cursors and pointers, the machine.

    Attributes:
        inputs: cursors of A and, if there is one, B.
        output: strides of C along (m, n) in bytes or names of variables.
        indices: what strided accesses need, by operand.
    """

    km: ScalarVerbs[R, A]
    vec: ArithmeticVerbs[R, V, A]
    frame: Frame[R, A]
    product: Product
    inputs: tuple[Cursor, ...]
    output: tuple[int | str, ...]
    indices: dict[str, StrideIndex] = field(default_factory=dict[str, StrideIndex])


class Microkernel(Generic[R, V, A]):
    """One tile: `vectors` x `columns` accumulators; the last vector of each column has `tail` lanes (0: all)."""

    def __init__(self, setting: Setting[R, V, A], tile: Tile, tail: int) -> None:
        self.setting = setting
        self.vec = setting.vec
        self.tile = tile
        self.tail = tail if tile.group == 1 else 0
        self.mask = self.vec.mask(tail) if self.tail else None
        registers = self.vec.registers
        used = tile.accumulators * tile.sets
        self.accumulators = [registers[s * tile.accumulators : (s + 1) * tile.accumulators] for s in range(tile.sets)]
        self.free = registers[used + tile.grouped :]
        self.grouped = self._grouped_rows(tail, list(registers[used : used + tile.grouped])) if tile.group > 1 else None
        self.fresh = set(range(tile.sets))
        self.reads_on = False
        self.prefetches: list[tuple[R, int]] = []
        self.prefetches_per_column = 0
        self.strided = setting.product.c.fetch is STRIDED or any(c.operand.fetch is STRIDED for c in setting.inputs)
        self.temporaries = self.free[-2:] if self.strided else ()

    def _grouped_rows(self, rows: int, registers: list[V]) -> GroupedRows[R, V, A]:
        """Return the rows behind the whole vectors; they take two registers for themselves and borrow one."""
        tile, cursor = self.tile, self.setting.inputs[0]
        sets = [registers[s * tile.columns : (s + 1) * tile.columns] for s in range(tile.group_sets)]
        own, self.free = [*self.free[-2:], self.free[0]], self.free[:-2] or self.free
        column = rows * self.vec.dtype.size
        joined_a, joined_c = (
            not tile.vectors and stride == column for stride in (cursor.strides[2], self.setting.output[1])
        )
        assert self.vec.grouping is not None
        return GroupedRows(self.vec, self.vec.grouping, rows, tile.group, tile.columns, sets, own, joined_a, joined_c)

    # Start and steps

    def plan_prefetches(self, steps: int) -> None:
        """Ask for the tile of C, which is needed at the end, during the next `steps` steps, or at once if 0.

        Unaligned columns reach into one line more than their vectors count.
        """
        size = self.vec.dtype.size
        length = ((self.tile.vectors - 1) * self.vec.lanes + self._row_lanes(self.tile.vectors - 1)) * size
        if self.grouped:
            length += self.grouped.rows * size
        lines = (*range(0, length, CACHE_LINE), length - 1)
        places = ((base, offset + line) for _, base, offset in self._columns() for line in lines)
        if steps == 0 or isinstance(self.setting.output[1], str):  # Columns that are walked must be used at once.
            for base, offset in places:
                self.setting.km.prefetch(self.setting.km.place(base, offset))
            return
        self.prefetches = list(places)
        self.prefetches_per_column = -(-len(self.prefetches) // (steps * self.tile.columns))

    def _prefetch(self, count: int) -> None:
        for base, offset in self.prefetches[:count]:
            self.setting.km.prefetch(self.setting.km.place(base, offset))
        del self.prefetches[:count]

    def clear(self) -> None:
        """Set the accumulators to zero that no step has overwritten yet, as the first step of each set does."""
        for which in sorted(self.fresh):
            for register in self.accumulators[which]:
                self.vec.zero(register)
        self.fresh.clear()
        if self.grouped:
            self.grouped.clear()

    def step(self, step: int, is_last: bool) -> None:
        """Add one product of every element, `step` of k behind the pointers; no step follows the last one directly."""
        if self.tile.vectors:
            padded = self.setting.inputs[0].operand.name == "packed"
            self.reads_on = padded or (self._may_read_on() and not is_last)
            self._step(step)
        if self.grouped:
            self.grouped.step(step, is_last, self._grouped_place, self._multiplier_place)

    def _grouped_place(self, step: int, shift: int) -> A:
        """The place of the grouped rows of A's column `step`, moved by `shift` bytes."""
        above = self.tile.vectors * self.vec.lanes * self.vec.dtype.size
        return self.setting.inputs[0].place(self.setting.frame, above + shift, 0, step)

    def _multiplier_place(self, column: int, step: int) -> A:
        return self.setting.inputs[1].place(self.setting.frame, 0, column, step)

    def _step(self, step: int) -> None:
        which = step % self.tile.sets
        free = list(self.free)
        inputs = self.setting.inputs
        shared = {c.operand.name: self._shared(c, step, free) for c in inputs if not c.operand.per_column}
        for column in range(self.tile.columns):
            private = list(free)
            broadcast = {
                c.operand.name: self._broadcast(c, column, step, private)
                for c in inputs
                if c.operand.per_column and c.operand.fetch is BROADCAST
            }
            self._prefetch(self.prefetches_per_column)
            for row in range(self.tile.vectors):
                room = list(private)
                operands = [
                    shared[name][row]
                    if name in shared
                    else broadcast.get(name) or self._private(c, row, column, step, room)
                    for c in inputs
                    for name in (c.operand.name,)
                ]
                self._accumulate(which, column * self.tile.vectors + row, operands, room)
        self.fresh.discard(which)

    def _shared(self, cursor: Cursor, step: int, free: list[V]) -> list[V]:
        """Load what all columns use; return a register for each row."""
        if cursor.operand.fetch is BROADCAST:
            register = free.pop(0)
            self.vec.broadcast(register, self._place(cursor, 0, 0, step))
            return [register] * self.tile.vectors
        registers = [free.pop(0) for _ in range(self.tile.vectors)]
        for row, register in enumerate(registers):
            self._load(cursor, register, row, 0, step)
        return registers

    def _broadcast(self, cursor: Cursor, column: int, step: int, free: list[V]) -> LastOperand:
        place = self._place(cursor, 0, column, step)
        others = [c for c in self.setting.inputs if c is not cursor]
        in_register = bool(others) and not others[0].operand.per_column
        if self.vec.element is not None and self.tile.vectors == 1 and in_register:
            return self.vec.element(place)
        register = free.pop(0)
        self.vec.broadcast(register, place)
        return register

    def _private(self, cursor: Cursor, row: int, column: int, step: int, free: list[V]) -> V:
        register = free.pop(0)
        self._load(cursor, register, row, column, step)
        return register

    def _accumulate(self, which: int, index: int, operands: Sequence[LastOperand], free: list[V]) -> None:
        target = self.accumulators[which][index]
        fresh = which in self.fresh
        if len(operands) == 1:
            if fresh:
                self.vec.copy(target, operands[0])
            else:
                self.vec.add(target, target, operands[0])
        elif fresh:
            self.vec.mul(target, *operands)
        else:
            self.vec.fma(target, *operands)

    # Fetching

    def _may_read_on(self) -> bool:
        """Whether the last vector of a column of A ends inside the next column, so that it needs no mask.

        What lies between two columns less than a vector apart is as readable as they are.
        """
        stride = self.setting.inputs[0].strides[2]
        vectors = -(-self.setting.product.m // self.vec.lanes) * self.vec.lanes
        surplus = (vectors - self.setting.product.m) * self.vec.dtype.size
        return isinstance(stride, int) and surplus <= stride < vectors * self.vec.dtype.size

    def _reads_beyond(self, cursor: Cursor) -> bool:
        """Whether whole vectors of an operand may be read in this step: `_may_read_on` knows about A alone."""
        return self.reads_on and cursor is self.setting.inputs[0]

    def _row_mask(self, row: int) -> Mask:
        return self.mask if row == self.tile.vectors - 1 else None

    def _row_lanes(self, row: int) -> int:
        return self.tail if self.tail and row == self.tile.vectors - 1 else self.vec.lanes

    def _place(self, cursor: Cursor, row: int, column: int, step: int) -> A:
        row_bytes = row * self.vec.lanes * cursor.strides[0] if isinstance(cursor.strides[0], int) else 0
        return cursor.place(self.setting.frame, row_bytes, column, step)

    def _load(self, cursor: Cursor, register: V, row: int, column: int, step: int) -> None:
        if cursor.operand.fetch is VECTOR:
            mask = None if self._reads_beyond(cursor) else self._row_mask(row)
            self.vec.load(register, self._place(cursor, row, column, step), mask)
            return
        if cursor.operand.fetch is BROADCAST:
            self.vec.broadcast(register, self._place(cursor, 0, column, step))
            return
        base, offset = self._strided_base(cursor, row, column, step)
        index = self.setting.indices[cursor.operand.name]
        self.vec.load_strided(register, base, offset, index, self._row_lanes(row), self.temporaries)

    def _strided_base(self, cursor: Cursor, row: int, column: int, step: int) -> tuple[R, int]:
        km, frame = self.setting.km, self.setting.frame
        stride = cursor.strides[0]
        row_bytes = row * self.vec.lanes * stride if isinstance(stride, int) else 0
        base, offset, index, scale = cursor.address(frame, row_bytes, column, step)
        if index is not None:
            km.sum_multiple(frame.temporary, base, index, scale)
            base = frame.temporary
        if isinstance(stride, str) and row:
            km.sum_multiple(frame.temporary, base, frame.read(stride), row * self.vec.lanes)
            base = frame.temporary
        return base, offset

    # End

    def finish(self) -> None:
        """Add up the sets, scale, add C as beta says, and store."""
        comment, product = self.setting.km.asm.comment, self.setting.product
        if max(self.tile.sets, self.tile.group) > 1:
            comment("add up the accumulators of each element")
        self._combine()
        if product.alpha != 1:
            comment("times alpha")
            self._scale()
        if product.beta != 0:
            comment("add C")
        self._add()
        comment("store C")
        self._store_columns()

    def _combine(self) -> None:
        started = [s for s in range(self.tile.sets) if s not in self.fresh] or [0]
        for other in started[1:]:
            for target, source in zip(self.accumulators[started[0]], self.accumulators[other]):
                self.vec.add(target, target, source)
        self.result = self.accumulators[started[0]]
        if self.grouped:
            self.grouped.combine()

    def _store_columns(self) -> None:
        for column, base, offset in self._columns():
            for row in range(self.tile.vectors):
                self._store(self.result[column * self.tile.vectors + row], base, offset, row)
            for register, place, mask in self._grouped_part(column, base, offset):
                self.vec.store(place, register, mask)

    def _scale(self) -> None:
        factor = self.free[0]
        self.vec.broadcast_constant(factor, self.setting.product.alpha)
        for register in (*self.result, *(self.grouped.blocks if self.grouped else ())):
            self.vec.mul(register, register, factor)

    def _add(self) -> None:
        """Add C, unless beta is 0 now or at run time."""
        beta = self.setting.product.beta
        if beta == 0:
            return
        km, skip = self.setting.km, None
        if beta is None:
            skip = km.asm.forward("overwrite")
            km.branch("eq", self.setting.frame.read("beta"), 0, skip)
        for column, base, offset in self._columns():
            for row in range(self.tile.vectors):
                self._add_block(self.result[column * self.tile.vectors + row], base, offset, row)
            for register, place, mask in self._grouped_part(column, base, offset):
                self.vec.add_memory(register, place, mask)
        if skip is not None:
            km.asm.bind(skip)

    def _grouped_part(self, column: int, base: R, offset: int) -> Iterator[tuple[V, A, Mask]]:
        """Yield (register, place, mask) of the grouped rows of a column of C, unless an earlier column had them."""
        part = self.grouped.part(column) if self.grouped else None
        if part is not None:
            register, shift, mask = part
            above = self.tile.vectors * self.vec.lanes * self.vec.dtype.size
            yield register, self.setting.km.place(base, offset + above + shift), mask

    def _columns(self) -> Iterator[tuple[int, R, int]]:
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

    def _add_block(self, register: V, base: R, offset: int, row: int) -> None:
        if self.setting.product.c.fetch is VECTOR:
            place = self.setting.km.place(base, offset + row * self.vec.lanes * self.vec.dtype.size)
            self.vec.add_memory(register, place, self._row_mask(row), self.free[0])
            return
        base, offset = self._row_base(base, offset, self.setting.output[0], row)
        index = self.setting.indices["c"]
        self.vec.load_strided(self.free[0], base, offset, index, self._row_lanes(row), self.temporaries)
        self.vec.add(register, register, self.free[0])

    def _store(self, register: V, base: R, offset: int, row: int) -> None:
        km, stride, product = self.setting.km, self.setting.output[0], self.setting.product
        if product.c.fetch is VECTOR:
            place = km.place(base, offset + row * self.vec.lanes * self.vec.dtype.size)
            mask = self._row_mask(row)
            self.vec.store(place, register, mask, temporary=self.free[0] if mask is not None else None)
            return
        base, offset = self._row_base(base, offset, stride, row)
        index = self.setting.indices["c"]
        self.vec.store_strided(base, offset, register, index, self._row_lanes(row), self.temporaries)

    def _row_base(self, base: R, offset: int, stride: int | str, row: int) -> tuple[R, int]:
        if isinstance(stride, int):
            return base, offset + row * self.vec.lanes * stride
        frame = self.setting.frame
        if row:
            self.setting.km.sum_multiple(frame.temporary, base, frame.read(stride), row * self.vec.lanes)
            base = frame.temporary
        return base, offset
