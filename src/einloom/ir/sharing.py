"""How iterations are shared among threads: the clauses of a parallel loop, and grids of threads.

Pure arithmetic on trip counts, the same for the interpreter, for generated code and for what is drawn.

>>> [list(piece) for piece in Clause(Policy.STATIC).share(5, thread=1, threads=2)]
[[2, 3, 4]]
>>> Grid(rows=4, columns=2).index(5, Dimension.ROWS), Grid(rows=4, columns=2).index(5, Dimension.COLUMNS)
(2, 1)
>>> Ways(Dimension.ROWS, 4).share(10, index=3)
range(9, 10)
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from einloom.frozen import frozen

__all__ = ["THREAD", "Clause", "Dimension", "Grid", "Policy", "Team", "Ways"]

THREAD = "thread"
"""The coordinate of a thread that is its number; the others are the dimensions of the grid."""


class Policy(StrEnum):
    """How threads come by the iterations of a parallel loop, as in OpenMP."""

    STATIC = "static"
    DYNAMIC = "dynamic"
    GUIDED = "guided"


@frozen
class Clause:
    """The `schedule` clause of a parallel loop.

    Attributes:
        policy: static: who computes what is known beforehand. Dynamic and guided: threads take pieces as they come.
        chunk: iterations of a piece; the last one may have fewer, those of `guided` have at least so many. None: one
            piece for each thread, of sizes that differ by 1 at most (static); 1 (dynamic, guided).
    """

    policy: Policy = Policy.STATIC
    chunk: int | None = None

    def __str__(self) -> str:
        return f"schedule({self.policy})" if self.chunk is None else f"schedule({self.policy},{self.chunk})"

    @property
    def is_static(self) -> bool:
        """Whether an iteration belongs to the same thread every time."""
        return self.policy is Policy.STATIC

    def pieces(self, trips: int, threads: int) -> Iterator[range]:
        """Yield the pieces of `trips` iterations in the order in which they are handed out."""
        if self.is_static and self.chunk is None:
            for thread in range(threads):
                yield range(trips * thread // threads, trips * (thread + 1) // threads)
            return
        least, start = self.chunk or 1, 0
        while start < trips:
            size = max(least, -(-(trips - start) // threads)) if self.policy is Policy.GUIDED else least
            yield range(start, min(start + size, trips))
            start += size

    def share(self, trips: int, thread: int, threads: int) -> Iterator[range]:
        """Yield the pieces of one thread: every `threads`-th one from its own on.

        That is exact for static pieces. Where threads take them as they come it is what threads of equal speed do.
        """
        for number, piece in enumerate(self.pieces(trips, threads)):
            if number % threads == thread:
                yield piece


class Dimension(StrEnum):
    """A dimension of a grid of threads."""

    ROWS = "R"
    COLUMNS = "C"
    LAYERS = "L"


@frozen
class Ways:
    """A loop whose iterations are cut into as many runs as a dimension of the grid has teams: `{R:16}`."""

    dimension: Dimension
    count: int

    def __str__(self) -> str:
        return f"{{{self.dimension}:{self.count}}}"

    def share(self, trips: int, index: int) -> range:
        """Return the iterations of team `index`: a run of ceil(trips / ways), or what is left of them."""
        size = -(-trips // self.count)
        return range(min(index * size, trips), min((index + 1) * size, trips))


@frozen
class Grid:
    """Threads in rows, columns and layers. Columns are neighbours, then rows, then layers."""

    rows: int = 1
    columns: int = 1
    layers: int = 1

    @property
    def threads(self) -> int:
        """How many threads the grid has."""
        return self.rows * self.columns * self.layers

    def index(self, thread: int, dimension: Dimension) -> int:
        """Return the team along a dimension that a thread belongs to."""
        if dimension is Dimension.COLUMNS:
            return thread % self.columns
        if dimension is Dimension.ROWS:
            return thread // self.columns % self.rows
        return thread // (self.columns * self.rows)

    @staticmethod
    def of(ways: tuple[Ways, ...]) -> Grid:
        """Return the grid of the ways of a nest, each dimension of which stands once at most."""
        counts = {each.dimension: each.count for each in ways}
        return Grid(*(counts.get(dimension, 1) for dimension in Dimension))


@frozen
class Team:
    """The logical threads of a nest: how many, in which grid, and how parallel loops are handed out to them."""

    threads: int = 1
    grid: Grid | None = None
    clause: Clause = Clause()

    def coordinate(self, thread: int, name: str) -> int:
        """Return a thread's number, or its team along a dimension of the grid."""
        return thread if name == THREAD else (self.grid or Grid()).index(thread, Dimension(name))

    def __str__(self) -> str:
        grid = self.grid
        shape = "" if grid is None else f" in a grid of {grid.rows} x {grid.columns} x {grid.layers}"
        return f"{self.threads} threads{shape}, {self.clause}"
