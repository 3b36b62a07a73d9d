"""How C is cut into tiles: bands of rows, each with its own list of blocks of columns, by counting cycles.

What is left of the vectors, often a single one, has a band of its own, and with it tiles of as many columns as the
latency of a multiply-add needs. Where equal blocks leave a narrow one, the blocks of a band differ by one column.

>>> from einloom.kernels.contraction.tiles import plain_demand
>>> from einloom.machine import AVX2
>>> print(*tiling_of(plain_demand(AVX2.vectors, 4, 52, 25, 92)).bands, sep="\\n")
2 x 3 vectors: 6 x 4 + 1 x 1 columns
1 x 1 vectors, the last a part: 1 x 13 + 1 x 12 columns
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, Protocol, TypeVar

from einloom.frozen import frozen
from einloom.kernels.contraction.tiles import Demand, Tile, TileCosts, fastest
from einloom.kernels.parts import parts

__all__ = ["Band", "Blocks", "Tiling", "tiling_of"]

MORE_TILES = 1
"""How many more tiles than the fewest a row is cut into, at most."""

EQUAL = 1.01
"""How much longer a smaller code may take: less than any estimate is worth."""

SLENDER = 2
"""Tiles that are more than so many times as many vectors as columns load too much, unless they have all columns."""

Blocks = tuple[tuple[Tile, int], ...]
"""(tile, how many of them follow each other) from the first column to the last."""


Rows = tuple[int, int, bool]
"""Equal rows of tiles: vectors of each, how many there are, and whether they end in a part of a vector."""


@frozen
class Band:
    """Equal rows of tiles: `count` rows of `vectors` each, cut into blocks of columns.

    Attributes:
        vectors: of a row, a part of one included.
        blocks: of columns.
        count: of rows.
        is_last: whether it is the row that ends in a part of a vector.
    """

    vectors: int
    blocks: Blocks
    count: int
    is_last: bool

    @property
    def columns(self) -> int:
        """Columns of the widest tile."""
        return max((tile.columns for tile, _ in self.blocks), default=0)

    def __str__(self) -> str:
        blocks = " + ".join(f"{count} x {tile.columns}" for tile, count in self.blocks)
        return f"{self.count} x {self.vectors} vectors{', the last a part' * self.is_last}: {blocks} columns"


class _Timed(Protocol):
    """What takes cycles for each product that is summed, and besides, and has so many registers named in its code."""

    @property
    def step(self) -> float: ...
    @property
    def end(self) -> float: ...
    @property
    def code(self) -> int: ...


class _Row(NamedTuple):
    """A row of tiles."""

    step: float
    end: float
    code: int
    blocks: Blocks


class _Cut(NamedTuple):
    """A way to cut C into rows of tiles."""

    step: float
    end: float
    code: int
    rows: list[tuple[Rows, _Row]]


class Tiling(NamedTuple):
    """All bands from the first row to the last.

    Attributes:
        step, end: cycles for each product that is summed, and besides, with everything in L1.
        code: registers that the code of the different tiles names.
        bands: of rows.
    """

    step: float
    end: float
    code: int
    bands: tuple[Band, ...]


T = TypeVar("T", bound=_Timed)


def _best(choices: Iterable[T], steps: int) -> T | None:
    """Return the smallest code of the choices that take hardly longer than the fastest; None: there are none."""
    known = [(each.step * steps + each.end, each) for each in choices]
    if len(known) < 2:
        return known[0][1] if known else None
    most = EQUAL * min([cycles for cycles, _ in known])
    return min([each for cycles, each in known if cycles <= most], key=lambda each: each.code)


@lru_cache(4096)
def tiling_of(demand: Demand, most_columns: int = 32, most_vectors: int = 8) -> Tiling:
    """Return the tiling with the least estimated time."""
    fewest_first = sorted(_cut(demand, most_columns, most_vectors), key=lambda cut: len(cut.rows))
    best = _best(fewest_first, demand.steps)  # A rest in a tile of its own is no faster than with whole vectors.
    assert best is not None, f"no tile fits {demand}"
    bands = [Band(vectors, row.blocks, count, is_last) for (vectors, count, is_last), row in best.rows]
    return Tiling(best.step, best.end, best.code, tuple(bands))


def _cut(demand: Demand, most_columns: int, most_vectors: int) -> Iterator[_Cut]:
    for cut in _row_cuts(demand, most_columns, most_vectors):
        step, end, code = 0.0, 0.0, 0
        rows: list[tuple[Rows, _Row]] = []
        for each in cut:
            vectors, count, is_last = each
            tail, group = (demand.tail, demand.group) if is_last else (0, 1)
            row = _row(demand.costs, vectors, demand.columns, demand.steps, tail, group, most_columns)
            if row is None:
                break
            step, end, code = step + count * row.step, end + count * row.end, code + row.code
            rows.append((each, row))
        else:
            yield _Cut(step, end, code, rows)


@lru_cache(4096)
def _row(costs: TileCosts, vectors: int, columns: int, steps: int, tail: int, group: int, most: int) -> _Row | None:
    """Return the best cut of a row of tiles into columns; None: no tile of so many vectors fits."""
    widest = min(max(columns, 1), most, costs.widest(vectors, group))
    rows: list[_Row] = []
    for cut in _column_cuts(columns, widest) if widest else ():
        step, end, code = 0.0, 0.0, 0
        blocks: list[tuple[Tile, int]] = []
        for width, count in cut:
            cost = fastest(costs, vectors, width, steps, tail, group)
            assert cost is not None, "narrower tiles fit where wider ones do"
            step, end = step + count * cost.step, end + count * cost.end
            code += cost.tile.accumulators + cost.tile.grouped
            blocks.append((cost.tile, count))
        rows.append(_Row(step, end, code, tuple(blocks)))
    return _best(rows, steps)


@lru_cache(1024)
def _column_cuts(size: int, widest: int) -> list[list[tuple[int, int]]]:
    """Return lists of (columns, count): with as few tiles as possible and a few more, no wider than necessary."""
    fewest = max(-(-size // widest), 1)
    counts = range(fewest, min(fewest + MORE_TILES, max(size, 1)) + 1)
    return [cut for count in counts for cut in _cuts(size, max(-(-size // count), 1))]


def _row_cuts(demand: Demand, most_columns: int, most: int) -> Iterator[list[Rows]]:
    """Yield lists of the rows of tiles, from the first to the last."""
    enough = min(demand.columns, most_columns)
    for vectors in range(1, min(max(demand.vectors, 1), most) + 1):
        widest = demand.costs.widest(vectors, 1)
        if vectors > 1 and vectors > SLENDER * widest and widest < enough:
            break
        for cut in _cuts(demand.vectors, vectors):
            rows = [(rows, count, False) for rows, count in cut]
            if demand.tail and rows:
                height, count, _ = rows.pop()
                rows += [(height, count - 1, False)] if count > 1 else []
                rows.append((height, 1, True))
            yield rows


@lru_cache(1024)
def _cuts(size: int, length: int) -> list[list[tuple[int, int]]]:
    """Return lists of (length, count) that cut a range: at multiples of a length, and into as many nearly equal parts.

    >>> _cuts(34, 6)
    [[(6, 5), (4, 1)], [(6, 4), (5, 2)]]
    """
    plain = parts(size, length)
    if size % length == 0:
        return [plain]
    count = -(-size // length)
    short, longer = divmod(size, count)
    even = [(each, times) for each, times in ((short + 1, longer), (short, count - longer)) if times]
    return [plain] if even == plain else [plain, even]
