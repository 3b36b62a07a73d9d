"""`Microkernel`: one tile of C in registers: start, one step of the sum after another; the end is its `Epilogue`'s.

It is straight code between pointers that its caller moves; the loops are in `brgemm`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, repeat
from typing import Generic

from einloom.asm import Label
from einloom.asm.assembler import Mark
from einloom.kernels.contraction.cursor import Cursor
from einloom.kernels.contraction.epilogue import Epilogue
from einloom.kernels.contraction.registers import Setting, TileRegisters
from einloom.kernels.contraction.tiles import Tile
from einloom.kernels.fetch import BROADCAST, VECTOR
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import CopyVerbs, LastOperand, V

__all__ = ["CACHE_LINE", "Microkernel"]

CACHE_LINE = 64


class Microkernel(Generic[R, V, A]):
    """One tile: `vectors` x `columns` accumulators; the last vector of each column has `tail` lanes (0: all)."""

    def __init__(self, setting: Setting[R, V, A], tile: Tile, tail: int) -> None:
        self.setting = setting
        self.vec = setting.vec
        self.tile = tile
        self.registers = TileRegisters(setting, tile, tail)
        self.epilogue = Epilogue(self.registers)
        self.fresh = set(range(tile.sets))
        self.padded = setting.inputs[0].operand.name == "packed"
        self.may_read_on = self._may_read_on()
        self.reads_on = False
        self.prefetches: list[tuple[R, int]] = []
        self.prefetches_per_column = 0
        self._emitted: dict[tuple[int, bool, bool], tuple[Mark, Mark]] = {}
        self.embedded = self._embedded()

    def plan_prefetches(self, steps: int) -> None:
        """Ask for the tile of C, which is needed at the end, during the next `steps` steps, or at once if 0.

        Unaligned columns reach into one line more than their vectors count.
        """
        size = self.setting.product.c.dtype.size
        length = ((self.tile.vectors - 1) * self.vec.lanes + self.registers.row_lanes(self.tile.vectors - 1)) * size
        if self.registers.grouped:
            length += self.registers.grouped.rows * size
        lines = (*range(0, length, CACHE_LINE), length - 1)
        places = ((base, offset + line) for _, base, offset in self.epilogue.columns() for line in lines)
        if steps == 0 or isinstance(self.setting.output[1], str):  # Columns that are walked must be used at once.
            for base, offset in places:
                self.setting.km.prefetch(self.setting.km.place(base, offset))
            return
        self.prefetches = list(places)
        self.prefetches_per_column = -(-len(self.prefetches) // (steps * self.tile.columns))

    def _prefetch(self, columns: int = 1) -> None:
        """Ask for what belongs to so many columns of a step."""
        now, km = columns * self.prefetches_per_column, self.setting.km
        for base, offset in self.prefetches[:now]:
            km.prefetch(km.place(base, offset))
        del self.prefetches[:now]

    def clear(self) -> None:
        """Set the accumulators to zero that no step has overwritten yet, as the first step of each set does."""
        for which in sorted(self.fresh):
            for register in self.registers.accumulators[which]:
                self.vec.zero(register)
        self.fresh.clear()
        if self.registers.grouped:
            self.registers.grouped.clear()

    @property
    def may_end_early(self) -> bool:
        """Whether all sums are where they can be looked at."""
        return self.registers.grouped is None and bool(self.registers.free)

    def leave_if_decided(self, label: Label) -> None:
        """Go to the label if all sums of truth values are true: no product changes them any more."""
        assert self.vec.branch_if_all is not None
        sums, *others = self.registers.accumulators
        for each in others:  # What has been added to the first set may be added again: it is or.
            for target, source in zip(sums, each):
                self.vec.add(target, target, source)
        self.vec.branch_if_all(sums, self.registers.free[0], label)

    def step(self, step: int, is_last: bool) -> None:
        """Add one product of every element, `step` of k behind the pointers; no step follows the last one directly."""
        if self.tile.vectors:
            self.reads_on = self.padded or (self.may_read_on and not is_last)
            self._step(step)
        if self.registers.grouped:
            self.registers.grouped.step(step, is_last, self._grouped_place, self._multiplier_place)

    def _grouped_place(self, step: int) -> A:
        """The place of the grouped rows of A's column `step`."""
        return self.setting.inputs[0].place(self.setting.frame, self.registers.above, 0, step)

    def _multiplier_place(self, column: int, step: int) -> A:
        return self.setting.inputs[1].place(self.setting.frame, 0, column, step)

    def _step(self, step: int) -> None:
        """Emit a step. Those before a loop over k stand in its body again: that is not derived anew."""
        which, asks, asm = step % self.tile.sets, bool(self.prefetches), self.setting.km.asm
        key = step, which in self.fresh, self.reads_on
        if key in self._emitted and not asks:
            asm.again(*self._emitted[key])
        else:
            begin = asm.mark()
            self._products(step, which)
            end = asm.mark()
            if begin.labels == end.labels and not asks:
                self._emitted[key] = begin, end
        self.fresh.discard(which)

    def _products(self, step: int, which: int) -> None:
        """Emit the products of a step, and what is asked for meanwhile."""
        free, inputs = list(self.registers.free), self.setting.inputs
        shared = [None if c.operand.per_column else self._shared(c, step, free) for c in inputs]
        accumulate, private = self._accumulation(which), free.copy()
        sources = [repeat(ready) if ready else self._broadcasts(c, step, private) for ready, c in zip(shared, inputs)]
        for column, (targets, *columns) in enumerate(zip(self.registers.columns[which], *sources)):
            if self.prefetches:
                self._prefetch()
            if all(columns):
                for _ in map(accumulate, targets, *columns):
                    pass
                continue
            for row, target in enumerate(targets):
                room = private.copy()
                operands = [
                    ready[row] if ready else self._private(c, row, column, step, room)
                    for ready, c in zip(columns, inputs)
                ]
                accumulate(target, *operands)
        if self.tile.biased:
            first, *_ = shared
            assert first is not None, "a biased product is taken as it is: A does not depend on n"
            sums = self.registers.accumulators[which]
            self._add_bias(accumulate, sums[self.tile.columns * self.tile.vectors :], first, free.pop(0))

    def _accumulation(self, which: int) -> Callable[..., None]:
        """Return what adds a product to an accumulator of a set, or begins the sum with it."""
        fresh = which in self.fresh
        if len(self.setting.inputs) == 2:
            return self.vec.product if fresh else self.vec.fma
        return self.vec.copy if fresh else self._add

    def _add(self, target: V, operand: LastOperand) -> None:
        self.vec.add(target, target, operand)

    def _add_bias(
        self, accumulate: Callable[..., None], targets: Sequence[V], vectors: Sequence[V], register: V
    ) -> None:
        """Add to the last column what is too much in all others."""
        assert self.vec.bias is not None
        self.vec.broadcast(register, self.vec.bias)
        for target, vector in zip(targets, vectors):
            accumulate(target, vector, register)

    def _shared(self, cursor: Cursor, step: int, free: list[V]) -> list[V]:
        """Load what all columns use; return a register for each row."""
        if cursor.operand.fetch is BROADCAST:
            register = free.pop(0)
            self._view(cursor).broadcast(register, self._place(cursor, 0, 0, step))
            return [register] * self.tile.vectors
        registers = free[: self.tile.vectors]
        del free[: self.tile.vectors]
        if cursor.operand.fetch is VECTOR:
            self._load_rows(cursor, registers, step)
        else:
            for row, register in enumerate(registers):
                self._load(cursor, register, row, 0, step)
        return registers

    def _broadcasts(self, cursor: Cursor, step: int, free: list[V]) -> Iterator[Sequence[LastOperand]]:
        """Return what fetches column after column what all of it uses.

        It yields that for each row, and nothing where every row has a vector of its own.
        """
        if cursor.operand.fetch is not BROADCAST:
            return repeat(())
        places = cursor.places(self.setting.frame, step, self.tile.columns)
        if cursor is self.embedded:
            assert self.vec.element is not None
            return ([element] for element in map(self.vec.element, places))
        return self._in_register(self._view(cursor).broadcast, free.pop(0), places)

    def _in_register(self, load: Callable[[V, A], None], register: V, places: Iterable[A]) -> Iterator[Sequence[V]]:
        """Yield a register for each row of a column, once for each place that is loaded into it."""
        rows = [register] * self.tile.vectors
        for place in places:
            load(register, place)
            yield rows

    def _embedded(self) -> Cursor | None:
        """Return the input whose elements the products of a tile of one vector take from memory, if there is one."""
        if self.vec.element is None or self.tile.vectors != 1 or len(self.setting.inputs) != 2:
            return None
        both = zip(self.setting.inputs, reversed(self.setting.inputs))
        found = (c for c, other in both if c.operand.per_column and not other.operand.per_column)
        return next((c for c in found if c.operand.fetch is BROADCAST and self._is_plain(c)), None)

    def _private(self, cursor: Cursor, row: int, column: int, step: int, free: list[V]) -> V:
        register = free.pop(0)
        self._load(cursor, register, row, column, step)
        return register

    # Fetching

    def _view(self, cursor: Cursor) -> CopyVerbs[R, V, A]:
        """Return the verbs that read an operand."""
        return self.setting.views[cursor.operand.name]

    def _is_plain(self, cursor: Cursor) -> bool:
        """Whether an operand's elements in memory are those of registers."""
        return self._view(cursor) is self.vec

    def _may_read_on(self) -> bool:
        """Whether the last vector of a column of A ends inside the next column, so that it needs no mask.

        What lies between two columns less than a vector apart is as readable as they are.
        """
        stride = self.setting.inputs[0].strides[2]
        vectors = -(-self.setting.product.m // self.vec.lanes) * self.vec.lanes
        size = self.setting.inputs[0].operand.dtype.size
        surplus = (vectors - self.setting.product.m) * size
        return isinstance(stride, int) and surplus <= stride < vectors * size

    def _reads_beyond(self, cursor: Cursor) -> bool:
        """Whether whole vectors of an operand may be read in this step: `_may_read_on` knows about A alone."""
        return self.reads_on and cursor is self.setting.inputs[0]

    def _place(self, cursor: Cursor, row: int, column: int, step: int) -> A:
        row_bytes = row * self.vec.lanes * cursor.strides[0] if isinstance(cursor.strides[0], int) else 0
        return cursor.place(self.setting.frame, row_bytes, column, step)

    def _load_rows(self, cursor: Cursor, registers: Sequence[V], step: int) -> None:
        """Load the vectors of a column, as `_load` does them one by one."""
        load, place = self._view(cursor).load, self.setting.km.place
        masks = repeat(None) if self._reads_beyond(cursor) else self.registers.masks
        base, offset, index, scale = cursor.address(self.setting.frame, 0, 0, step)
        stride = cursor.strides[0]
        assert isinstance(stride, int), "vectors lie in order"
        for register, mask, at in zip(registers, masks, count(offset, self.vec.lanes * stride)):
            load(register, place(base, at, index, scale), mask)

    def _load(self, cursor: Cursor, register: V, row: int, column: int, step: int) -> None:
        if cursor.operand.fetch is VECTOR:
            mask = None if self._reads_beyond(cursor) else self.registers.masks[row]
            self._view(cursor).load(register, self._place(cursor, row, column, step), mask)
            return
        if cursor.operand.fetch is BROADCAST:
            self._view(cursor).broadcast(register, self._place(cursor, 0, column, step))
            return
        base, offset = self._strided_base(cursor, row, column, step)
        index = self.setting.indices[cursor.operand.name]
        lanes, temporaries = self.registers.row_lanes(row), self.registers.temporaries
        self._view(cursor).load_strided(register, base, offset, index, lanes, temporaries)

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
        if max(self.tile.sets, self.tile.group) > 1:
            self.setting.km.asm.comment("add up the accumulators of each element")
        self.epilogue.emit(self._combine())

    def _combine(self) -> Sequence[V]:
        """Add up the sets; return the registers of the sums."""
        started = [s for s in range(self.tile.sets) if s not in self.fresh] or [0]
        for other in started[1:]:
            for target, source in zip(self.registers.accumulators[started[0]], self.registers.accumulators[other]):
                self.vec.add(target, target, source)
        if self.registers.grouped:
            self.registers.grouped.combine()
        sums = self.registers.accumulators[started[0]]
        if self.setting.bias is not None:
            self._take_off_bias(sums, self.setting.bias)
        return sums

    def _take_off_bias(self, sums: Sequence[V], slot: int) -> None:
        """Take off all columns what is too much in them: the first tile of a row keeps that for the others."""
        vectors, km = self.tile.vectors, self.setting.km
        all_columns = vectors * self.tile.columns
        for row in range(vectors):
            place = km.slot_place(slot + row * self.vec.lanes * self.vec.dtype.size)
            bias = sums[all_columns + row] if self.tile.biased else self.registers.free[0]
            if self.tile.biased:
                self.vec.store(place, bias)
            else:
                self.vec.load(bias, place)
            for target in sums[row:all_columns:vectors]:
                self.vec.sub(target, target, bias)
