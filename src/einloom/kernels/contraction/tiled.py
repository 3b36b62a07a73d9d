"""The generator for matrix tiles: C in four tiles of 16 x 16 sums, two of A's and two of B's rows beside them.

A tile's rows are columns of C, contiguous along m. A comes with groups of k side by side, [k][m]; B with k contiguous,
[n][k]. Short tiles at the ends of m, n and k are configurations of their own, so no mask is needed; products behind the
last whole step of k are added to C in a second pass.

Tiles of A stay for all of n, in the first-level cache if k is short enough; those of B are used once for each of them,
and would push them out if they were not loaded as such. While products are computed, C's next tiles are asked for.
"""

from __future__ import annotations

from typing import Generic

from einloom.kernels.contraction.ahead import AskAhead
from einloom.kernels.parts import parts
from einloom.kernels.specs import GROUP_BYTES, BatchBy, Brgemm, signature
from einloom.kernels.verbs.abilities import TileVerbs
from einloom.kernels.verbs.frame import leaf_frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import KernelMachine, V

__all__ = ["emit_tiled", "suits_tiles"]

SIDE = 16
"""Rows of a tile, and its sums or groups in a row."""

SUMS, ROWS, COLUMNS = 0, 4, 6
"""Numbers of the first tiles of C, of B and of A."""

ROW_BYTES = SIDE * GROUP_BYTES

C_NEXT = "c_next"
"""Variable: where the next column of C that is asked for begins."""


def suits_tiles(spec: Brgemm, tiles: TileVerbs[R], reach: int) -> bool:
    """Whether a product is one of tiles: the types, what is contiguous, and distances that are known."""
    if spec.b is None or not spec.grouped or spec.k * spec.batch == 0 or spec.alpha != 1:
        return False
    if spec.batch_by is BatchBy.ADDRESSES:
        return False
    strides = (*spec.a, *spec.b, *spec.c)
    if any(stride is None or abs(stride) >= reach // 256 for stride in strides) or spec.types["c"] != spec.dtype:
        return False
    contiguous = (spec.a[0] == spec.c[0] == 1 or spec.m == 1) and (spec.b[2] == 1 or spec.k == 1)
    alone = (spec.a[1] == 0 or spec.n == 1) and (spec.b[0] == 0 or spec.m == 1)
    return contiguous and alone and tiles.multiplies(spec.types["b"], spec.types["a"])


def emit_tiled(km: KernelMachine[R, V, A], tiles: TileVerbs[R], spec: Brgemm) -> None:
    """Emit the function of a spec that `suits_tiles`; its arguments are `signature(spec)`."""
    _Tiled(km, tiles, spec).emit()


class _Tiled(Generic[R, V, A]):
    """One run of the generator."""

    def __init__(self, km: KernelMachine[R, V, A], tiles: TileVerbs[R], spec: Brgemm) -> None:
        self.km, self.tiles, self.spec = km, tiles, spec
        self.types = spec.types["b"], spec.types["a"]
        (_, _, self.a_k, self.a_batch), (_, self.b_n, _, self.b_batch), (_, self.c_n) = (
            [GROUP_BYTES * (stride or 0) for stride in strides] for strides in spec.strides.values()
        )
        passes = (spec.k >= SIDE) + (spec.k % SIDE > 0)
        sums = -(-spec.m // (2 * SIDE)) * -(-spec.n // (2 * SIDE)) * spec.batch * passes
        self.asks = AskAhead[R, V, A](spec.ahead, sums) if spec.ahead else None
        hot = ["a_walk", "b_walk", "a_k", "b_n", "c_n", "k", C_NEXT, *(self.asks.variables if self.asks else ())]
        cold = ["a", "b", "c", *(["beta"] if spec.beta is None else []), "n", "m", "batch"]
        self.listed = spec.batch_by is BatchBy.OFFSETS
        cold += ["offsets_a", "offsets_b", "list_a", "list_b"] if self.listed else []
        self.frame = leaf_frame(km, signature(spec), hot, cold)

    def emit(self) -> None:
        """Emit the function."""
        self.frame.enter()
        self.frame.set_strides({"a_k": self.a_k, "b_n": self.b_n, "c_n": self.c_n}, {})
        if self.asks:
            self.asks.start(self.frame)
        whole, rest = divmod(self.spec.k, SIDE)
        if whole:
            self._pass(whole, SIDE, self.spec.beta)
        if whole and rest:
            self.frame.advance("a", self.a_k, whole * SIDE)
            self.frame.advance("b", ROW_BYTES, whole)
        if rest:
            self._pass(1, rest, 1 if whole else self.spec.beta)
        self.tiles.release()
        if self.asks:
            self.asks.stop(self.frame)
        self.frame.leave()

    def _pass(self, trips: int, depth: int, beta: int | None) -> None:
        """Add so many steps of k, of `depth` groups each, to all of C."""
        spec = self.spec
        for width, blocks in parts(spec.m, 2 * SIDE):
            with self.frame.loop(blocks, "m"):
                for height, times in parts(spec.n, 2 * SIDE):
                    self.km.asm.comment(f"tiles of {width} x {height} sums, {depth} groups of k")
                    self._configure(width, height, depth)
                    with self.frame.loop(times, "n"):
                        self._tile(width, height, trips, beta)
                        self._move_columns(height)
                self._move_columns(-spec.n)
                self._move_rows(width)
        self._move_rows(-spec.m)

    def _move_columns(self, count: int) -> None:
        self.frame.advance("b", self.b_n, count)
        self.frame.advance("c", self.c_n, count)

    def _move_rows(self, count: int) -> None:
        self.frame.advance("a", GROUP_BYTES, count)
        self.frame.advance("c", GROUP_BYTES, count)

    def _configure(self, width: int, height: int, depth: int) -> None:
        """Give tiles their rows and the bytes of a row: C's first, then B's, then A's."""
        rows = [min(SIDE, height - SIDE * i) if height > SIDE * i else 1 for i in (0, 1)]
        columns = [GROUP_BYTES * min(SIDE, width - SIDE * j) if width > SIDE * j else GROUP_BYTES for j in (0, 1)]
        sums = [(rows[i], columns[j]) for i in (0, 1) for j in (0, 1)]
        self.tiles.configure(
            [*sums, *((count, GROUP_BYTES * depth) for count in rows), *((depth, size) for size in columns)]
        )

    def _tile(self, width: int, height: int, trips: int, beta: int | None) -> None:
        """Compute up to four tiles of C."""
        frame, across, down = self.frame, range(-(-width // SIDE)), range(-(-height // SIDE))
        self._start([2 * i + j for i in down for j in across], beta)
        with frame.assigned(C_NEXT) as place:
            self.km.move(place, frame.read("c"))
        frame.advance(C_NEXT, self.c_n, height)
        for name in "ab":
            frame.copy(*((f"list_{name}", f"offsets_{name}") if self.listed else (f"{name}_walk", name)))
        with frame.loop(self.spec.batch, "batch"):
            if self.listed:
                self._next_of_lists()
            self._sum(across, down, trips, -(-height // (trips * self.spec.batch)))
            if self.spec.batch > 1 and not self.listed:
                frame.advance("a_walk", self.a_batch - trips * SIDE * self.a_k, 1)
                frame.advance("b_walk", self.b_batch - trips * ROW_BYTES, 1)
        for tile in (2 * i + j for i in down for j in across):
            self.tiles.store(frame.read("c"), self._place(tile), frame.read("c_n"), tile)

    def _sum(self, across: range, down: range, trips: int, columns: int) -> None:
        """Add the products of a matrix of the batch; every step asks for so many columns of C."""
        asking, lines = self.asks.pace(trips) if self.asks else (0, 0)
        for count, each in ((asking, lines), (trips - asking, 0)):
            if not count:
                continue
            with self.frame.loop(count, "k"):
                self._step(across, down)
                self._ask(len(across), columns, each)
                self.frame.advance("a_walk", self.a_k, SIDE)
                self.frame.advance("b_walk", ROW_BYTES, 1)

    def _ask(self, across: int, columns: int, lines: int) -> None:
        """Ask for columns of C, which may begin within a line, and for lines of what is wanted later."""
        for _ in range(columns):
            for offset in (*range(0, across * ROW_BYTES, ROW_BYTES), across * ROW_BYTES - 1):
                self.km.prefetch(self.km.place(self.frame.read(C_NEXT), offset))
            self.frame.advance(C_NEXT, "c_n", 1)
        if self.asks:
            self.asks.step(self.frame, 0, 1, lines)

    def _next_of_lists(self) -> None:
        """Point to the next matrices of the batch, at distances in groups."""
        for name in "ab":
            with self.frame.assigned(f"{name}_walk") as walk:
                self.km.load(walk, self.frame.read(f"list_{name}"))
                self.km.multiply_constant(walk, walk, GROUP_BYTES)
                self.km.add(walk, self.frame.read(name))
            self.frame.advance(f"list_{name}", 8, 1)

    def _start(self, sums: list[int], beta: int | None) -> None:
        """Let tiles of C begin as C, or as zeros."""
        asm, km = self.km.asm, self.km
        add, done = asm.forward("add"), asm.forward("begun")
        if beta is None:
            self.frame.branch("ne", "beta", 0, add)
        for tile in sums if beta != 1 else ():
            self.tiles.zero(tile)
        if beta is None:
            km.jump(done)
            asm.bind(add)
        for tile in sums if beta != 0 else ():
            self.tiles.load(tile, self.frame.read("c"), self._place(tile), self.frame.read("c_n"))
        if beta is None:
            asm.bind(done)

    def _place(self, tile: int) -> int:
        """Return where a tile of C begins."""
        return SIDE * (tile // 2 * self.c_n + tile % 2 * GROUP_BYTES)

    def _step(self, across: range, down: range) -> None:
        """Add one step of k: a tile is loaded where it is first multiplied, so that loads and products take turns."""
        frame, tiles, once = self.frame, self.tiles, self.spec.n > 2 * SIDE
        for i in down:
            for j in across:
                if i == 0:
                    tiles.load(COLUMNS + j, frame.read("a_walk"), j * ROW_BYTES, frame.read("a_k"))
                if j == 0:
                    tiles.load(ROWS + i, frame.read("b_walk"), i * SIDE * self.b_n, frame.read("b_n"), once)
                tiles.multiply_add(SUMS + 2 * i + j, ROWS + i, COLUMNS + j, self.types)
