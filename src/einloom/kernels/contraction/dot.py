"""The generator for sums over an axis that is contiguous in every input: dot products and matrix-vector products.

The vectors run along k. A tile is as many rows of A as a vector has lanes, one accumulator each, times one column of B;
at its end the accumulators are summed crosswise into one vector, which is a piece of a column of C. Where a row has
several sums, element by element in turn (both parts of complex numbers), groups of lanes are kept apart until then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from einloom.asm import Label
from einloom.kernels.contraction.cursor import Cursor, Strides
from einloom.kernels.contraction.product import Product, StridedMatrix
from einloom.kernels.fetch import STRIDED
from einloom.kernels.parts import parts
from einloom.kernels.verbs.frame import leaf_frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import KernelMachine, Mask, StrideIndex, V

__all__ = ["emit_dot"]

UNROLLED = 4
"""Vectors along k that the loop's body takes at once where there are few rows."""

SUMS_IN_FLIGHT = 8
"""Accumulators that hide the latency of products."""


LOOK = 4
"""Vectors along k between two looks at whether all sums of truth values are true."""


def emit_dot(km: KernelMachine[R, V, A], product: Product, arguments: tuple[str, ...]) -> None:
    """Emit the function of a product that `is_dot`; `arguments` are the names of its arguments."""
    _Dot(km, product, arguments).emit()


class _Dot(Generic[R, V, A]):
    """Plans one kernel in the constructor, emits it in `emit`."""

    def __init__(self, km: KernelMachine[R, V, A], product: Product, arguments: tuple[str, ...]) -> None:
        self.km, self.vec, self.product = km, km.sums(product.dtype, product.groups), product
        self.group = product.interleaved
        together = self.group == 1 or product.c.strides[0] == self.group
        self.rows = min(product.m, self.vec.lanes // self.group) if together else 1
        self.sets = max(1, min(UNROLLED, SUMS_IN_FLIGHT // self.rows, product.k // self.vec.lanes))
        self.trips = product.k // (self.sets * self.vec.lanes)
        self.ends_early = self.vec.branch_if_none is not None and self.group == 1
        self.look = max(LOOK // self.sets, 1) if self.ends_early else max(self.trips, 1)
        self.strides = Strides(km.reach)
        self.views = {operand.name: km.view(operand.dtype, self.vec) for operand in (*product.inputs, product.c)}
        extents = (self.rows, 1, self.sets * self.vec.lanes, 1)
        self.a = Cursor.of(km, *self._along_rows(product.a, extents), self.rows, "a_walk")
        self.b = Cursor.of(km, product.b, self.strides.of(product.b, extents), 1, "b_walk") if product.b else None
        self.output = self.strides.of(product.c, extents)
        self.strided = product.c.fetch is STRIDED and self.group == 1
        self._plan_frame(arguments)

    def _along_rows(self, a: StridedMatrix, extents: tuple[int, ...]) -> tuple[StridedMatrix, tuple[int | str, ...]]:
        strides = self.strides.of(a, extents)
        return a, (strides[1], strides[0], *strides[2:])

    def _plan_frame(self, arguments: tuple[str, ...]) -> None:
        cursors = [self.a, *([self.b] if self.b else [])]
        hot = [name for cursor in cursors for name in cursor.variables] + ["k"]
        hot += [self.output[0]] if self.strided and isinstance(self.output[0], str) else []
        strides = [s for c in cursors for s in c.strides if isinstance(s, str)]
        strides += [s for s in self.output if isinstance(s, str)]
        cold = ["c", *(o.name for o in self.product.inputs), *(["beta"] if self.product.beta is None else [])]
        self.frame = leaf_frame(
            self.km,
            arguments,
            hot,
            [*cold, *strides, "n", "m", *(["looks"] if self.ends_early else [])],
            self.vec.index_bytes,
        )

    # Emission

    def emit(self) -> None:
        """Emit the function."""
        self.frame.enter()
        self.frame.set_strides(self.strides.constants, self.strides.scaled)
        if self.a.triple:
            source = self.frame.read(str(self.a.strides[1]))
            self.km.sum_multiple(self.frame.read(self.a.triple), source, source, 2)
        self.index: StrideIndex | None = None
        if self.strided:
            stride = self.output[0] if isinstance(self.output[0], int) else self.frame.read(self.output[0])
            self.index = self.views["c"].stride_index(stride, 0, self.vec.registers[0])
        for count in (
            self.product.k % self.vec.lanes,
            *(self.group * rows for rows, _ in parts(self.product.m, self.rows)),
        ):
            self.vec.mask(count) if count else None
        with self.frame.loop(self.product.n, "n"):
            for rows, count in parts(self.product.m, self.rows):
                with self.frame.loop(count, "m"):
                    self._tile(rows)
                    self._move(0, rows)
            self._move(0, -self.product.m)
            self._move(1, 1)
        self.vec.finish()
        self.frame.leave()

    def _move(self, axis: int, count: int) -> None:
        self.frame.advance(self.product.a.name, self.a.strides[1 - axis], count)
        if self.b:
            self.frame.advance(self.b.operand.name, self.b.strides[axis], count)
        self.frame.advance("c", self.output[axis], count)

    def _tile(self, rows: int) -> None:
        registers = list(self.vec.working)
        sets = [registers[s * rows : (s + 1) * rows] for s in range(self.sets)]
        free = registers[self.sets * rows :]
        for cursor in filter(None, (self.a, self.b)):
            with self.frame.assigned(cursor.pointers[0]) as pointer:
                self.km.move(pointer, self.frame.read(cursor.operand.name))
        self.a.spread(self.frame, rows)
        for register in (r for registers in sets for r in registers):
            self.vec.zero(register)
        lanes = self.vec.lanes
        decided = self.km.asm.forward("decided") if self.ends_early else None
        for between, looks in parts(self.trips, self.look):
            with self.frame.loop(looks, "looks"):
                with self.frame.loop(between, "k"):
                    for step in range(self.sets):
                        self._step(sets[step], free, step * lanes, None)
                    self._advance(rows, self.sets * lanes)
                if looks > 1 and decided:
                    self._leave_if_decided(sets[0], decided)
        rest = self.product.k - self.trips * self.sets * lanes
        for step in range(-(-rest // lanes)):
            mask = self.vec.mask(rest % lanes) if (step + 1) * lanes > rest else None
            self._step(sets[step % self.sets], free, step * lanes, mask)
        if decided:
            self.km.asm.bind(decided)
        self._finish(sets, rows, free)

    def _leave_if_decided(self, sums: Sequence[V], label: Label) -> None:
        """Go to the label if sums of truth values are true, each in some lane: no product changes them any more."""
        assert self.vec.branch_if_none is not None
        undecided = self.km.asm.forward("undecided")
        for register in sums:
            self.vec.branch_if_none(register, undecided)
        self.km.jump(label)
        self.km.asm.bind(undecided)

    def _advance(self, rows: int, steps: int) -> None:
        self.a.advance(self.frame, rows, steps)
        if self.b:
            self.b.advance(self.frame, 1, steps)

    def _step(self, accumulators: Sequence[V], free: list[V], step: int, mask: Mask) -> None:
        vec, frame = self.vec, self.frame
        if self.b:
            self.views[self.b.operand.name].load(free[0], self.b.place(frame, 0, 0, step), mask)
        for row, accumulator in enumerate(accumulators):
            place = self.a.place(frame, 0, row, step)
            verbs = self.views[self.a.operand.name]
            mixed = self.product.groups is not None  # Of groups the types of the first and the second may differ.
            is_loaded = mask is not None or verbs is not vec or not vec.memory_operand or mixed
            if is_loaded:
                verbs.load(free[1], place, mask)
            operand = free[1] if is_loaded else place
            if self.b:
                vec.fma(accumulator, *((operand, free[0]) if mixed else (free[0], operand)))
            else:
                vec.add(accumulator, accumulator, operand)

    def _finish(self, sets: list[list[V]], rows: int, free: list[V]) -> None:
        """Sum crosswise, scale, add C as beta says, store."""
        km, vec, product = self.km, self.vec, self.product
        for other in sets[1:]:
            for target, source in zip(sets[0], other):
                vec.add(target, target, source)
        result = sets[0][0]
        vec.sum_lanes(sets[0], free[0], self.group)
        if product.alpha != 1:
            vec.broadcast_constant(free[0], product.alpha)
            vec.mul(result, result, free[0])
        mask = vec.mask(self.group * rows)
        if product.beta is None:
            skip = km.asm.forward("overwrite")
            self.frame.branch("eq", "beta", 0, skip)
            self._add(result, rows, mask, free)
            km.asm.bind(skip)
        elif product.beta == 1:
            self._add(result, rows, mask, free)
        base = self.frame.read("c")
        verbs = self.views["c"]
        if self.index is None:
            verbs.store(km.place(base), result, mask, temporary=free[0])
        else:
            verbs.store_strided(base, 0, result, self.index, rows, free[-2:])

    def _add(self, result: V, rows: int, mask: Mask, free: list[V]) -> None:
        vec, verbs, base = self.vec, self.views["c"], self.frame.read("c")
        if self.index is None and verbs is vec:
            vec.add_memory(result, self.km.place(base), mask, free[0])
            return
        if self.index is None:
            verbs.load(free[0], self.km.place(base), mask)
        else:
            verbs.load_strided(free[0], base, 0, self.index, rows, free[-2:])
        vec.add(result, result, free[0])
