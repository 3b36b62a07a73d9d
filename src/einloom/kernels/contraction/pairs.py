"""The generator for products of complex numbers where they lie: nothing is packed, and vectors hold both parts.

A register of A's elements is multiplied by the real part of an element of B, and by its imaginary part, in sums of
their own; at the end the parts of the second sum trade places and are added to the first:

    (re a, im a) re b  +  (-im a, re a) im b

Conjugation changes signs there, and only there. Where vectors do not run along memory, a register holds one element.
Short runs that follow each other at the same small distance in A and in C are loaded and stored with what lies between
them, which is masked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Generic, NamedTuple

from einloom.kernels.contraction.add_c import add_c
from einloom.kernels.contraction.lane_product import lane_product
from einloom.kernels.parts import parts
from einloom.kernels.specs import PairProduct, Spec, signature
from einloom.kernels.verbs.frame import leaf_frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import KernelMachine, Mask, V

__all__ = ["emit_pair_product"]

MOST_VECTORS = MOST_COLUMNS = MOST_ROWS = 4
"""Of a tile."""

OTHERS = 3
"""Registers beside the sums and the vectors of A."""

LOOP = 2
"""Cycles of a product of k besides."""

STRAIGHT = 8
"""Most products that are emitted without a loop over k."""


def emit_pair_product(km: KernelMachine[R, V, A], spec: PairProduct) -> None:
    """Emit the function of a spec at the current position; its arguments are `signature(spec)`."""
    if spec.m == 0 or spec.n == 0 or (spec.k * spec.batch == 0 and spec.beta == 1):
        km.return_()
    elif (lanes := lane_product(km, spec)) is not None and (spec.around or lanes.lanes.sums_lanes):
        lanes.emit()
    else:
        vec = km.vectors(spec.dtype)
        runs = _vectors_of(spec, vec.lanes // 2, km.machine.vectors.masks_any)[2]
        fills = runs.number * runs.length >= min(spec.k, vec.lanes // 2)
        along_k = None if spec.batch != 1 or fills else _along_k(spec)
        (_PairProduct(km, spec) if along_k is None else _PairDot(km, spec, *along_k)).emit()


def takes_loops(km: KernelMachine[R, V, A], spec: Spec, around: tuple[tuple[int, int, int, int], ...]) -> bool:
    """Whether a kernel keeps something in registers for loops that are around it, if they become part of it."""
    return isinstance(spec, PairProduct) and lane_product(km, replace(spec, around=around)) is not None


class _Tile(NamedTuple):
    """Part of C: so many vectors, of which the last one may be masked, times so many columns."""

    vectors: int
    columns: int
    mask: Mask


class _Runs(NamedTuple):
    """The elements in a vector: so many runs, how long each is, and how far the next one begins."""

    number: int
    length: int = 1
    pitch: int = 1


class _PairProduct(Generic[R, V, A]):
    """One run of the generator."""

    def __init__(self, km: KernelMachine[R, V, A], spec: PairProduct) -> None:
        arguments = signature(spec)
        self.km, self.vec = km, km.vectors(spec.dtype)
        self.spec, names, self.runs = _vectors_of(spec, self.vec.lanes // 2, km.machine.vectors.masks_any)
        self.size = 2 * spec.dtype.size
        self.each = self.runs.number
        a, b = dict(zip(names, (self.spec.a, self.spec.b))), self.spec.b
        self.a, self.b = names
        self.strides = {name: [self.size * stride for stride in along] for name, along in a.items()}
        self.c_strides = [self.size * stride for stride in self.spec.c]
        self.b_varies = b[0] != 0
        hot = ["a_walk", "b_walk", "c", "k"]
        self.frame = leaf_frame(km, arguments, hot, ["a", "b", "batch", "n", "m", *arguments[3:]])
        self.registers = list(self.vec.working)

    def emit(self) -> None:
        """Emit the function."""
        spec, frame = self.spec, self.frame
        frame.enter()
        whole, tail = divmod(spec.m, self.each)
        part = self._mask(self.each)
        vectors, columns = self._tile_size(whole)
        groups = [(_Tile(count, columns, part), times) for count, times in parts(whole, vectors)]
        groups += [(_Tile(1, columns, self._mask(tail)), 1)] if tail else []
        for tile, times in groups:
            with frame.loop(times, "m"):
                for width, count in parts(spec.n, columns):
                    with frame.loop(count, "n"):
                        self._tile(tile._replace(columns=width))
                        self._move(1, width)
                self._move(1, -spec.n)
                self._move(0, tile.vectors * self.each)
        self.vec.finish()
        frame.leave()

    def _mask(self, count: int) -> Mask:
        """The mask of the elements of so many indices of m."""
        if self.runs.number == 1 or self.runs.pitch == 1:
            return self.vec.mask(2 * count * self.runs.length)
        run = (1 << 2 * self.runs.length) - 1
        return self.vec.lane_mask(sum(run << 2 * self.runs.pitch * index for index in range(count)))

    def _tile_size(self, whole: int) -> tuple[int, int]:
        """Vectors and columns of the tiles that take the fewest cycles: two products or two loads in each."""
        most = 1 if self.spec.a[1] else min(self.spec.n, MOST_COLUMNS)

        def vectors(columns: int) -> int:
            room = (len(self.registers) - OTHERS) // (2 * columns + 1)
            return max(min(room, MOST_VECTORS, whole), 1)

        def cycles(columns: int) -> float:
            rows = vectors(columns)
            return -(-self.spec.n // columns) * (max(rows * columns, rows / 2 + columns) + LOOP) / rows

        columns = min(range(1, most + 1), key=lambda each: (cycles(each), each))
        return vectors(columns), columns

    def _move(self, axis: int, count: int) -> None:
        for name, along in self.strides.items():
            self.frame.advance(name, along[axis], count)
        self.frame.advance("c", self.c_strides[axis], count)

    # ---- one tile ---------------------------------------------------------------------------------------------------

    def _tile(self, tile: _Tile) -> None:
        spec, frame = self.spec, self.frame
        self.km.asm.comment(f"tile of {tile.vectors} vectors x {tile.columns} columns")
        count = tile.vectors * tile.columns
        self.first, self.second = self.registers[:count], self.registers[count : 2 * count]
        self.free = self.registers[2 * count :]
        frame.copy("a_walk", self.a)
        frame.copy("b_walk", self.b)
        begun = spec.k > 0 and spec.batch == 1
        if begun:
            self._step(tile, begins=True)
        else:
            for register in (*self.first, *self.second):
                self.vec.zero(register)
        if spec.k and spec.batch:
            with frame.loop(spec.batch, "batch"):
                self._steps(tile, spec.k - begun)
                if spec.batch > 1:
                    self._advance(3, 1)
                    self._advance(2, -spec.k)
        self._finish(tile)

    def _steps(self, tile: _Tile, count: int) -> None:
        if count > STRAIGHT:
            with self.frame.loop(count, "k"):
                self._step(tile)
            return
        for _ in range(count):
            self._step(tile)

    def _advance(self, axis: int, count: int) -> None:
        self.frame.advance("a_walk", self.strides[self.a][axis], count)
        self.frame.advance("b_walk", self.strides[self.b][axis], count)

    def _step(self, tile: _Tile, begins: bool = False) -> None:
        """Add one product to the sums, or begin them with it."""
        vectors, real, imaginary = self.free[: tile.vectors], *self.free[tile.vectors : tile.vectors + 2]
        add = self.vec.product if begins else self.vec.fma
        for register, place in zip(vectors, self._rows("a_walk", self.strides[self.a][0], tile.vectors)):
            self.vec.load(register, place, tile.mask)
        sums = list(zip(self.first, self.second))
        for column, (base, offset) in enumerate(self._columns("b_walk", tile.columns)):
            for row, vector in enumerate(vectors):
                if self.b_varies or row == 0:
                    self._load_element(real, imaginary, base, offset, row, tile.mask)
                first, second = sums[column * tile.vectors + row]
                add(first, vector, real)
                add(second, vector, imaginary)
        self._advance(2, 1)

    def _load_element(self, real: V, imaginary: V, base: R, offset: int, row: int, mask: Mask) -> None:
        """Load the parts of B's element for all lanes, or those of as many elements as a vector has."""
        place = self.km.place(base, offset + row * self.each * self.strides[self.b][0])
        if not self.b_varies:
            self.vec.broadcast(real, place)
            self.vec.broadcast(imaginary, self.km.place(base, offset + self.size // 2))
            return
        self.vec.load(imaginary, place, mask)
        self.vec.repeat_neighbour(real, imaginary, False)
        self.vec.repeat_neighbour(imaginary, imaginary, True)

    def _rows(self, name: str, stride: int, count: int) -> Iterator[A]:
        places = self.frame.walk(name, stride * self.each, count, self.km.reach)
        return (self.km.place(base, offset) for base, offset in places)

    def _columns(self, name: str, count: int) -> Iterator[tuple[R, int]]:
        stride = self.c_strides[1] if name == "c" else self.strides[self.b][1]
        return self.frame.walk(name, stride, count, self.km.reach // 2)

    # ---- its end ----------------------------------------------------------------------------------------------------

    def _finish(self, tile: _Tile) -> None:
        """Bring the two sums together, add C as beta says, and store."""
        own, other = self.spec.conjugated
        for number, (signs, registers) in enumerate((((own == other, other), self.second), ((False, own), self.first))):
            if number == 0:
                for register in registers:
                    self.vec.swap_neighbours(register, register)
            if any(signs):
                self.vec.load_signs(self.free[0], *signs)
                for register in registers:
                    self.vec.bit_xor(register, register, self.free[0])
        for first, second in zip(self.first, self.second):
            self.vec.add(first, first, second)
        add_c(self.km, self.vec, self.spec.beta, self.frame, self._places_of_c(tile), tile.mask, self.free[0])
        for register, place in self._places_of_c(tile):
            self.vec.store(place, register, tile.mask, temporary=self.free[0])

    def _places_of_c(self, tile: _Tile) -> Iterator[tuple[V, A]]:
        """Yield each sum with its place; each must be used before the next is asked for."""
        along = self.each * self.c_strides[0]
        for column, (base, offset) in enumerate(self._columns("c", tile.columns)):
            for row in range(tile.vectors):
                yield self.first[column * tile.vectors + row], self.km.place(base, offset + row * along)


class _PairDot(Generic[R, V, A]):
    """The same for sums along memory: rows of A times a column of B, the vectors run along k.

    A row is multiplied by the column, and by the column with its parts exchanged; sums over lanes make the parts of C.
    """

    def __init__(self, km: KernelMachine[R, V, A], spec: PairProduct, along: PairProduct, names: Sequence[str]) -> None:
        self.km, self.vec, self.spec, (self.a, self.b) = km, km.vectors(spec.dtype), along, names
        self.size, self.each = 2 * spec.dtype.size, self.vec.lanes // 2
        self.rows = _rows_at_once(along, self.each)
        self.sets = max(1, min(MOST_ROWS // self.rows, along.k // self.each))
        arguments = signature(spec)
        hot = ["a_walk", "b_walk", "c", "k"]
        self.frame = leaf_frame(km, arguments, hot, ["a", "b", "n", "m", *arguments[3:]])
        self.strides = {name: [self.size * s for s in each] for name, each in zip(names, (along.a, along.b))}
        self.strides["c"] = [self.size * stride for stride in along.c]

    def emit(self) -> None:
        """Emit the function."""
        spec, frame, vec = self.spec, self.frame, self.vec
        frame.enter()
        whole, tail = divmod(spec.k, self.each)
        mask = vec.mask(2 * tail) if tail else None
        masks = {rows: vec.mask(2 * rows) for rows, _ in parts(spec.m, self.rows)}
        for rows, times in parts(spec.m, self.rows):
            with frame.loop(times, "m"):
                with frame.loop(spec.n, "n"):
                    self._begin(rows)
                    for sets, count in parts(whole, self.sets):
                        with frame.loop(count, "k"):
                            self._step(rows, sets, None)
                    if tail:
                        self._step(rows, 1, mask)
                    self._finish(rows, masks[rows])
                    self._move(1, 1)
                self._move(1, -spec.n)
                self._move(0, rows)
        vec.finish()
        frame.leave()

    def _move(self, axis: int, count: int) -> None:
        for name, along in self.strides.items():
            self.frame.advance(name, along[axis], count)

    def _begin(self, rows: int) -> None:
        """Clear the sums: for each set, two of each row."""
        sums, self.free = self.vec.working[: 2 * rows * self.sets], self.vec.working[2 * rows * self.sets :]
        self.sums = [list(sums[2 * rows * each : 2 * rows * (each + 1)]) for each in range(self.sets)]
        for register in sums:
            self.vec.zero(register)
        self.frame.copy("a_walk", self.a)
        self.frame.copy("b_walk", self.b)

    def _step(self, rows: int, sets: int, mask: Mask) -> None:
        column, exchanged, row = self.free[:3]
        width = self.vec.lanes * self.spec.dtype.size
        for number, sums in enumerate(self.sums[:sets]):
            self.vec.load(column, self.km.place(self.frame.read("b_walk"), number * width), mask)
            self.vec.swap_neighbours(exchanged, column)
            places = self.frame.walk("a_walk", self.strides[self.a][0], rows, self.km.reach // 2)
            for index, (base, offset) in enumerate(places):
                self.vec.load(row, self.km.place(base, offset + number * width), mask)
                self.vec.fma(sums[2 * index], row, column)
                self.vec.fma(sums[2 * index + 1], row, exchanged)
        self.frame.advance("a_walk", width, sets)
        self.frame.advance("b_walk", width, sets)

    def _finish(self, rows: int, mask: Mask) -> None:
        """Sum over sets and lanes: that makes the parts of C's rows, one behind the other."""
        vec, (own, other), first = self.vec, self.spec.conjugated, self.sums[0]
        for sums in self.sums[1:]:
            for total, register in zip(first, sums):
                vec.add(total, total, register)
        for part, signs in enumerate(((False, own == other), (other, own))):
            if any(signs):
                vec.load_signs(self.free[0], *signs)
                for register in first[part::2]:
                    vec.bit_xor(register, register, self.free[0])
        vec.sum_lanes(first[: 2 * rows], self.free[0])
        result, place = first[0], self.km.place(self.frame.read("c"), 0)
        add_c(self.km, vec, self.spec.beta, self.frame, [(result, place)], mask, self.free[0])
        vec.store(place, result, mask, temporary=self.free[0])


def _along_k(spec: PairProduct) -> tuple[PairProduct, Sequence[str]] | None:
    """Return the spec with m and n, or A and B, exchanged so that sums run along memory, B's column for many rows."""
    fits = [each for each in _ways(spec) if each[0].a[2] == each[0].b[2] == 1 and each[0].b[0] == 0 and each[0].k > 1]
    return max(fits, key=lambda each: (_rows_at_once(each[0], MOST_ROWS), each[0].m), default=None)


def _rows_at_once(along: PairProduct, most: int) -> int:
    """How many rows are summed at once: what follows each other in C is stored as one vector."""
    return min(along.m, most, MOST_ROWS) if along.c[0] == 1 else 1


def _runs_along_memory(spec: PairProduct) -> bool:
    """Whether vectors of A, of C and of B, unless it is broadcast, run along memory."""
    return spec.c[0] == 1 and spec.a[0] == 1 and spec.b[0] in (0, 1)


def _along_memory(spec: PairProduct) -> tuple[PairProduct, Sequence[str]]:
    """Return the spec with m and n, or A and B, exchanged so that vectors run along memory; what A and B are called."""
    return next((way for way in _ways(spec) if _runs_along_memory(way[0])), (spec, ("a", "b")))


def _vectors_of(spec: PairProduct, room: int, masks_any: bool) -> tuple[PairProduct, Sequence[str], _Runs]:
    """Return the spec with vectors along m; what A and B are called; and the elements in vectors of so many."""
    dense, names = _along_memory(spec)
    fits = _runs_along_memory(dense)
    runs, found = _Runs(room if fits else 1), (dense, names)
    used = min(dense.m, runs.number)
    for each in _ways(spec):
        way, length = _with_short_runs(each[0], room)
        count = min(max(room // way.a[0], 1), way.m if masks_any else 1) if length else 0
        if count * length > used:
            used, found, runs = count * length, (way, each[1]), _Runs(count, length, way.a[0])
    return *found, runs


def _with_short_runs(spec: PairProduct, room: int) -> tuple[PairProduct, int]:
    """Return the spec with the runs that follow each other along m in A and C as its elements, and how long they are.

    0 where there are none. Runs along n are of one element then: n is 1.
    """
    pitch = spec.a[0]
    if pitch <= 1 or spec.c[0] != pitch or spec.b[0]:
        return spec, 0
    along_n = spec.a[1] == spec.c[1] == 1 and spec.b[1] == 0 and 1 < spec.n < pitch
    if along_n and spec.n <= room:
        return replace(spec, n=1), spec.n
    return spec, 1


def _ways(spec: PairProduct) -> Iterator[tuple[PairProduct, Sequence[str]]]:
    """Yield the spec with m and n, or A and B, exchanged or not, and what A and B are called."""
    for each in (spec, spec.exchanged):
        yield each, ("a", "b")
        yield each.with_other_first, ("b", "a")
