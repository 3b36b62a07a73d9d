"""The generator for outer products: sums of columns of A times rows of B, whole vectors of both, in square tiles.

Every step of k loads a few vectors of A along m and of B along n, and adds all their products at once. The tiles hold
C's columns as rows, which are read, scaled, added to C and stored when the sum is complete. Parts of vectors at the
ends of m and n are chosen by predicates.

    for blocks of m, for blocks of n:       as much as all tiles hold
        clear the tiles
        for batch, for k: load A, load B, add outer products
        for columns of C: read a row of the tiles, times alpha, add C, store
"""

from __future__ import annotations

from typing import Generic

from einloom.kernels.contraction.product import Product
from einloom.kernels.parts import parts
from einloom.kernels.specs import BatchBy, Brgemm, signature
from einloom.kernels.verbs.abilities import OuterVerbs
from einloom.kernels.verbs.frame import leaf_frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import KernelMachine, V

__all__ = ["emit_outer", "outer_product"]

FEWEST_STEPS = 8
"""Products in a sum from which on entering and leaving the mode, and reading tiles, is little beside them."""


def outer_product(product: Product, outer: OuterVerbs[R]) -> Product | None:
    """Return the product such that it is a sum of outer products, m and n exchanged or not; None if it is not one."""
    return next((each for each in (product, product.exchanged()) if _suits(each, outer)), None)


def _suits(product: Product, outer: OuterVerbs[R]) -> bool:
    """Whether A, B and C are contiguous where outer products need it, and enough to fill half of a tile."""
    if product.b is None or not product.is_in_order or product.batch_by is not BatchBy.STRIDE:
        return False
    if not outer.multiplies(product.dtype, product.groups) or product.steps < FEWEST_STEPS:
        return False
    if product.dtype.is_integer and product.alpha != 1:
        return False
    fills = 2 * min(product.m, product.n) >= outer.side(product.dtype)
    return fills and product.a.strides[:2] == (1, 0) and product.b.strides[:2] == (0, 1) and product.c.strides[0] == 1


def emit_outer(km: KernelMachine[R, V, A], outer: OuterVerbs[R], product: Product, spec: Brgemm) -> None:
    """Emit the function of a product that `outer_product` returned; its arguments are `signature(spec)`."""
    _Outer(km, outer, product, spec).emit()


class _Outer(Generic[R, V, A]):
    """One run of the generator."""

    def __init__(self, km: KernelMachine[R, V, A], outer: OuterVerbs[R], product: Product, spec: Brgemm) -> None:
        assert product.b is not None
        self.km, self.outer, self.product = km, outer, product
        self.side = outer.side(product.dtype)
        self.a, self.b, self.c = product.a.name, product.b.name, product.c.name
        self.scaled: dict[str, int] = {}
        self.a_k, self.a_batch = map(self._in_bytes, product.a.strides[2:])
        self.b_k, self.b_batch = map(self._in_bytes, product.b.strides[2:])
        self.c_n = self._in_bytes(product.c.strides[1])
        names = [stride for stride in (self.a_k, self.b_k, self.c_n) if isinstance(stride, str)]
        hot = ["a_walk", "b_walk", "k", "c_walk", "row", *names]
        further = [stride for stride in (self.a_batch, self.b_batch) if isinstance(stride, str)]
        cold = ["a", "b", "c", *(["beta"] if product.beta is None else []), "m", "n", "batch", *further]
        self.frame = leaf_frame(km, signature(spec), hot, cold)

    def _in_bytes(self, stride: int | str) -> int | str:
        """Return a stride in bytes, or its name, which will be brought into bytes."""
        if isinstance(stride, int):
            return stride * self.product.dtype.size
        self.scaled[stride] = self.product.dtype.size
        return stride

    def emit(self) -> None:
        """Emit the function."""
        across, down = self.outer.shape(self.product.dtype)
        self.frame.enter()
        self.frame.set_strides({}, self.scaled)
        self.outer.begin(self.product.dtype, self.product.groups, self.product.alpha)
        for width, blocks in parts(self.product.m, across * self.side):
            with self.frame.loop(blocks, "m"):
                for height, times in parts(self.product.n, down * self.side):
                    self.km.asm.comment(f"{width} x {height} sums")
                    self.outer.choose(self._cut(width), self._cut(height))
                    with self.frame.loop(times, "n"):
                        self._block(self._cut(width), self._cut(height))
                        self._move_columns(height)
                self._move_columns(-self.product.n)
                self._move_rows(width)
        self.outer.end()
        self.frame.leave()

    def _cut(self, size: int) -> list[int]:
        """Return the elements of the vectors that a range is cut into."""
        return [min(self.side, size - begin) for begin in range(0, size, self.side)]

    def _move_columns(self, count: int) -> None:
        self.frame.advance(self.b, self.product.dtype.size, count)
        self.frame.advance(self.c, self.c_n, count)

    def _move_rows(self, count: int) -> None:
        self.frame.advance(self.a, self.product.dtype.size, count)
        self.frame.advance(self.c, self.product.dtype.size, count)

    def _block(self, across: list[int], down: list[int]) -> None:
        """Compute and store as many sums as the tiles hold."""
        frame, product = self.frame, self.product
        self.outer.clear()
        frame.copy("a_walk", self.a)
        frame.copy("b_walk", self.b)
        with frame.loop(product.batch, "batch"):
            with frame.loop(product.k, "k"):
                self.outer.step(frame.read("a_walk"), frame.read("b_walk"), len(across), len(down))
                frame.advance("a_walk", self.a_k, 1)
                frame.advance("b_walk", self.b_k, 1)
            if product.batch > 1:
                for name, along_k, along_batch in (
                    ("a_walk", self.a_k, self.a_batch),
                    ("b_walk", self.b_k, self.b_batch),
                ):
                    frame.advance(name, along_k, -product.k)
                    frame.advance(name, along_batch, 1)
        for number, columns in enumerate(down):
            self._store(number, columns, len(across))

    def _store(self, down: int, columns: int, across: int) -> None:
        """Store the columns of C that lie as rows in the tiles of one vector of B, the last one first."""
        frame, km = self.frame, self.km
        frame.copy("c_walk", self.c)
        frame.advance("c_walk", self.c_n, down * self.side + columns - 1)
        with frame.loop(columns, "row"):
            self.outer.read_row(down, 0 if columns == 1 else frame.read("row"), across)
            if self.product.beta != 0:
                skip = km.asm.forward("overwrite")
                if self.product.beta is None:
                    frame.branch("eq", "beta", 0, skip)
                self.outer.add_row(frame.read("c_walk"), across)
                km.asm.bind(skip)
            self.outer.store_row(frame.read("c_walk"), across)
            frame.advance("c_walk", self.c_n, -1)
