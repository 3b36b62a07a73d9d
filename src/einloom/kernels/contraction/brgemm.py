"""The generator of BRGEMM kernels: loops over tiles, batch and k around microkernels.

for rows of tiles, for columns of tiles:      loops where there are several of a kind
    clear the accumulators
    for batch, for k in steps of the unrolling: the microkernel's steps
    add C, store
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Generic

from einloom.kernels.contraction.by_element import microkernel_for
from einloom.kernels.contraction.cursor import Cursor, Strides
from einloom.kernels.contraction.dot import emit_dot
from einloom.kernels.contraction.microkernel import Microkernel, Setting
from einloom.kernels.contraction.product import Product
from einloom.kernels.contraction.scratch import RowScratch
from einloom.kernels.contraction.steps import Steps
from einloom.kernels.contraction.tiles import Band, Demand, Tile, bands_of
from einloom.kernels.fetch import STRIDED, VECTOR
from einloom.kernels.parts import parts
from einloom.kernels.specs import BatchBy, Brgemm, signature
from einloom.kernels.verbs.frame import TooManyVariables, leaf_frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import KernelMachine, V

__all__ = ["emit_brgemm"]

LONG = 80
"""From this many products on, C is fetched into the cache while they are computed."""

BODY = 52
"""Most vector FMAs that the body of a loop over k holds; twice as many where every column has its own pointer."""


def emit_brgemm(km: KernelMachine[R, V, A], spec: Brgemm) -> None:
    """Emit the function of a spec at the current position; its arguments are `signature(spec)`."""
    product = Product.of(spec)
    if product.keeps_c:
        km.return_()
    elif product.is_dot:
        emit_dot(km, product, signature(spec))
    else:
        _planned(km, spec).emit()


def _planned(km: KernelMachine[R, V, A], spec: Brgemm) -> _Generator[R, V, A]:
    """Return the plan with the widest tiles whose pointers and strides fit into the registers."""
    for most_columns in (32, 5):
        try:
            return _Generator(km, spec, most_columns)
        except TooManyVariables:
            continue
    return _Generator(km, spec, 1)


class _Generator(Generic[R, V, A]):
    """Plans one kernel in the constructor, emits it in `emit`."""

    def __init__(self, km: KernelMachine[R, V, A], spec: Brgemm, most_columns: int) -> None:
        self.km = km
        self.vec = km.vectors(spec.dtype)
        self.product = product = Product.of(spec)
        lanes = self.vec.lanes
        room = RowScratch.most_vectors(product, lanes)
        self.scratch = RowScratch(product, lanes, room) if room else None
        if self.scratch:
            product = replace(product, a=self.scratch.operand)
        self.demand = Demand.of(product, km.machine)
        self.bands = bands_of(self.demand, most_columns, room or 8)
        self.rows = max(band.vectors for band in self.bands)
        self.columns = max(band.columns for band in self.bands)
        if self.scratch:
            self.scratch = RowScratch(self.product, lanes, self.rows)
            self.product = product = replace(product, a=self.scratch.operand)
        self.tail = product.m % self.vec.lanes
        self.steps = {band: self._steps_of(band) for band in self.bands}
        self.loops = any(steps.trips for steps in self.steps.values())
        self._resolve_strides()
        self._plan_frame(spec)

    # Plan

    def _steps_of(self, band: Band) -> Steps:
        """Return how the tiles of a band sum over k."""
        together = max((tile.group * max(tile.sets, tile.group_sets) for tile in self._tiles(band)), default=1)
        body = BODY if self.km.scales else 2 * BODY
        product = self.product
        return Steps.of(product.k, band.vectors * band.columns, together, body, can_overwrite=product.batch == 1)

    def _tiles(self, band: Band) -> list[Tile]:
        """Return the different tiles of a band, from the first column to the last."""
        widths = [columns for columns, _ in parts(self.product.n, band.columns)]
        tiles = [self.demand.with_sets(band.vectors, columns, band.is_last) for columns in widths]
        return [tile for tile in tiles if tile is not None]

    def _resolve_strides(self) -> None:
        product = self.product
        self.strides = Strides(self.km.reach, product.dtype.size)
        most_steps = max(steps.unroll + steps.rest for steps in self.steps.values())
        extents = (self.rows * self.vec.lanes, self.columns, most_steps, 1)
        self.input_strides = [self.strides.of(operand, extents) for operand in product.inputs]
        self.output = self.strides.of(product.c, extents)
        self.source_strides = self.strides.of(self.scratch.source, (1, 1, 1, 1)) if self.scratch else ()
        self.single = len(self.bands) == self.bands[0].count == 1 and product.n <= self.columns
        self.listed = product.batch_by is not BatchBy.STRIDE
        moves = self.loops or product.batch > 1 or self.listed or any(isinstance(s[2], str) for s in self.input_strides)
        self.walks = bool(moves) and product.steps > 0
        copies = self.walks and (self.listed or not self.single)
        self.cursors = tuple(
            Cursor.of(self.km, operand, strides, self.columns, f"{operand.name}_walk" if copies else operand.name)
            for operand, strides in zip(product.inputs, self.input_strides)
        )
        self.copies = copies
        self.batch_steps = [self._batch_step(cursor) for cursor in self.cursors]

    def _batch_step(self, cursor: Cursor) -> int | str:
        """Return how far a pointer moves from the end of one matrix of the batch to the next one."""
        along_k, along_batch = cursor.strides[2:]
        if self.product.batch == 1 or self.listed:
            return 0
        if isinstance(along_k, int) and isinstance(along_batch, int):
            return along_batch - along_k * self._walked(along_k)
        return f"{cursor.operand.name}_batch"

    def _walked(self, along_k: int | str) -> int:
        """Return the steps of k by which the pointers have moved at the end of k."""
        return self.product.k if isinstance(along_k, str) or self.loops else 0

    def _plan_frame(self, spec: Brgemm) -> None:
        product = self.product
        hot = [name for cursor in self.cursors for name in cursor.variables] if product.steps else []
        hot += ["k"] if self.loops else []
        if isinstance(self.output[1], str) and self.columns > 1:
            hot += ["c_walk", self.output[1]]
        hot += [self.output[0]] if isinstance(self.output[0], str) else []
        parts = (*self.input_strides, self.output, self.source_strides)
        strides = [s for part in parts for s in part if isinstance(s, str)]
        cold = ["c", *(o.name for o in product.inputs), *(["beta"] if product.beta is None else [])]
        cold += [step for step in self.batch_steps if isinstance(step, str)]
        cold += [*strides, "n", "m", "batch"]
        if self.listed:
            cold += [f"list_{o.name}" for o in product.inputs]
            cold += [f"{product.batch_by}_{o.name}" for o in product.inputs]
        self.strided = [o for o in (*product.inputs, product.c) if o.fetch is STRIDED]
        extra = self.vec.index_bytes * len(self.strided)
        if self.scratch:
            cold += [self.scratch.source.name, *self.scratch.variables]
            extra += self.scratch.frame_bytes
        self.frame = leaf_frame(self.km, signature(spec), hot, cold, extra)

    # Emission

    def emit(self) -> None:
        """Emit the function."""
        self.frame.enter()
        self._set_up()
        self._rows()
        self.vec.finish()
        self.frame.leave()

    def _set_up(self) -> None:
        """Bring strides into bytes, and set up masks and the offsets of strided vectors."""
        self.km.asm.comment("strides in bytes, masks")
        km, frame = self.km, self.frame
        frame.set_strides(self.strides.constants, self.strides.scaled)
        for cursor in self.cursors:
            if cursor.triple and self.product.steps:
                source = frame.read(str(cursor.strides[1]))
                km.sum_multiple(frame.read(cursor.triple), source, source, 2)
        for cursor, name in zip(self.cursors, self.batch_steps):
            if isinstance(name, str):
                self._set_batch_step(cursor, name)
        self.setting = Setting(km, self.vec, frame, self.product, self.cursors, self.output)
        for number, operand in enumerate(self.strided):
            strides = (*self.input_strides, self.output)[(*self.product.inputs, self.product.c).index(operand)]
            stride = strides[0] if isinstance(strides[0], int) else frame.read(strides[0])
            slot = self.vec.index_bytes * number
            self.setting.indices[operand.name] = self.vec.stride_index(stride, slot, self.vec.registers[0])
        if self.product.batch_by is BatchBy.ADDRESSES:
            self._set_up_addresses()
        if self.scratch:
            self.scratch.set_up(frame, self.vec.index_bytes * len(self.strided))
        self._set_up_masks()

    def _set_up_masks(self) -> None:
        """Set up, before the first branch, every mask that some tile needs."""
        band = self.bands[-1]
        steps = self.steps[band]
        for tile in self._tiles(band):
            if tile.group > 1:
                grouped = Microkernel(self.setting, tile, self.tail).grouped
                assert grouped is not None
                for lanes in grouped.masks({steps.rest, steps.unroll}):
                    grouped.grouping.mask(lanes)
            elif self.tail:
                self.vec.mask(self.tail)

    def _set_up_addresses(self) -> None:
        """Keep the lists apart from where in its matrix a tile begins, which is a distance then."""
        for operand in self.product.inputs:
            with self.frame.assigned(f"addresses_{operand.name}") as register:
                self.km.move(register, self.frame.read(operand.name, into=register))
            self.frame.set(operand.name, 0)

    def _set_batch_step(self, cursor: Cursor, name: str) -> None:
        along_k, along_batch = cursor.strides[2:]
        with self.frame.assigned(name) as register:
            if isinstance(along_batch, int):
                self.km.constant(register, along_batch)
            else:
                self.km.move(register, self.frame.read(along_batch))
        self.frame.advance(name, along_k, -self._walked(along_k))

    def _rows(self) -> None:
        for band in self.bands:
            ends = band is self.bands[-1] and band.count == 1
            with self.frame.loop(band.count, "m"):
                if self.scratch:
                    rows = (band.vectors - 1) * self.vec.lanes + (self.tail if band.is_last else self.vec.lanes)
                    self.scratch.emit(self.vec, self.frame, rows, self.source_strides)
                self._columns(band, rewind=not ends)
                if not ends:
                    self._move(0, band.vectors * self.vec.lanes)

    def _columns(self, band: Band, rewind: bool) -> None:
        widths = parts(self.product.n, band.columns)
        moved = 0
        for index, (columns, count) in enumerate(widths):
            stays = index == len(widths) - 1 and count == 1
            with self.frame.loop(count, "n"):
                self._tile(band, columns)
                if not stays:
                    self._move(1, columns)
            moved += 0 if stays else columns * count
        if rewind:
            self._move(1, -moved)

    def _move(self, axis: int, count: int) -> None:
        """Move the pointers of the operands that depend on an axis by `count` indices."""
        for operand, strides in zip((*self.product.inputs, self.product.c), (*self.input_strides, self.output)):
            if not (self.scratch and operand is self.product.a):
                self.frame.advance(operand.name, strides[axis], count)
        if self.scratch:
            self.frame.advance(self.scratch.source.name, self.source_strides[axis], count)

    def _tile(self, band: Band, columns: int) -> None:
        tile = self.demand.with_sets(band.vectors, columns, band.is_last)
        assert tile is not None
        tail = self.tail if band.is_last else 0
        self.km.asm.comment(_described(tile, tail))
        micro = microkernel_for(self.setting, tile, tail)
        if self.product.steps:
            self._start_lists() if self.listed else self._start_pointers(columns)
        steps = self.steps[band]
        if self.product.batch != 1 or not steps.rest:
            micro.clear()
        if self.product.steps:
            if self._worth_prefetching():
                micro.plan_prefetches(steps.rest if self.product.batch == 1 else 0)
            with self._batches(columns):
                self._sum(micro, columns, steps)
        micro.finish()

    def _worth_prefetching(self) -> bool:
        """Whether C comes from beyond L1 in the time that the products take, and goes through the caches."""
        product = self.product
        return product.steps >= LONG and product.c.fetch is VECTOR

    def _start_pointers(self, columns: int) -> None:
        for cursor in self.cursors:
            if self.copies:
                with self.frame.assigned(cursor.pointers[0]) as pointer:
                    self.km.move(pointer, self.frame.read(cursor.operand.name))
            cursor.spread(self.frame, columns)

    def _start_lists(self) -> None:
        """Go to the beginning of the lists of the batch's matrices."""
        for cursor in self.cursors:
            name = cursor.operand.name
            with self.frame.assigned(f"list_{name}") as register:
                self.km.move(register, self.frame.read(f"{self.product.batch_by}_{name}", into=register))

    def _next_of_lists(self, columns: int) -> None:
        """Point to the next matrices of the batch."""
        km, frame = self.km, self.frame
        for cursor in self.cursors:
            name, pointer = cursor.operand.name, frame.read(cursor.pointers[0])
            km.load(pointer, frame.read(f"list_{name}"))
            frame.advance(f"list_{name}", 8, 1)
            if self.product.batch_by is BatchBy.OFFSETS:
                km.multiply_constant(pointer, pointer, self.product.dtype.size)
            km.add(pointer, frame.read(name))
            cursor.spread(frame, columns)

    @contextmanager
    def _batches(self, columns: int) -> Generator[None, None, None]:
        if self.product.batch == 1 and not self.listed:
            yield
            return
        with self.frame.loop(self.product.batch, "batch"):
            if self.listed:
                self._next_of_lists(columns)
            yield
            for cursor, step in zip(self.cursors, self.batch_steps if not self.listed else ()):
                for name in cursor.pointers[: -(-columns // cursor.group)]:
                    self.frame.advance(name, step, 1)

    def _sum(self, micro: Microkernel[R, V, A], columns: int, steps: Steps) -> None:
        """Emit the sum over k; the pointers end behind it where some tile's sum is a loop."""
        if steps.rest:
            self.km.asm.comment(f"the first {steps.rest} products of {self.product.k}")
            self._unrolled(micro, columns, steps.rest)
        if self.loops:
            self._advance(columns, steps.rest)
        if not steps.trips:
            return
        micro.clear()
        self.km.asm.comment(f"loop over k: {steps.trips} times {steps.unroll} products")
        with self.frame.loop(steps.trips, "k"):
            self._unrolled(micro, columns, steps.unroll)
            self._advance(columns, steps.unroll)

    def _advance(self, columns: int, steps: int) -> None:
        """Move the pointers along k, unless every step does so."""
        for cursor in self.cursors:
            if isinstance(cursor.strides[2], int):
                cursor.advance(self.frame, columns, steps)

    def _unrolled(self, micro: Microkernel[R, V, A], columns: int, count: int) -> None:
        for step in range(count):
            micro.step(step, is_last=step == count - 1)
            for cursor in self.cursors:
                if isinstance(cursor.strides[2], str):
                    cursor.advance(self.frame, columns, 1)


def _described(tile: Tile, tail: int) -> str:
    """Return the comment above a tile in the listing."""
    if tile.group > 1:
        grouped = f"{tail} rows with {tile.group} products side by side"
        whole = f"{tile.vectors} vectors and " if tile.vectors else ""
        return f"tile of {whole}{grouped}, {tile.columns} columns"
    return f"tile of {tile.vectors} vectors x {tile.columns} columns" + (f", last {tail} lanes" if tail else "")
