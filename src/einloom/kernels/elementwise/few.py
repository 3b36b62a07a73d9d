"""Transpositions of a few columns or rows whose elements follow each other in memory: pixels of a few channels.

A square block of registers would be empty for the most part. Here every vector of B takes its lanes from the few
vectors of A that hold them.

Let there be 3 columns. Where B holds them side by side, r being rows and vectors having 4 lanes,

    A  r0 r1 r2 r3   B  r0 s0 t0 r1
       s0 s1 s2 s3      s1 t1 r2 s2
       t0 t1 t2 t3      t2 r3 s3 t3

and where A does, the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic

from einloom.kernels.elementwise.columns import Block, Matrix
from einloom.kernels.parts import parts
from einloom.kernels.verbs.frame import Frame
from einloom.kernels.verbs.scalar import A, R, ScalarVerbs
from einloom.kernels.verbs.vector import CopyVerbs, Mask, V

__all__ = ["Few", "joins_few"]

MOST = 6
"""So many elements at most, and half of the lanes: each vector of B takes a shuffle less than there are vectors of A,
and from there on those of square blocks are fewer."""


def joins_few(block: Block, vec: CopyVerbs[R, V, A]) -> bool | None:
    """Return whether B holds a few elements side by side, or else A does; None: neither, or vectors cannot take lanes.

    A is contiguous along m, B along n.
    """
    most = 0 if vec.pick is None else min(MOST, vec.lanes // 2)
    if block.n <= most and block.strides["b"] == (block.n, 1):
        return True
    return False if block.m <= most and block.strides["a"] == (1, block.m) else None


class Few(Generic[R, V, A]):
    """The loop over blocks of as many vectors as there are elements side by side.

    Args:
        km: emits the code.
        vec: its verbs of copying.
        frame: holds the pointers and the counter `m`.
        size: (m, n).
        a, b: A, contiguous along m, and B, contiguous along n.
        joins: whether B holds elements side by side, else A does.
        apply: works on one register in place.
    """

    def __init__(
        self,
        km: ScalarVerbs[R, A],
        vec: CopyVerbs[R, V, A],
        frame: Frame[R, A],
        size: tuple[int, int],
        a: Matrix,
        b: Matrix,
        joins: bool,
        apply: Callable[[list[V], list[V]], V],
    ) -> None:
        self.km, self.vec, self.frame, self.joins = km, vec, frame, joins
        self.along = 0 if joins else 1  # the axis of which there is more
        self.many, self.few = size[self.along], size[1 - self.along]
        self.a, self.b, self.apply = a, b, apply

    def emit(self) -> None:
        """Emit the loop; the pointers end behind the last block."""
        for count, times in parts(self.many, self.vec.lanes):
            with self.frame.loop(times, "m"):
                self._block(count)
                for matrix in (self.a, self.b):
                    self.frame.advance(matrix.name, matrix.strides[self.along], count)

    def _block(self, count: int) -> None:
        """Transpose `count` rows of the few columns, or columns of the few rows."""
        vec, free = self.vec, list(self.vec.registers)
        sources = [free.pop(0) for _ in range(self.few)]
        for source, (base, offset, mask) in zip(sources, self._vectors(self.a, not self.joins, count)):
            vec.load(source, self.km.place(base, offset), mask)
        target = free.pop(0)
        for number, (base, offset, mask) in enumerate(self._vectors(self.b, self.joins, count)):
            self._pick(target, sources, self._lanes(number, count), free)
            result = self.apply([target], free)
            vec.store(self.km.place(base, offset), result, mask, temporary=free[0])

    def _pick(self, target: V, sources: Sequence[V], lanes: Sequence[int], free: Sequence[V]) -> None:
        assert self.vec.pick is not None
        self.vec.pick(target, sources, lanes, free[:2])

    def _lanes(self, number: int, count: int) -> list[int]:
        """Return where the lanes of a vector of B lie in those of A, counted through; of lanes beyond the last, any."""
        lanes, few = self.vec.lanes, self.few
        if self.joins:
            places = [divmod(number * lanes + lane, few) for lane in range(lanes)]
            return [column * lanes + row if row < count else 0 for row, column in places]
        return [lane * few + number if lane < count else 0 for lane in range(lanes)]

    def _vectors(self, matrix: Matrix, side_by_side: bool, count: int) -> Iterator[tuple[R, int, Mask]]:
        """Yield (base, offset, mask) of the vectors of a matrix in a block."""
        lanes = self.vec.lanes
        if not side_by_side:
            mask = self.vec.mask(count)
            for base, offset in self.frame.walk(matrix.name, matrix.strides[1 - self.along], self.few, self.km.reach):
                yield base, offset, mask
            return
        base, elements = self.frame.read(matrix.name), count * self.few
        for first in range(0, elements, lanes):
            yield base, first * matrix.element, self.vec.mask(min(lanes, elements - first))
