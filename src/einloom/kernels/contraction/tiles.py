"""Which part of C a microkernel holds in registers: one rule for all kernels, by counting cycles.

>>> from einloom.dtypes import FLOAT32
>>> from einloom.machine import AVX512
>>> choose_tile(FLOAT32, AVX512, 64, 48, 64)
(2, 12)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import inf

from einloom.dtypes import DType
from einloom.kernels.contraction.product import Product
from einloom.kernels.fetch import BROADCAST, STRIDED, VECTOR, Fetch
from einloom.kernels.parts import parts
from einloom.machine import Machine

__all__ = ["Band", "Demand", "Tile", "bands_of", "choose_tile"]

LOADS_PER_CYCLE = 2
FMA_LATENCY = 5
"""Of the processors that einloom runs on: Intel Golden Cove, AMD Zen 4 and 5, Arm Neoverse V1 and V2 (there 4 FMAs).

A product takes 4 cycles; one more stands for those that wait for a unit while the other one is idle.
"""

MOST_SETS = 4

GROUP_END = 1.5
"""Cycles that a column of grouped rows costs at the end of a tile."""

TILE_OVERHEAD = 18
"""Cycles that a tile costs besides its products: fill and drain, address arithmetic, a mispredicted branch."""


@dataclass(frozen=True, slots=True)
class Tile:
    """Registers of C: `vectors` along m times `columns`, in `sets` copies over which the sum is distributed.

    With `group` > 1 there is one more register a column, for rows of which `group` products of k lie side by side, in
    `group_sets` copies.
    """

    vectors: int
    columns: int
    sets: int = 1
    group: int = 1
    group_sets: int = 1

    @property
    def accumulators(self) -> int:
        """Registers of one set of whole vectors."""
        return self.vectors * self.columns

    @property
    def grouped(self) -> int:
        """Registers of grouped rows."""
        return self.columns * self.group_sets if self.group > 1 else 0


@dataclass(frozen=True, slots=True)
class Demand:
    """What decides about a product's tile.

    Attributes:
        vectors: vectors that cover m.
        columns: n.
        steps: products that are summed.
        fragments: (how it is fetched, whether it depends on n) of each input.
        registers: vector registers that there are.
        spare: of them, how many strided accesses need.
        embedded: whether an FMA takes a broadcast element from memory.
        fmas: vector FMAs that a core begins in a cycle.
        lanes: elements of a vector, the cost of a strided access.
        tail: rows in the last vector, 0 for all its lanes.
        group: how many products of k can share a register in the last rows; 1: they cannot.
    """

    vectors: int
    columns: int
    steps: int
    fragments: tuple[tuple[Fetch, bool], ...]
    registers: int
    spare: int
    embedded: bool
    fmas: int
    lanes: int
    tail: int = 0
    group: int = 1

    @staticmethod
    def of(product: Product, machine: Machine) -> Demand:
        """Return the demand of a product on a machine."""
        lanes = machine.vector_bits // 8 // product.dtype.size
        strided = any(o.fetch is STRIDED for o in product.inputs)
        spare = 2 if strided else 0
        if product.c.fetch is STRIDED:
            spare = max(spare, 2)
        fragments = tuple((o.fetch, o.per_column) for o in product.inputs)
        embedded = machine.vectors.embedded_broadcast and product.is_uniform
        vectors = -(-product.m // lanes)
        tail = product.m % lanes
        group = group_size(tail, lanes) if embedded and product.can_group else 1
        return Demand(
            vectors,
            product.n,
            product.steps,
            fragments,
            machine.registers,
            spare,
            embedded,
            machine.vectors.fmas_per_cycle,
            lanes,
            tail,
            group,
        )

    def fragment_registers(self, vectors: int) -> int:
        """Registers that the inputs of one step take beside the accumulators."""
        shared = sum(1 if fetch is BROADCAST else vectors for fetch, per_column in self.fragments if not per_column)
        fetches = [fetch for fetch, per_column in self.fragments if per_column]
        private = len(fetches)
        if fetches == [BROADCAST] and vectors == 1 and self.embedded and not self.spare:
            private = 0  # The FMA takes it from memory.
        return shared + max(private, 1 if self.spare or (not private and not shared) else private) + self.spare

    def load_cycles(self, vectors: int, columns: int) -> float:
        """Cycles that the loads of one step of a tile take; strided ones count for each lane."""
        total = 0
        for fetch, per_column in self.fragments:
            each = 1 if fetch is BROADCAST else vectors if fetch is VECTOR else vectors * self.lanes
            total += each * (columns if per_column else 1)
        return total / LOADS_PER_CYCLE

    def cycles(self, tile: Tile, is_last: bool = False) -> float:
        """Estimate the cycles of a whole tile; the last rows may be a part of a vector."""
        masked = is_last and self.tail > 0 and tile.group == 1
        per_group = (tile.group + 1 + tile.columns) / tile.group if tile.group > 1 else 0.0
        work = tile.accumulators + masked + per_group
        loads = per_group / LOADS_PER_CYCLE + (self.load_cycles(tile.vectors, tile.columns) if tile.vectors else 0.0)
        latency = FMA_LATENCY / tile.sets if tile.vectors else FMA_LATENCY / (tile.group * tile.group_sets)
        step = max(work / self.fmas, loads, latency)
        end = tile.accumulators * (1.0 + (tile.sets - 1) / self.fmas)
        if tile.group > 1:
            end += tile.columns * (GROUP_END + (tile.group_sets - 1) / self.fmas)
        return step * self.steps + end + TILE_OVERHEAD

    def fits(self, tile: Tile) -> bool:
        """Whether the registers suffice; a free one is left where C is added through a mask."""
        fragments = max(self.fragment_registers(tile.vectors) if tile.vectors else 0, 3 if self.spare else 1)
        if tile.group > 1:
            fragments += 2
        return tile.accumulators * tile.sets + tile.grouped + fragments <= self.registers

    def with_sets(self, vectors: int, columns: int, is_last: bool = False) -> Tile | None:
        """Return the best tile with so many rows of vectors, grouped or not, or None if none fits."""
        return self.fastest(vectors, columns, is_last)[1]

    @lru_cache(1024)  # noqa: B019 - of values, and bounded
    def fastest(self, vectors: int, columns: int, is_last: bool = False) -> tuple[float, Tile | None]:
        """Return the estimated cycles of `with_sets`, and the tile."""
        plain = self._distributed(vectors, columns, 1, is_last)
        if not is_last or self.group == 1 or self.steps < 2:
            return plain
        grouped = self._distributed(vectors - 1, columns, self.group, is_last)
        return grouped if grouped[0] < plain[0] else plain

    def _distributed(self, vectors: int, columns: int, group: int, is_last: bool) -> tuple[float, Tile | None]:
        """Return the least cycles, and the tile with the sets that take them; None: not even one set fits."""
        least, best = inf, None
        for sets in range(1, min(MOST_SETS, max(self.steps // group, 1)) + 1):
            tile = Tile(vectors, columns, sets, group) if vectors else Tile(0, columns, 1, group, sets)
            if not self.fits(tile):
                break
            cycles = self.cycles(tile, is_last)
            if cycles >= least:
                break  # More sets only take more time.
            least, best = cycles, tile
        return least, best


def group_size(rows: int, lanes: int) -> int:
    """Return how many products of k share a register of so few rows."""
    if rows == 0 or rows > lanes // 2:
        return 1
    return 4 if lanes == 16 and rows <= 4 else 2


@dataclass(frozen=True, slots=True)
class Band:
    """Equal rows of tiles: `count` rows of `vectors` each, cut into tiles of `columns`; the last may end in a part."""

    vectors: int
    columns: int
    count: int
    is_last: bool


def choose_tile(dtype: DType, machine: Machine, m: int, n: int, k: int) -> tuple[int, int]:
    """Return (vectors of m, columns) of the microkernel of C[m, n] += A B with k products, m contiguous in A and C."""
    lanes = machine.vector_bits // 8 // dtype.size
    fragments = ((VECTOR, False), (BROADCAST, True))
    isa = machine.vectors
    demand = Demand(
        -(-m // lanes), n, k, fragments, isa.registers, 0, isa.embedded_broadcast, isa.fmas_per_cycle, lanes
    )
    band = bands_of(demand)[0]
    return band.vectors, band.columns


@lru_cache(1024)
def bands_of(demand: Demand, most_columns: int = 32, most_vectors: int = 8) -> tuple[Band, ...]:
    """Return the bands of tiles with the least estimated time, the smaller code where that is equal."""
    best: tuple[float, int] | None = None
    choice: tuple[Band, ...] = ()
    cut: dict[tuple[int, bool], tuple[float, int, int] | None] = {}
    for vectors in range(1, min(max(demand.vectors, 1), most_vectors) + 1):
        cost, code = 0.0, 0
        bands: list[Band] = []
        for rows, count, is_last in row_parts(demand, vectors):
            if (rows, is_last) not in cut:
                cut[rows, is_last] = _best_columns(demand, rows, is_last, most_columns)
            found = cut[rows, is_last]
            if found is None:
                break
            cost, code = cost + count * found[0], code + found[1]
            bands.append(Band(rows, found[2], count, is_last))
        else:
            if best is None or (round(cost, 1), code) < best:
                best, choice = (round(cost, 1), code), tuple(bands)
    assert choice, f"no tile fits {demand}"
    return choice


def _best_columns(demand: Demand, rows: int, is_last: bool, most: int) -> tuple[float, int, int] | None:
    """Return (cycles, size of the code, columns) of the best cut of one row of tiles, None if none fits."""
    options: list[tuple[float, int, int]] = []
    for columns in _even_columns(demand, rows, is_last, most):
        tiles = [(*demand.fastest(rows, width, is_last), count) for width, count in parts(demand.columns, columns)]
        cost = sum(count * cycles for cycles, tile, count in tiles if tile is not None)
        code = sum(tile.accumulators + tile.grouped for _, tile, _ in tiles if tile is not None)
        options.append((round(cost, 1), code, columns))
    return min(options, default=None)


def _even_columns(demand: Demand, rows: int, is_last: bool, most: int) -> list[int]:
    """Return widths that cut n into nearly equal parts: the widest that the registers allow and a few narrower ones."""
    n = max(demand.columns, 1)
    widest = min(n, most, demand.registers // rows)
    while widest and demand.with_sets(rows, widest, is_last) is None:
        widest -= 1
    if not widest:
        return []
    fewest = -(-n // widest)
    return list(dict.fromkeys(-(-n // count) for count in range(fewest, 2 * fewest + 2)))[:5]


def row_parts(demand: Demand, vectors: int) -> list[tuple[int, int, bool]]:
    """Return (vectors, count, whether they end in a part of a vector) of the rows of tiles."""
    rows_of = [(rows, count, False) for rows, count in parts(demand.vectors, vectors)]
    if demand.tail and rows_of:
        rows, count, _ = rows_of.pop()
        rows_of += [(rows, count - 1, False)] if count > 1 else []
        rows_of.append((rows, 1, True))
    return rows_of
