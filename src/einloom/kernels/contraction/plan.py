"""`Plan`: what a BRGEMM kernel is made of: bands of tiles, sums over k, pointers, the frame. It emits nothing.

The frame says which of the kernel's variables live in registers. Whether all of them fit decides how wide tiles may be.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Generic

from einloom.kernels.contraction.ahead import AskAhead
from einloom.kernels.contraction.bands import Band, tiling_of
from einloom.kernels.contraction.cursor import Cursor, Strides
from einloom.kernels.contraction.leaving import Leaving
from einloom.kernels.contraction.microkernel import CACHE_LINE
from einloom.kernels.contraction.product import Product
from einloom.kernels.contraction.scratch import RowScratch
from einloom.kernels.contraction.steps import Steps
from einloom.kernels.contraction.tiles import Demand
from einloom.kernels.fetch import STRIDED, VECTOR
from einloom.kernels.specs import BatchBy, Brgemm, signature
from einloom.kernels.verbs.frame import TooManyVariables, leaf_frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import KernelMachine, V

__all__ = ["Plan", "plan_brgemm"]

AHEAD = 48
"""Products of a tile, at least, before A's columns are used that are fetched meanwhile: as long as the L3 takes."""

APART = 512
"""Bytes between rows of A from which on their next pieces are asked for."""

LINES_AHEAD = 200
"""Cache lines that memory delivers while it answers a request, other programs beside it."""

KEPT = 8
"""A call asks for what the next one reads if that is at most one part in so many of the second-level cache, which has
to keep it: 32 rows of 16 KB, asked for a call ahead instead of some tiles, were read at three quarters of the speed."""

BODY = 52
"""Most vector FMAs that the body of a loop over k holds; twice as many where every column has its own pointer, and in
long sums: the units for multiply-adds also do what a loop does besides, which costs up to 6 % in such short bodies."""

LONG_SUM = 512
"""Products from which on a sum is worth the time to emit a longer body."""


def plan_brgemm(km: KernelMachine[R, V, A], spec: Brgemm, product: Product) -> Plan[R, V, A]:
    """Return the plan of a spec's product with the widest tiles whose pointers and strides fit into the registers."""
    for most_columns in (32, 5):
        try:
            return Plan(km, spec, product, most_columns)
        except TooManyVariables:
            continue
    return Plan(km, spec, product, 1)


class Plan(Generic[R, V, A]):
    """The plan of one kernel with tiles of at most so many columns.

    Attributes:
        product: what is computed; its A is the scratch if there is one.
        scratch: where rows of A are transposed to, or None.
        bands: rows of tiles from the top.
        tail: lanes of the last vector of m, 0 if it is whole.
        steps: how the tiles of each band sum over k.
        loops: whether some tile's sum is a loop.
        strides, input_strides, output, source_strides: in bytes or names of variables.
        listed: whether the matrices of the batch come as lists.
        ends_early: whether sums over k may end before k does.
        cursors: of A and B; copies: whether they walk on copies of the operands' pointers.
        ahead: for each band, how far behind a column of A the one lies that is fetched meanwhile; 0: none.
        asks: the code that asks for a block which is wanted later, or None.
        leaving: the code that stores lines of an earlier block, or None.
        batch_steps: how far each cursor moves from one matrix of the batch to the next.
        views: the verbs that read and write each operand, by name.
        operands: A, B and C with their strides; strided: those whose vectors are put together from single elements.
        bias: where the frame has room for the sums that the first tile of a row keeps for the others, or None.
        frame: all variables.
    """

    def __init__(self, km: KernelMachine[R, V, A], spec: Brgemm, product: Product, most_columns: int) -> None:
        self.km = km
        self.product = product
        in_order = product.is_scalable(km.machine)
        self.vec = km.sums(spec.dtype, product.groups, in_order)
        lanes = self.vec.lanes
        room = RowScratch.most_vectors(product, lanes)
        self.scratch = RowScratch(product, lanes, room) if room else None
        if self.scratch:
            product = product._replace(a=self.scratch.operand)
        self.bands = tiling_of(Demand.of(product, km.machine, in_order), most_columns, room or 8).bands
        self.rows = max(band.vectors for band in self.bands)
        self.columns = max(band.columns for band in self.bands)
        if self.scratch:
            self.scratch = RowScratch(self.product, lanes, self.rows)
            self.product = product = product._replace(a=self.scratch.operand)
        self.tail = product.m % self.vec.lanes
        self.steps = {band: self._steps_of(band) for band in self.bands}
        self.loops = any(steps.trips for steps in self.steps.values())
        self._resolve_strides()
        tiles = sum(band.count * times for band in self.bands for _, times in band.blocks)
        sums = tiles * product.batch
        self.asks = AskAhead[R, V, A](spec.ahead, sums) if spec.ahead else None
        self.leaving = Leaving[R, V, A](km, spec.leaving, sums) if spec.leaving else None
        self._plan_frame(spec)

    def _steps_of(self, band: Band) -> Steps:
        """Return how the tiles of a band sum over k."""
        together = max((tile.together for tile, _ in band.blocks), default=1)
        product = self.product
        body = BODY if self.km.scales and product.steps < LONG_SUM else 2 * BODY
        along_k = ((operand.strides[2], operand.dtype.size) for operand in product.inputs)
        apart = [stride * size for stride, size in along_k if isinstance(stride, int)]
        return Steps.of(product.k, band.vectors * band.columns, together, body, product.batch == 1, apart)

    def _resolve_strides(self) -> None:
        product = self.product
        self.strides = Strides(self.km.reach)
        most_steps = max(steps.unroll + steps.rest for steps in self.steps.values())
        extents = (self.rows * self.vec.lanes, self.columns, most_steps, 1)
        self.input_strides = [self.strides.of(operand, extents) for operand in product.inputs]
        self.output = self.strides.of(product.c, extents)
        sources = [self.scratch.source] if self.scratch else []
        operands = (*product.inputs, product.c, *sources)
        self.views = {o.name: self.vec if o.group_of else self.km.view(o.dtype, self.vec) for o in operands}
        self.operands = [*zip(product.inputs, self.input_strides), (product.c, self.output)]
        self.source_strides = self.strides.of(self.scratch.source, (1, 1, 1, 1)) if self.scratch else ()
        single = len(self.bands) == self.bands[0].count == 1 and product.n <= self.columns
        self.listed = product.batch_by is not BatchBy.STRIDE
        moves = self.loops or product.batch > 1 or self.listed or any(isinstance(s[2], str) for s in self.input_strides)
        walks = bool(moves) and product.steps > 0
        self.ends_early = self.loops and self.vec.branch_if_all is not None
        self.copies = walks and (self.listed or not single or self.ends_early)
        self.cursors = tuple(
            Cursor.of(self.km, operand, strides, self.columns, f"{operand.name}_walk" if self.copies else operand.name)
            for operand, strides in zip(product.inputs, self.input_strides)
        )
        self.batch_steps = [self._batch_step(cursor) for cursor in self.cursors]
        self.ahead = dict(zip(self.bands, self._ahead()))

    def _ahead(self) -> Iterator[int]:
        """Yield how far on it is fetched for each band, where processors do not see what comes next in time.

        They fetch on by themselves within a page, but every matrix of a batch begins another one; and of rows that lie
        apart they see the next pieces only as far as the multiply-adds before have gone.
        """
        product = self.product
        a, (_, _, along_k, along_batch) = product.a, self.input_strides[0]
        if self.listed or self.scratch or a.fetch is not VECTOR or a.per_column:
            distances = repeat(0)
        elif product.batch == 1:
            distances = self._tiles_ahead(along_k)
        else:
            far = product.m * product.steps * product.dtype.size > self.km.machine.l1d
            matrices = -(-AHEAD // max(product.k, 1)) if far else 0
            distances = repeat(along_batch * matrices if isinstance(along_batch, int) else 0)
        for distance, _ in zip(distances, self.bands):
            yield distance if abs(distance) < self.km.reach // 2 else 0

    def _tiles_ahead(self, along_k: int | str) -> Iterator[int]:
        """Yield how far on each band asks: a call ahead, or some tiles where what a call reads is large."""
        product = self.product
        known = product.onward is not None and product.a.name == "a"
        apart = known and isinstance(along_k, int) and abs(along_k) >= APART
        large = product.m * product.steps * product.a.dtype.size > self.km.machine.l2 // KEPT
        for band in self.bands:
            tile = band.vectors * self.vec.lanes * product.a.dtype.size
            ends = band is self.bands[-1] and band.count == 1
            distance = product.onward or (0 if ends else tile)
            if large and not ends:
                distance = tile * -(-LINES_AHEAD * CACHE_LINE // (tile * product.steps))
            yield distance if apart else 0

    def _batch_step(self, cursor: Cursor) -> int | str:
        """Return how far a pointer moves from the end of one matrix of the batch to the next one."""
        along_k, along_batch = cursor.strides[2:]
        if self.product.batch == 1 or self.listed:
            return 0
        if isinstance(along_k, int) and isinstance(along_batch, int):
            return along_batch - along_k * self.walked(along_k)
        return f"{cursor.operand.name}_batch"

    def walked(self, along_k: int | str) -> int:
        """Return the steps of k by which the pointers have moved at the end of k."""
        return self.product.k if isinstance(along_k, str) or self.loops else 0

    def _plan_frame(self, spec: Brgemm) -> None:
        product = self.product
        hot = [name for cursor in self.cursors for name in cursor.variables] if product.steps else []
        hot += ["k"] if self.loops else []
        if isinstance(self.output[1], str) and self.columns > 1:
            hot += ["c_walk", self.output[1]]
        hot += [self.output[0]] if isinstance(self.output[0], str) else []
        hot += self.asks.variables if self.asks else ()
        hot += self.leaving.hot if self.leaving else ()
        parts = (*self.input_strides, self.output, self.source_strides)
        strides = [s for part in parts for s in part if isinstance(s, str)]
        cold = ["c", *(o.name for o in product.inputs), *(["beta"] if product.beta is None else [])]
        cold += [step for step in self.batch_steps if isinstance(step, str)]
        cold += [*strides, "n", "m", "batch", *(["looks"] if self.ends_early else [])]
        cold += self.leaving.cold if self.leaving else ()
        if self.listed:
            cold += [f"list_{o.name}" for o in product.inputs]
            cold += [f"{product.batch_by}_{o.name}" for o in product.inputs]
        self.strided = [(operand, strides) for operand, strides in self.operands if operand.fetch is STRIDED]
        extra = self.vec.index_bytes * len(self.strided)
        self.bias = extra if product.is_biased else None
        extra += self.rows * self.vec.lanes * product.dtype.size if product.is_biased else 0
        if self.scratch:
            cold += [self.scratch.source.name, *self.scratch.variables]
            self.scratch_slot = extra
            extra += self.scratch.frame_bytes
        self.frame = leaf_frame(self.km, signature(spec), hot, cold, extra)
