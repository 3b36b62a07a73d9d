"""What tiles cost: the part of C that a microkernel holds in registers, and the cycles that it takes, by counting.

A step of the sum takes the most of its multiply-adds, its loads and the latency of one multiply-add;
a tile takes its steps and an end. Kernels cut C by these figures (`bands`), and passes compare schedules by them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from einloom.dtypes import INT8, INT16, LOWERED, RAISED, UINT8
from einloom.frozen import frozen
from einloom.group_products import takes_scalable
from einloom.kernels.contraction.product import Product, group_size
from einloom.kernels.fetch import BROADCAST, STRIDED, VECTOR, Fetch
from einloom.kernels.verbs.products import vectors_of
from einloom.machine import Machine, VectorISA

__all__ = [
    "PLAIN",
    "Cost",
    "Demand",
    "Fragment",
    "Neighbours",
    "Tile",
    "TileCosts",
    "decisive",
    "fastest",
    "plain_demand",
    "plain_demands",
]

FMA_LATENCY = 4
"""Of the processors that einloom runs on: Intel Golden Cove, AMD Zen 4 and 5, Arm Neoverse V1 and V2."""

FMA_SLACK, FMA_WAIT = 6, 0.4
"""Cycles of multiply-adds from which on none waits for another, and the share of what is missing that is waited for.

A multiply-add is bound to one unit before that is free; some wait for it while the other one is idle.
"""

LOADED_FIRST = ((INT8, UINT8), (INT8, RAISED), (UINT8, LOWERED), (INT16, INT16))
"""Groups whose products take no operand from memory, or have one column more."""

LINE = 64
"""Bytes of a cache line."""

MOST_SETS = 4

FAR_VECTOR = 0.25
"""Cycles that a vector of A delays multiply-adds by which each tile of a row fetches from L2 anew."""

MANY = 64
"""From so many products on their number decides about no tile any more: what a sum costs at its end is little."""

GATHERED = 1.5
"""Loads that a lane takes which is gathered, filled or not: eight doubles delay multiply-adds by 5 to 8 cycles."""

TILE_END = 3.0
"""Cycles of a tile besides its products and registers: most of filling and draining overlaps with its neighbours."""


@frozen
class Pace:
    """How fast a core works through a kernel's instructions.

    Attributes:
        loads: that begin in a cycle.
        load: cycles that a load of an element delays multiply-adds by, and half of those of a vector.
        split: further loads that a vector takes, on average, where vectors lie across cache lines.
        register: cycles at the end of a tile for each accumulator: C is loaded, added and stored.
        masked_loads: loads that a masked one takes besides its own.
        masked_register: cycles that a masked register takes longer at the end.
        group_order: multiply-adds that each instruction keeps a core from which brings grouped rows of A into order.
        group_end: cycles that a column of grouped rows costs at the end of a tile.
    """

    loads: float
    load: float
    split: float
    register: float
    masked_loads: float = 0
    masked_register: float = 0
    group_order: float = 0
    group_end: float = 0


PACES = {
    "avx512": Pace(loads=2, load=0.08, split=2, register=1.8, group_order=1, group_end=2),
    "avx2": Pace(loads=2.5, load=0.03, split=0.5, register=0.5, masked_loads=1, masked_register=2, group_end=0.75),
    "neon": Pace(loads=2, load=0.05, split=0.25, register=1),
    "sve": Pace(loads=2, load=0.05, split=0.25, register=1),
}
"""By vector ISA: fitted to random kernels whose operands fit into L1, on one Intel Xeon; for Neon and SVE by analogy.

`benchmarks/kernel_cycles.py` compares them with what a processor takes. `vmaskmov` of AVX2 reads its mask from memory.
Shuffles have a port of their own there, and share one with multiply-adds in AVX-512.
"""

Fragment = tuple[Fetch, bool]
"""How an input is fetched, and whether it depends on n."""

Neighbours: TypeAlias = Literal["n", "k"] | None
"""The axis along which elements of the input that is broadcast are neighbours in memory."""

PLAIN: tuple[Fragment, ...] = ((VECTOR, False), (BROADCAST, True))
"""Of a product whose vectors of m meet one element of each column."""


class Tile(NamedTuple):
    """Registers of C: `vectors` along m times `columns`, in `sets` copies over which the sum is distributed.

    With `group` > 1 there are more registers for a few more rows, in `group_sets` copies: one a column, in which
    `group` products of k lie side by side, or, `across`, one for `group` columns. A `biased` one has one column more,
    whose sums are taken off all others, and kept for the tiles beside it.
    """

    vectors: int
    columns: int
    sets: int = 1
    group: int = 1
    group_sets: int = 1
    biased: bool = False
    across: bool = False

    @property
    def accumulators(self) -> int:
        """Registers of one set of whole vectors."""
        return self.vectors * (self.columns + self.biased)

    @property
    def grouped(self) -> int:
        """Registers of grouped rows."""
        if self.group == 1:
            return 0
        return (-(-self.columns // self.group) if self.across else self.columns) * self.group_sets

    @property
    def together(self) -> int:
        """Consecutive products of k that share a register or go to different ones."""
        return (1 if self.across else self.group) * max(self.sets, self.group_sets)


class Cost(NamedTuple):
    """A tile and its cycles: of each product that is summed, and of all the rest."""

    step: float
    end: float
    tile: Tile


class TileCosts:
    """What the tiles of one kind of product cost on one vector ISA; every tile's cost is derived once.

    Args:
        isa: the vector ISA.
        lanes: elements of a vector.
        fragments: of the inputs.
        spare: vector registers that strided accesses take.
        aligned: whether the vectors of inputs begin where cache lines may end.
        embedded: whether an FMA takes a broadcast element from memory.
        far: whether A's rows are more than L1 holds until the next tile of the row.
        biased: whether the first tile of a row has one column more; that costs little beside all others.
        across: whether it is columns that share a register in grouped rows.
    """

    def __init__(
        self,
        isa: VectorISA,
        lanes: int,
        fragments: tuple[Fragment, ...],
        spare: int,
        aligned: bool,
        embedded: bool,
        far: bool = False,
        biased: bool = False,
        across: bool = False,
    ) -> None:
        self.biased, self.across = biased, across
        self.isa, self.lanes, self.fragments, self.spare, self.embedded = isa, lanes, fragments, spare, embedded
        self.pace = PACES[isa.family]
        self.vector_loads = 1.0 if aligned else 1.0 + self.pace.split
        self.far_vector = FAR_VECTOR if far else 0.0
        shared = [fetch for fetch, per_column in fragments if not per_column]
        private = [fetch for fetch, per_column in fragments if per_column]
        self._shared_elements = shared.count(BROADCAST)
        self._shared_vectors = len(shared) - self._shared_elements
        self._private = max(len(private), 1 if spare or biased or not shared else 0)
        self._needs_no_private = private == [BROADCAST] and embedded and not spare and not (biased or not shared)
        self._known: dict[tuple[int, int, bool, int], tuple[Cost, ...]] = {}

    def of(self, vectors: int, columns: int, masked: bool, group: int) -> tuple[Cost, ...]:
        """Return the costs of the tiles with one set of accumulators, two sets and so on, as long as it makes sense.

        Args:
            vectors: whole ones, the masked one included.
            columns: of the tile.
            masked: whether the last vector is a part of one.
            group: products or columns that share a register in the rows behind the vectors; 1: there are no such rows.
        """
        key = (vectors, columns, masked, group)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = tuple(self._distributed(*key))
        return known

    @lru_cache(256)  # noqa: B019 - there are few kinds of products, and they are kept
    def widest(self, vectors: int, group: int) -> int:
        """Return how many columns tiles of so many rows may have at most, with grouped rows or without; 0: none fits.

        With `group` > 1 the last of the vectors may be grouped rows instead.
        """
        for columns in range(self.isa.registers // vectors, 0, -1):
            if self.fits(self._tile(vectors, columns, 1, 1)):
                return columns
            if group > 1 and self.fits(self._tile(vectors - 1, columns, 1, group)):
                return columns
        return 0

    def _distributed(self, vectors: int, columns: int, masked: bool, group: int) -> list[Cost]:
        costs: list[Cost] = []
        for sets in range(1, MOST_SETS + 1):
            tile = self._tile(vectors, columns, sets, group)
            if not self.fits(tile):
                break
            cost = self._cost(tile, masked)
            if costs and cost.step >= costs[-1].step:
                break  # More sets only take more time.
            costs.append(cost)
            if cost.step >= FMA_SLACK / self._chains(tile):
                break  # No multiply-add waits for another as it is.
        return costs

    def _tile(self, vectors: int, columns: int, sets: int, group: int) -> Tile:
        """Return the tile whose sums are distributed over so many sets of accumulators."""
        across = self.across and group > 1
        if vectors:
            return Tile(vectors, columns, sets, group, sets if across else 1, self.biased, across)
        return Tile(0, columns, 1, group, sets, across=across)

    def fits(self, tile: Tile) -> bool:
        """Whether the registers suffice; a free one is left where C is added through a mask."""
        fragments = max(self._fragment_registers(tile.vectors) if tile.vectors else 0, 3 if self.spare else 1)
        if tile.group > 1:
            fragments = max(fragments, 2) + 1  # `GroupedRows` borrows two.
        return tile.accumulators * tile.sets + tile.grouped + fragments <= self.isa.registers

    def _fragment_registers(self, vectors: int) -> int:
        """Registers that the inputs of one step take beside the accumulators."""
        # An FMA takes the element of a column from memory, unless several vectors share it.
        private = 0 if self._needs_no_private and vectors == 1 else self._private
        return self._shared_elements + self._shared_vectors * vectors + private + self.spare

    def _cost(self, tile: Tile, masked: bool) -> Cost:
        pace, fmas, group = self.pace, self.isa.fmas_per_cycle, tile.group
        orders, grouped = self._per_group(tile)
        loads = orders + grouped + (self._loads(tile, masked) if tile.vectors else 0.0)
        chains = self._chains(tile)
        sums = tile.vectors * tile.columns
        busy = (sums + grouped + orders * pace.group_order) / fmas + (loads + tile.vectors) * pace.load
        busy += tile.vectors * self.far_vector
        busy += FMA_WAIT * max(FMA_SLACK / chains - busy, 0.0)
        step = max(busy, loads / pace.loads, FMA_LATENCY / chains)
        end = TILE_END + sums * (pace.register + (tile.sets - 1) / fmas)
        end += tile.columns * pace.masked_register if masked else 0.0
        if group > 1:
            end += tile.columns * pace.group_end + tile.grouped * (1 - 1 / tile.group_sets) / fmas
        return Cost(step, end, tile)

    @staticmethod
    def _chains(tile: Tile) -> int:
        """Return how many multiply-adds follow each other in a row before one needs the result of the first."""
        return tile.sets if tile.vectors else tile.group_sets * (1 if tile.across else tile.group)

    @staticmethod
    def _per_group(tile: Tile) -> tuple[float, float]:
        """Return what fetches A's grouped rows in a step of the sum and brings them into order, and their products."""
        if tile.group == 1:
            return 0.0, 0.0
        if tile.across:
            return 1.0, -(-tile.columns // tile.group)
        return (tile.group + 1) / tile.group, tile.columns / tile.group

    def _loads(self, tile: Tile, masked: bool) -> float:
        """Return the loads of a step; strided ones count for each lane."""
        loads = 0.0
        for fetch, per_column in self.fragments:
            each = 1.0
            if fetch is VECTOR:
                each = tile.vectors * self.vector_loads + (self.pace.masked_loads if masked else 0.0)
            elif fetch is STRIDED:
                each = GATHERED * tile.vectors * self.lanes
            loads += each * tile.columns if per_column else each
        return loads


class BlockCosts(TileCosts):
    """The same where a register is a block of two rows by two columns, or the operands of one: 8 bytes of k each."""

    def fits(self, tile: Tile) -> bool:
        return tile.vectors * (-(-tile.columns // 2) * 2 * tile.sets + 2) + 2 + self.spare <= self.isa.registers

    def _loads(self, tile: Tile, masked: bool) -> float:
        return 2 * tile.vectors + -(-tile.columns // 2)


tile_costs = lru_cache(64)(TileCosts)
block_costs = lru_cache(64)(BlockCosts)


class Demand(NamedTuple):
    """What decides about a product's tiles.

    Attributes:
        costs: of the tiles of its kind.
        vectors: vectors that cover m.
        columns: n.
        steps: products that are summed, as `decisive` counts them.
        tail: rows in the last vector, 0 for all its lanes.
        group: how many products of k, or columns, can share a register in the last rows; 1: they cannot.
    """

    costs: TileCosts
    vectors: int
    columns: int
    steps: int
    tail: int = 0
    group: int = 1

    @staticmethod
    def of(product: Product, machine: Machine, in_order: bool) -> Demand:
        """Return the demand of a product on a machine; `in_order` as `vectors_of` takes it."""
        isa, size = machine.vectors, product.dtype.size
        if product.groups is not None:
            in_order = in_order and takes_scalable(product.groups, machine)
        isa = vectors_of(isa, product.dtype, product.groups, in_order)
        lanes = isa.bits // 8 // size
        strided = STRIDED in [operand.fetch for operand in (*product.inputs, product.c)]
        fragments = tuple((o.fetch, o.per_column) for o in product.inputs)
        steps = [(o.strides[2], o.dtype.size) for o in product.inputs if o.fetch is VECTOR]
        aligned = not any(isinstance(step, int) and step * each % LINE for step, each in steps)
        embedded = isa.embedded_broadcast and product.is_uniform and product.groups not in LOADED_FIRST
        far = product.m * product.steps * size > machine.l1d
        costs_of = block_costs if product.has_blocks else tile_costs
        across = product.can_share
        costs = costs_of(isa, lanes, fragments, 2 if strided else 0, aligned, embedded, far, product.is_biased, across)
        tail = product.m % lanes
        shares = isa.shares_registers and product.groups not in LOADED_FIRST and (across or product.can_group)
        group = group_size(tail, lanes) if shares else 1
        return Demand(costs, -(-product.m // lanes), product.n, decisive(product.steps), tail, group)


def decisive(steps: int) -> int:
    """Return for how many products tiles are chosen that sum so many: what hardly differs is decided once."""
    return min(steps if steps < 4 else 1 << steps.bit_length() - 1, MANY)


def plain_demands(
    isa: VectorISA, size: int, fragments: tuple[Fragment, ...] = PLAIN, neighbours: Neighbours = None
) -> Callable[[int, int, int], Demand]:
    """Return what says the demand of m x n sums of so many products, of which no more is known than this.

    Args:
        isa: the vector ISA; m is vectorised.
        size: of an element in bytes.
        fragments: of the inputs; vectors that are not put together from single elements begin where cache lines do.
        neighbours: of what is broadcast, by which a few rows can share registers.
    """
    lanes = isa.bits // 8 // size
    strided = any(fetch is STRIDED for fetch, _ in fragments)
    spare, across = 2 if strided else 0, neighbours == "n"
    costs = tile_costs(isa, lanes, fragments, spare, True, isa.embedded_broadcast, False, False, across)
    shares = neighbours is not None and isa.shares_registers and set(fragments) == set(PLAIN)

    def demand(m: int, n: int, steps: int) -> Demand:
        tail = m % lanes
        return Demand(costs, -(-m // lanes), n, decisive(steps), tail, group_size(tail, lanes) if shares else 1)

    return demand


def plain_demand(isa: VectorISA, size: int, m: int, n: int, steps: int) -> Demand:
    """Return the demand of a product of which nothing but its sizes is known."""
    return plain_demands(isa, size)(m, n, steps)


def fastest(costs: TileCosts, vectors: int, columns: int, steps: int, tail: int, group: int) -> Cost | None:
    """Return the cost of the best tile with so many rows of vectors for a sum of so many products; None: none fits.

    Args:
        costs: of the tiles of the product's kind.
        vectors, columns: of the tile.
        steps: products that are summed.
        tail, group: of the last row, as in `Demand`; 0 and 1 of the others.
    """
    masked = tail & (tail - 1) > 0
    found = costs.of(vectors, columns, masked, 1)[: max(steps, 1)]
    if group > 1 and (steps > 1 or costs.across):
        found += costs.of(vectors - 1, columns, False, group)[: max(steps // (1 if costs.across else group), 1)]
    if len(found) == 1:
        return found[0]
    return min(found, key=lambda cost: cost.step * steps + cost.end, default=None)
