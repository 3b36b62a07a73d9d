"""How long one block takes at least, whatever the throughput: chains of values that wait for each other.

A warp starts its instructions in order across the edges of a loop's iterations; inside of one iteration, unrolled
copies included, only values bind. So an iteration lasts at least from its beginning to the start of its last
instruction, along the longest chain of values in it, and a loop at least as many iterations. A level is a set of loops
that are surely around something; what surely stands inside all of them belongs to each of their iterations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil

from einloom.space.model.counts import Counts, Surroundings
from einloom.space.model.figure import Figure
from einloom.space.model.tables import Tables
from einloom.space.rates import GpuRates

__all__ = ["Latency"]

STORE_LATENCY = 1.0
"""Cycles until a load of the same warp sees what a store to shared memory wrote: it starts behind it."""


@dataclass(slots=True)
class _Level:
    """One iteration of a set of loops.

    Attributes:
        loops, tiles: the loops and their tiles, as masks.
        length: least cycles from its beginning to the start of its last instruction.
        first: when each instruction first starts, by number.
        iterations: least number of iterations that all warps of the grid run together.
    """

    loops: int
    tiles: int
    length: float
    first: dict[int, float]
    iterations: float


class Latency:
    """The latency terms of a bound."""

    def __init__(self, tables: Tables, rates: GpuRates) -> None:
        self.tables, self.rates, self.warp = tables, rates, tables.device.warp
        self._tiles: dict[int, int] = {0: 0}

    def terms(self, counts: Counts, domains: Sequence[int]) -> dict[str, float]:
        """Return the seconds that waves of blocks take, and those that all warps spend in the places for warps."""
        levels = self._levels(counts, domains)
        waves = self.waves(counts) * max(self._cycles(counts, levels).values())
        warps = max(level.iterations * level.length for level in self._lasting(levels, counts, domains))
        return {"latency": waves / self.rates.clock, "warps in flight": warps / self._places(counts) / self.rates.clock}

    def figures(self, counts: Counts, domains: Sequence[int]) -> list[Figure]:
        """Return the trees of the same."""
        levels = self._levels(counts, domains)
        cycles = Figure.largest("cycles of a block", [Figure(*each) for each in self._cycles(counts, levels).items()])
        waves = Figure(f"waves of {self.resident(counts)} blocks a processor", self.waves(counts))
        cycle = Figure(f"1 / (cycles a second: {self.rates.clock:.4g})", 1 / self.rates.clock)
        lasting = self._lasting(levels, counts, domains)
        longest = max(lasting, key=lambda level: level.iterations * level.length)
        spent = [Figure("iterations of warps", longest.iterations), Figure("cycles of one", longest.length)]
        places = self._places(counts)
        place = Figure(f"1 / (warps at a time: {places:.4g})", 1 / places)
        return [
            Figure.product("latency", [waves, cycles, cycle]),
            Figure.product("warps in flight", [*spent, place, cycle]),
        ]

    def _cycles(self, counts: Counts, levels: Sequence[_Level]) -> dict[str, float]:
        """Return the least cycles of a block: of the chains of values, and of one warp's instructions."""
        issue = sum(each.serial / each.joined for each in counts.around.values()) / self.rates.warp_issue
        chains = max(self._iterations(level.tiles, counts.low) * level.length for level in levels)
        return {"chains of values": chains, "instructions of a warp": issue}

    def waves(self, counts: Counts) -> float:
        """Return how many blocks the busiest place for a block surely runs, one after the other."""
        return max(ceil(counts.blocks[0] / (self.rates.processors * self.resident(counts))), 1)

    def resident(self, counts: Counts) -> int:
        """Return the most blocks that a processor holds at a time."""
        rates, warps = self.rates, ceil(counts.threads[0] / self.warp)
        registers = counts.registers * self.warp * warps
        found = min(rates.max_blocks, rates.max_warps // warps, int(rates.registers // registers))
        if counts.shared_bytes:
            found = min(found, int(rates.shared_capacity // counts.shared_bytes))
        return max(found, 1)

    def _places(self, counts: Counts) -> float:
        """Return the most warps that all processors hold at a time."""
        rates, warps = self.rates, ceil(counts.threads[1] / self.warp)
        by_registers = max(rates.registers // (counts.registers * self.warp), 1)
        return rates.processors * max(min(rates.max_warps, self.resident(counts) * warps, by_registers), 1)

    def _levels(self, counts: Counts, domains: Sequence[int]) -> list[_Level]:
        """Return the levels of loops, those inside others first."""
        latency = {number: self._latency(each, domains) for number, each in counts.around.items()}
        found: list[_Level] = []
        for loops in self._loops(counts):
            found.append(self._level(loops, counts, latency, found))
        return found

    def _lasting(self, levels: list[_Level], counts: Counts, domains: Sequence[int]) -> list[_Level]:
        """Return the levels without what extensions added: their iterations never become fewer by a decision."""
        kernel = {number: each for number, each in counts.around.items() if not each.table.need}
        if len(kernel) == len(counts.around):
            return levels
        return self._levels(replace(counts, around=kernel), domains)

    def _loops(self, counts: Counts) -> list[int]:
        """Return sets of loops around something, with their parts in common, the largest first."""
        around = {each.loops for each in counts.around.values()}
        around |= {a & b for a in around for b in around} | {0, _common(around)}
        return sorted(around, key=int.bit_count, reverse=True)

    def _level(self, loops: int, counts: Counts, latency: dict[int, float], inner: Sequence[_Level]) -> _Level:
        tiles = self._tiles_of(loops)
        inside = [counts.around[number] for number in self.tables.sequence if self._is_inside(number, loops, counts)]
        first: dict[int, float] = {}
        last: dict[int, float] = {}
        for each in inside:
            number = each.table.number
            begin = end = 0.0
            for producer in each.table.producers:
                if producer in first:
                    begin = max(begin, first[producer] + latency[producer])
                    end = max(end, last[producer] + latency[producer])
            first[number] = begin
            last[number] = max(end, begin + self._duration(each, loops, tiles, counts, latency, inner))
        return _Level(loops, tiles, max(last.values(), default=0.0), first, _grid_iterations(inside, loops))

    @staticmethod
    def _is_inside(number: int, loops: int, counts: Counts) -> bool:
        each = counts.around.get(number)
        return each is not None and not loops & ~each.loops

    def _duration(
        self,
        each: Surroundings,
        loops: int,
        tiles: int,
        counts: Counts,
        latency: dict[int, float],
        inner: Sequence[_Level],
    ) -> float:
        """Return the least time from the first to the last start of an instruction in one iteration of `loops`."""
        table, low = each.table, counts.low
        found = 0.0
        if table.reduced:
            steps = table.steps / self._iterations(table.reduced & tiles, counts.high)
            chains = self._iterations(each.looped & ~tiles & ~table.reduced, low)
            found = chains * max(steps - 1, 0.0) * latency[table.number]
        for level in inner:
            if level.loops != loops and not loops & ~level.loops and not level.loops & ~each.loops:
                count = self._iterations(level.tiles & ~tiles, low)
                if count > 1:
                    found = max(found, (count - 2) * level.length + level.first[table.number])
        return found

    def _iterations(self, tiles: int, sizes: Sequence[int]) -> float:
        product = 1.0
        while tiles:
            lowest = tiles & -tiles
            product *= sizes[lowest.bit_length() - 1]
            tiles ^= lowest
        return product

    def _tiles_of(self, loops: int) -> int:
        if loops not in self._tiles:
            lowest = loops & -loops
            self._tiles[loops] = self._tiles_of(loops ^ lowest) | 1 << self.tables.tile_of[lowest.bit_length() - 1]
        return self._tiles[loops]

    def _latency(self, each: Surroundings, domains: Sequence[int]) -> float:
        """Return the least cycles from the start of an instruction to that of one that reads its value."""
        table, rates = each.table, self.rates
        if table.cache < 0:
            return rates.arithmetic_latency
        if table.operator == "store":
            return STORE_LATENCY
        space, cache = domains[table.space], domains[table.cache]
        found = [rates.shared_latency] if space & table.shared else []
        if space & ~table.shared:
            found += [rates.cached_latency] if cache & table.cached else []
            found += [rates.l2_latency] if cache & ~table.cached else []
        return min(found)


def _grid_iterations(inside: Sequence[Surroundings], loops: int) -> float:
    """Return how often all warps of the grid together run an iteration of some loops.

    One iteration holds as many executions of an instruction as other dimensions may make in it. A dimension that may
    yet become a loop, and cannot be unrolled, makes none if it stands around everything here: its iterations would
    repeat this level's.
    """
    common = _common(each.outside for each in inside)
    found = 0.0
    for each in inside:
        count = each.table.instances / (each.lanes * each.width)
        for bit, size, holds in each.copied:
            if not bit & loops and (holds or not bit & common):
                count /= size
        for size, bits, holding in each.repeating:
            if bits & (loops | common & ~holding):
                count *= size
        found = max(found, count)
    return found


def _common(masks: Iterable[int]) -> int:
    """Return what all masks have."""
    found = -1
    for mask in masks:
        found &= mask
    return found
