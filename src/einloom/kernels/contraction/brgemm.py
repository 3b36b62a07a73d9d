"""The code of BRGEMM kernels: loops over tiles, batch and k around microkernels, as a `Plan` says.

for rows of tiles, for columns of tiles:      loops where there are several of a kind
    clear the accumulators
    for batch, for k in steps of the unrolling: the microkernel's steps
    add C, store
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic

from einloom.asm import Label
from einloom.kernels.contraction.bands import Band, Blocks
from einloom.kernels.contraction.beside import Beside
from einloom.kernels.contraction.by_element import microkernel_for
from einloom.kernels.contraction.cursor import Cursor
from einloom.kernels.contraction.dot import emit_dot
from einloom.kernels.contraction.microkernel import CACHE_LINE, Microkernel
from einloom.kernels.contraction.outer import emit_outer, outer_product
from einloom.kernels.contraction.plan import Plan, plan_brgemm
from einloom.kernels.contraction.product import Product
from einloom.kernels.contraction.registers import Setting, TileRegisters
from einloom.kernels.contraction.steps import Steps
from einloom.kernels.contraction.tiled import emit_tiled, suits_tiles
from einloom.kernels.contraction.tiles import Tile
from einloom.kernels.fetch import VECTOR
from einloom.kernels.parts import parts
from einloom.kernels.specs import BatchBy, Brgemm, signature
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import KernelMachine, V

__all__ = ["emit_brgemm"]

LONG, FAR = 80, 2
"""From this many products on, C is fetched into the cache while they are computed; from so many where it lies beyond
L2: stores that begin within a line which is not there take twice as long."""


LOOK = 16
"""Products between two looks at whether all sums of truth values are true: a look takes as long as one or two."""


def emit_brgemm(km: KernelMachine[R, V, A], spec: Brgemm) -> None:
    """Emit the function of a spec at the current position; its arguments are `signature(spec)`."""
    product = Product.of(spec)
    if product.keeps_c:
        km.return_()
    elif km.tiles and suits_tiles(spec, km.tiles, km.reach):
        emit_tiled(km, km.tiles, spec)
    elif km.outer and (turned := outer_product(product, km.outer)):
        emit_outer(km, km.outer, turned, spec)
    elif product.is_dot:
        emit_dot(km, product, signature(spec))
    else:
        _Emission(km, plan_brgemm(km, spec, product)).emit()


class _Emission(Generic[R, V, A]):
    """Working state of one `emit_brgemm` whose kernel has tiles."""

    def __init__(self, km: KernelMachine[R, V, A], plan: Plan[R, V, A]) -> None:
        self.km = km
        self.plan = plan
        self.vec = plan.vec
        self.frame = plan.frame
        self.product = plan.product
        self.cursors = plan.cursors
        self.decided: Label | None = None
        self.beside: list[Beside[R, V, A]] = [each for each in (plan.asks, plan.leaving) if each]

    def emit(self) -> None:
        """Emit the function."""
        self.frame.enter()
        self._set_up()
        for beside in self.beside:
            beside.start(self.frame)
        self._rows()
        for beside in self.beside:
            beside.stop(self.frame)
        self.vec.finish()
        self.frame.leave()

    def _set_up(self) -> None:
        """Bring strides into bytes, and set up masks and the offsets of strided vectors."""
        self.km.asm.comment("strides in bytes, masks")
        km, frame = self.km, self.frame
        self.vec.begin()
        frame.set_strides(self.plan.strides.constants, self.plan.strides.scaled)
        for cursor in self.cursors:
            if cursor.triple and self.product.steps:
                source = frame.read(str(cursor.strides[1]))
                km.sum_multiple(frame.read(cursor.triple), source, source, 2)
        for cursor, name in zip(self.cursors, self.plan.batch_steps):
            if isinstance(name, str):
                self._set_batch_step(cursor, name)
        plan = self.plan
        self.setting = Setting(km, self.vec, frame, self.product, self.cursors, plan.output, plan.views, bias=plan.bias)
        for number, (operand, strides) in enumerate(self.plan.strided):
            stride = strides[0] if isinstance(strides[0], int) else frame.read(strides[0])
            slot = self.vec.index_bytes * number
            verbs = self.plan.views[operand.name]
            self.setting.indices[operand.name] = verbs.stride_index(stride, slot, self.vec.registers[0])
        if self.product.batch_by is BatchBy.ADDRESSES:
            self._set_up_addresses()
        if self.plan.scratch:
            self.plan.scratch.set_up(frame, self.plan.scratch_slot)
        self._set_up_masks()

    def _set_up_masks(self) -> None:
        """Set up, before the first branch, every mask that some tile needs."""
        band = self.plan.bands[-1]
        steps = self.plan.steps[band]
        for tile, _ in band.blocks:
            if tile.group > 1:
                grouped = TileRegisters(self.setting, tile, self.plan.tail).grouped
                assert grouped is not None
                for lanes in grouped.masks({steps.rest, steps.unroll}):
                    grouped.grouping.mask(lanes)
            elif self.plan.tail:
                self.vec.mask(self.plan.tail)

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
        self.frame.advance(name, along_k, -self.plan.walked(along_k))

    def _rows(self) -> None:
        for band in self.plan.bands:
            ends = band is self.plan.bands[-1] and band.count == 1
            with self.frame.loop(band.count, "m"):
                if self.plan.scratch:
                    rows = (band.vectors - 1) * self.vec.lanes + (self.plan.tail if band.is_last else self.vec.lanes)
                    reads = self.plan.views[self.plan.scratch.source.name]
                    self.plan.scratch.emit(self.vec, reads, self.frame, rows, self.plan.source_strides)
                self._columns(band, rewind=not ends)
                if not ends:
                    self._move(0, band.vectors * self.vec.lanes)

    def _columns(self, band: Band, rewind: bool) -> None:
        moved = 0
        blocks = _first_apart(band.blocks)
        for index, (tile, count) in enumerate(blocks):
            stays = index == len(blocks) - 1 and count == 1
            with self.frame.loop(count, "n"):
                self._tile(band, tile, self.plan.ahead[band] if index == 0 else 0)
                if not stays:
                    self._move(1, tile.columns)
            moved += 0 if stays else tile.columns * count
        if rewind:
            self._move(1, -moved)

    def _move(self, axis: int, count: int) -> None:
        """Move the pointers of the operands that depend on an axis by `count` indices."""
        for operand, strides in self.plan.operands:
            if not (self.plan.scratch and operand is self.product.a):
                self.frame.advance(operand.name, strides[axis], count)
        if self.plan.scratch:
            self.frame.advance(self.plan.scratch.source.name, self.plan.source_strides[axis], count)

    def _tile(self, band: Band, tile: Tile, ahead: int) -> None:
        columns = tile.columns
        tail = self.plan.tail if band.is_last else 0
        self.km.asm.comment(_described(tile, tail))
        micro = microkernel_for(self.setting, tile, tail)
        if self.product.steps:
            self._start_lists() if self.plan.listed else self._start_pointers(columns)
        steps = self.plan.steps[band]
        if self.product.batch != 1 or not steps.rest:
            micro.clear()
        if self.product.steps:
            if self._worth_prefetching():
                micro.plan_prefetches(steps.rest if self.product.batch == 1 else 0)
            self.decided = self.km.asm.forward("decided") if self.plan.ends_early and micro.may_end_early else None
            with self._batches(columns):
                self._sum(micro, columns, steps, ahead)
            if self.decided:
                self.km.asm.bind(self.decided)
        micro.finish()

    def _worth_prefetching(self) -> bool:
        """Whether C comes from beyond L1 in the time that the products take, and goes through the caches."""
        product = self.product
        return product.steps >= (FAR if product.far else LONG) and product.c.fetch is VECTOR

    def _start_pointers(self, columns: int) -> None:
        for cursor in self.cursors:
            if self.plan.copies:
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
                km.multiply_constant(pointer, pointer, cursor.operand.dtype.size)
            km.add(pointer, frame.read(name))
            cursor.spread(frame, columns)

    @contextmanager
    def _batches(self, columns: int) -> Generator[None, None, None]:
        if self.product.batch == 1 and not self.plan.listed:
            yield
            return
        with self.frame.loop(self.product.batch, "batch"):
            if self.plan.listed:
                self._next_of_lists(columns)
            yield
            for cursor, step in zip(self.cursors, self.plan.batch_steps if not self.plan.listed else ()):
                for name in cursor.pointers[: -(-columns // cursor.group)]:
                    self.frame.advance(name, step, 1)

    def _sum(self, micro: Microkernel[R, V, A], columns: int, steps: Steps, ahead: int) -> None:
        """Emit the sum over k; the pointers end behind it where some tile's sum is a loop."""
        if steps.rest:
            self.km.asm.comment(f"the first {steps.rest} products of {self.product.k}")
            lines = [0 if steps.trips else beside.lines for beside in self.beside]
            self._unrolled(micro, columns, steps.rest, lines, ahead)
        if self.plan.loops:
            self._advance(columns, steps.rest)
        if not steps.trips:
            return
        micro.clear()
        for trips, each in self._paced(steps.trips):
            for between, looks in self._looks(trips, steps.unroll):
                with self.frame.loop(looks, "looks"):
                    self.km.asm.comment(f"loop over k: {between} times {steps.unroll} products")
                    with self.frame.loop(between, "k"):
                        self._unrolled(micro, columns, steps.unroll, each, ahead)
                        self._advance(columns, steps.unroll)
                    if looks > 1 and self.decided:
                        micro.leave_if_decided(self.decided)

    def _paced(self, trips: int) -> Iterator[tuple[int, list[int]]]:
        """Yield numbers of trips of a loop over k that take equally many lines, and how many these are."""
        paces, done = [beside.pace(trips) for beside in self.beside], 0
        for end in sorted({trips, *(taking for taking, _ in paces)}):
            yield end - done, [lines if taking >= end else 0 for taking, lines in paces]
            done = end

    def _looks(self, trips: int, unroll: int) -> list[tuple[int, int]]:
        """Return how many trips of a loop over k there are between looks at whether it may end, and how many looks."""
        return parts(trips, max(LOOK // unroll, 1) if self.decided else max(trips, 1))

    def _advance(self, columns: int, steps: int) -> None:
        """Move the pointers along k, unless every step does so."""
        for cursor in self.cursors:
            if isinstance(cursor.strides[2], int):
                cursor.advance(self.frame, columns, steps)

    def _unrolled(
        self, micro: Microkernel[R, V, A], columns: int, count: int, lines: Sequence[int], ahead: int
    ) -> None:
        """Emit so many products, and what goes on beside them."""
        for step in range(count):
            micro.step(step, is_last=step == count - 1)
            if ahead:
                self._fetch_ahead(micro.tile.vectors, step, ahead)
            for beside, each in zip(self.beside, lines):
                beside.step(self.frame, step, count, each, micro.registers.free)
            for cursor in self.cursors:
                if isinstance(cursor.strides[2], str):
                    cursor.advance(self.frame, columns, 1)

    def _fetch_ahead(self, vectors: int, step: int, ahead: int) -> None:
        """Ask for the same column of A in a later matrix of the batch, or in a later call.

        The latter is far off: the first-level cache has less under way at a time than the second one.
        """
        ask = self.km.prefetch_block if self.product.batch == 1 else self.km.prefetch_input
        for line in range(0, vectors * self.vec.lanes * self.product.dtype.size, CACHE_LINE):
            ask(self.cursors[0].place(self.frame, ahead + line, 0, step))


def _first_apart(blocks: Blocks) -> Blocks:
    """Return the blocks of columns, only the first tile of all being biased."""
    (tile, count), *others = blocks
    if not tile.biased:
        return blocks
    plain = [(each._replace(biased=False), times) for each, times in ((tile, count - 1), *others) if times]
    return (tile, 1), *plain


def _described(tile: Tile, tail: int) -> str:
    """Return the comment above a tile in the listing."""
    if tile.group > 1:
        grouped = f"{tail} rows with {tile.group} {'columns' if tile.across else 'products'} side by side"
        whole = f"{tile.vectors} vectors and " if tile.vectors else ""
        return f"tile of {whole}{grouped}, {tile.columns} columns"
    return f"tile of {tile.vectors} vectors x {tile.columns} columns" + (f", last {tail} lanes" if tail else "")
