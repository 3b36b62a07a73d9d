"""What a kernel needs of each resource, and how long that takes at the resource's best rate.

Resources work at the same time, so their times are compared and never added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil

from einloom.space.device import GpuDevice
from einloom.space.model.counts import Counts, Surroundings
from einloom.space.model.figure import Figure
from einloom.space.model.footprint import SECTOR, sectors
from einloom.space.model.rows import THREAD, VECTOR
from einloom.space.model.tables import Tables
from einloom.space.rates import GpuRates

__all__ = ["Resources"]


class Resources:
    """The throughput terms of a bound: for each resource the seconds, and on request the figures behind them."""

    def __init__(self, tables: Tables, device: GpuDevice, rates: GpuRates) -> None:
        self.device, self.rates, self.warp = device, rates, device.warp
        self.element_words, self.memory_words = device.element_bytes / 4, device.memory_bytes / 4
        backbone = tables.backbone
        arrays = [tuple((backbone.axis[a].size, abs(s)) for a, s in zip(r.axes, r.strides)) for r in backbone.regions]
        self.arrays = [
            Figure(f"sectors of {region.name}", sectors(axes, device.memory_bytes))
            for region, axes in zip(backbone.regions, arrays)
        ]
        touched = sum(each.value for each in self.arrays) * SECTOR
        self.memory_seconds = max(touched - rates.l2_capacity, 0.0) / rates.memory_bandwidth

    def terms(self, counts: Counts, domains: Sequence[int]) -> dict[str, float]:
        """Return the seconds of each resource."""
        rates = self.rates
        issue = arithmetic = accesses = shared = far = 0.0
        for each in counts.around.values():
            issue += each.started
            if each.table.cache < 0:
                arithmetic += each.executions
                continue
            accesses += self._requests(each, domains)
            if self._is_shared(each, domains):
                shared += self._shared_cycles(each)
            elif self._is_far(each, domains):
                far += self._sectors(each, counts, domains)
        cycle = self._share(counts) / (rates.processors * rates.clock)
        return {
            "issue": issue / rates.issue * cycle,
            "arithmetic": arithmetic * self.warp / rates.arithmetic_lanes * cycle,
            "memory instructions": accesses * self.warp / rates.memory_lanes * cycle,
            "shared memory": shared * cycle,
            "L2": far * SECTOR / (rates.l2_bytes * rates.clock),
            "memory": self.memory_seconds,
        }

    def _share(self, counts: Counts) -> float:
        """Return how much more than its share the busiest processor has to do: blocks go to processors whole."""
        least, most = counts.blocks
        processors = self.rates.processors
        if most <= processors:
            return processors / most
        if least == most and not counts.ragged:
            return ceil(most / processors) * processors / most
        return 1.0

    @staticmethod
    def _is_shared(each: Surroundings, domains: Sequence[int]) -> bool:
        return not domains[each.table.space] & ~each.table.shared

    @staticmethod
    def _is_far(each: Surroundings, domains: Sequence[int]) -> bool:
        """Whether a load or store surely goes to L2."""
        table = each.table
        return not domains[table.space] & table.shared and not domains[table.cache] & table.cached

    def _requests(self, each: Surroundings, domains: Sequence[int]) -> float:
        """Return the least requests that the executions of a load or store are.

        What a warp asks of the device's memory is split into requests of 128 bytes (CUDA C programming guide): a
        vector of four words is four requests.
        """
        if domains[each.table.space] & each.table.shared:
            return each.started
        return max(each.started, each.table.instances * each.apart * self.memory_words / self.warp)

    def _shared_cycles(self, each: Surroundings) -> float:
        """Return the cycles that a load or store of shared memory takes to start, and its words without conflicts."""
        words = each.table.instances * each.apart * self.element_words / self.rates.shared_words
        return max(each.started * self.warp / self.rates.memory_lanes, words)

    def _sectors(self, each: Surroundings, counts: Counts, domains: Sequence[int]) -> float:
        """Return the least sectors that a load or store asks of L2."""
        return each.table.instances * each.apart / self._per_sector(each, counts, domains)

    def _per_sector(self, each: Surroundings, counts: Counts, domains: Sequence[int]) -> int:
        """Return the most elements of one sector that one execution touches."""
        whole = SECTOR // self.device.memory_bytes
        steps: list[int] = []
        for kind, stride, inside in each.table.moves:
            if domains[kind] & (THREAD | VECTOR):
                step = stride
                for tile in inside:
                    step *= counts.low[tile]
                if step < whole:
                    steps.append(max(step, 1))
        if not steps:
            return 1
        return whole if len(steps) > 1 else -(-whole // steps[0])

    # -- figures ------------------------------------------------------------------------------------------------------

    def figures(self, counts: Counts, domains: Sequence[int]) -> Iterator[Figure]:
        """Yield a tree for each resource: what every instruction needs, and what one cycle is worth."""
        rates = self.rates
        per_processor = Figure("cycles of all processors a second", rates.processors * rates.clock)
        share = Figure("what the busiest processor has of an even share", self._share(counts))

        def term(name: str, demand: list[Figure], rate: float, common: bool = True) -> Figure:
            second = [share, _inverse(per_processor)] if common else [_inverse(Figure("cycles a second", rates.clock))]
            work = Figure.sum("work", demand)
            return Figure.product(name, [work, _inverse(Figure("work a cycle", rate)), *second])

        def of(which: Callable[[Surroundings], bool], amount: Callable[[Surroundings], float]) -> list[Figure]:
            return [Figure(each.table.name, amount(each)) for each in counts.around.values() if which(each)]

        yield term("issue", of(lambda e: True, lambda e: e.started), rates.issue)
        yield term(
            "arithmetic", of(lambda e: e.table.cache < 0, lambda e: e.executions), rates.arithmetic_lanes / self.warp
        )
        in_memory = of(lambda e: e.table.cache >= 0, lambda e: self._requests(e, domains))
        yield term("memory instructions", in_memory, rates.memory_lanes / self.warp)
        shared = of(
            lambda e: e.table.cache >= 0 and self._is_shared(e, domains),
            self._shared_cycles,
        )
        yield term("shared memory", shared, 1.0)
        far = of(lambda e: e.table.cache >= 0 and self._is_far(e, domains), lambda e: self._sectors(e, counts, domains))
        yield term("L2", far, rates.l2_bytes / SECTOR, common=False)
        yield self._memory()

    def _memory(self) -> Figure:
        held = Figure("sectors that L2 may hold", -self.rates.l2_capacity / SECTOR)
        cold = Figure.largest("sectors", [Figure("none", 0.0), Figure.sum("beyond L2", [*self.arrays, held])])
        rate = Figure("sectors a second", self.rates.memory_bandwidth / SECTOR)
        return Figure.product("memory", [cold, _inverse(rate)])


def _inverse(figure: Figure) -> Figure:
    return Figure(f"1 / ({figure.name}: {figure.value:.4g})", 1 / figure.value)
