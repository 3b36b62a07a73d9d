"""A machine that runs a nest one thread at a time and charges exactly the resources that the model knows.

It shares no code with the model: it counts on the decoded nest, with its loops' indices, what the model infers from
domains. It overlaps everything that it may, so no implementation is slower here than it has to be.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import product
from math import ceil

from einloom.ir.nest import Loop, Nest, Node
from einloom.ir.statement import Barrier, LoopKind, Place, Statement
from einloom.space.assignment import Assignment
from einloom.space.decode import decode
from einloom.space.device import VECTOR_BYTES, GpuDevice

WARP, SECTOR = 32, 32
Index = dict[str, int]


def run(leaf: Assignment, device: GpuDevice) -> dict[str, float]:
    """Return the seconds of each resource; the time is the largest."""
    return Toy(leaf, decode(leaf), device).seconds()


@dataclass
class Toy:
    """One implementation on one device."""

    leaf: Assignment
    nest: Nest
    device: GpuDevice
    demand: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    touched: set[tuple[str, int]] = field(default_factory=set)
    blocks: int = 0
    block_cycles: float = 0.0

    def seconds(self) -> dict[str, float]:
        """Return the seconds of each resource."""
        rates = self.device.rates
        assert rates is not None
        self._blocks(self.nest.body, {})
        busiest = ceil(self.blocks / rates.processors) / self.blocks if self._is_even() else 1 / rates.processors
        busiest = max(busiest, 1 / self.blocks)
        cycle = busiest / rates.clock
        demand = self.demand
        cold = max(len(self.touched) * SECTOR - rates.l2_capacity, 0)
        waves = ceil(self.blocks / (rates.processors * self._resident()))
        return {
            "issue": demand["issue"] / rates.issue * cycle,
            "arithmetic": demand["arithmetic"] * WARP / rates.arithmetic_lanes * cycle,
            "memory instructions": demand["memory"] * WARP / rates.memory_lanes * cycle,
            "shared memory": demand["shared"] * cycle,
            "L2": demand["L2"] * SECTOR / (rates.l2_bytes * rates.clock),
            "memory": cold / rates.memory_bandwidth,
            "latency": waves * self.block_cycles / rates.clock,
            "warps in flight": waves * self.block_cycles / rates.clock,
        }

    def _is_even(self) -> bool:
        """Whether all blocks do the same: no tile sticks out."""
        return all(axis.size % self.leaf.tiling(axis.name) == 0 for axis in self.leaf.backbone.axes)

    def _resident(self) -> int:
        """Return how many blocks a processor holds at a time."""
        rates = self.device.rates
        assert rates is not None
        warps = ceil(self._threads() / WARP)
        places = [
            rates.max_blocks,
            rates.max_warps // warps,
            int(rates.registers // (self._registers() * WARP * warps)),
        ]
        if shared := self._shared_bytes():
            places.append(rates.shared_capacity // shared)
        return max(min(places), 1)

    def _threads(self) -> int:
        """Return the threads of a block: one extent for each hardware dimension."""
        names = [name for name, d in self.leaf.dimensions.items() if d.static and self.leaf.kind(name) == "THREAD"]
        extents: dict[int, int] = {}
        for name in names:
            inner = [other for other in names if other != name]
            place = sum(self.leaf.value("thread_level", name, other) == "OUTER" for other in inner)
            extents[place] = self.leaf.extent(name)
        count = 1
        for extent in extents.values():
            count *= extent
        return count

    def _registers(self) -> int:
        """Return the registers of a thread that hold results of a reduction."""
        most = 1
        for each in self.leaf.instructions.values():
            count = 1
            for name in each.dimensions:
                if each.reduced and name not in each.reduced and self.leaf.kind(name) == "UNROLL":
                    count *= self.leaf.extent(name)
            most = max(most, count)
        return most

    def _shared_bytes(self) -> int:
        names = [t.region.name for t in self.leaf.temporaries]
        shared = {name for name in names if self.leaf.value("mem_space", name) == "SHARED"}
        sizes = {b.name: b.size for b in self.nest.buffers}
        return sum(self.device.element_bytes * (sizes[name] or 0) for name in shared)

    def _blocks(self, nodes: tuple[Node, ...], index: Index) -> None:
        """Run every block of the grid: block loops stand outside of everything."""
        if len(nodes) == 1 and isinstance(nodes[0], Loop) and nodes[0].kind is LoopKind.BLOCK:
            for i in range(nodes[0].trips):
                self._blocks(nodes[0].body, index | {nodes[0].name: i})
            return
        self.blocks += 1
        self._count(nodes, index, [], [])
        clock = Clock(self)
        clock.run(nodes, index)
        self.block_cycles = max(self.block_cycles, clock.now, clock.serial / self.rates.warp_issue)

    @property
    def rates(self):
        """The device's rates."""
        assert self.device.rates is not None
        return self.device.rates

    # -- throughput ---------------------------------------------------------------------------------------------------

    def _count(self, nodes: tuple[Node, ...], index: Index, threads: list[Loop], loops: list[Loop]) -> None:
        for node in nodes:
            if isinstance(node, Statement):
                self._execute(node, index, threads, None, 1 / self.joined(node, loops))
            elif isinstance(node, Loop) and node.kind is LoopKind.THREAD:
                self._count(node.body, index, [*threads, node], loops)
            elif isinstance(node, Loop) and node.kind is LoopKind.VECTOR:
                held = node.body[0]
                assert isinstance(held, Statement)
                self._execute(held, index, threads, node, 1 / self.joined(held, [*loops, node]))
            elif isinstance(node, Loop):
                for i in range(node.trips):
                    self._count(node.body, index | {node.name: i}, threads, [*loops, node])

    def joined(self, statement: Statement, loops: list[Loop]) -> int:
        """Return how many iterations of a load or store of shared memory a compiler makes one: those side by side."""
        if "shared" not in statement.flags:
            return 1
        place = statement.output if statement.operator == "store" else statement.inputs[0]
        assert isinstance(place, Place)
        strides, width, alone = dict(place.terms), 1, 1
        for loop in reversed(loops):
            if loop.kind is LoopKind.VECTOR:
                width = alone = loop.trips
            elif strides.get(loop.name) == width and width * loop.trips * self.device.element_bytes <= VECTOR_BYTES:
                width *= loop.trips
        return width // alone

    def _execute(
        self, statement: Statement, index: Index, threads: list[Loop], vector: Loop | None, share: float
    ) -> None:
        """Charge one statement for all threads that run it: warps by the order of their numbers."""
        warps: dict[int, list[Index]] = defaultdict(list)
        for number, indices in enumerate(product(*(range(loop.trips) for loop in threads))):
            here = index | {loop.name: i for loop, i in zip(threads, indices)}
            lanes = [here | {vector.name: i} for i in range(vector.trips)] if vector else [here]
            warps[number // WARP] += [lane for lane in lanes if runs(statement, lane)]
        for lanes in warps.values():
            if lanes:
                self._charge(statement, lanes, share)

    def _charge(self, statement: Statement, lanes: list[Index], share: float) -> None:
        """Charge a warp's execution: a share of an instruction where several are joined."""
        self.demand["issue"] += share
        if statement.operator not in ("load", "store"):
            self.demand["arithmetic"] += 1
            return
        place = statement.output if statement.operator == "store" else statement.inputs[0]
        assert isinstance(place, Place)
        elements = {value(place, lane) for lane in lanes}
        requests = 0 if "shared" in statement.flags else len(elements) * self.device.element_bytes / (4 * WARP)
        self.demand["memory"] += max(share, requests)
        if "shared" in statement.flags:
            words = len(elements) * self.device.element_bytes / 4
            self.demand["shared"] += max(share, words / self.rates.shared_words)
            return
        found = {(place.buffer, element * self.device.element_bytes // SECTOR) for element in elements}
        if place.buffer in {region.name for region in self.leaf.backbone.regions}:
            self.touched |= found
        if not self.may_hit(statement):
            self.demand["L2"] += len(found)

    # -- latency ------------------------------------------------------------------------------------------------------

    def latency(self, statement: Statement) -> float:
        """Return the cycles from a statement's start to that of one that reads its value."""
        if statement.operator == "store":
            return 1.0
        if statement.operator != "load":
            return self.rates.arithmetic_latency
        if "shared" in statement.flags:
            return self.rates.shared_latency
        return self.rates.cached_latency if self.may_hit(statement) else self.rates.l2_latency

    def may_hit(self, statement: Statement) -> bool:
        """Whether a load may find its value before L2."""
        return self.device.caches_loads and bool({"cache=l1", "cache=read_only"} & set(statement.flags))


class Clock:
    """The time in one block: values bind, and iterations of a loop start in order."""

    def __init__(self, toy: Toy) -> None:
        self.toy = toy
        self.ready: dict[tuple[str, int], float] = {}
        self.entry = self.now = self.serial = 0.0
        self.loops: list[Loop] = []

    def run(self, nodes: tuple[Node, ...], index: Index) -> None:
        """Run nodes; `now` is the latest start of a statement."""
        for node in nodes:
            if isinstance(node, Barrier):
                self.entry = self.now
            elif isinstance(node, Statement):
                self.serial += 1 / self.toy.joined(node, self.loops)
                self._start(node, index)
            elif isinstance(node, Loop) and node.kind is LoopKind.LOOP:
                self.loops.append(node)
                for i in range(node.trips):
                    self.entry = self.now
                    self.run(node.body, index | {node.name: i})
                self.entry = self.now
                self.loops.pop()
            elif isinstance(node, Loop):
                self._together(node, index)

    def _together(self, loop: Loop, index: Index) -> None:
        """Run the copies of an unrolled loop, a vector or threads: nothing but values keeps them in order."""
        entry, latest, before = self.entry, self.now, self.serial
        if loop.kind is not LoopKind.THREAD:
            self.loops.append(loop)
        for i in range(loop.trips):
            self.entry = entry
            self.now = entry if loop.kind is LoopKind.THREAD else self.now
            self.run(loop.body, index | {loop.name: i})
            latest = max(latest, self.now)
        self.entry, self.now = entry, latest
        if loop.kind is not LoopKind.UNROLL:
            self.serial = before + (self.serial - before) / loop.trips
        if loop.kind is not LoopKind.THREAD:
            self.loops.pop()

    def _start(self, statement: Statement, index: Index) -> None:
        places = [each for each in statement.inputs if isinstance(each, Place)]
        if statement.operator == "load" and "shared" not in statement.flags:
            places = []
        start = max([self.entry, *(self.ready.get((p.buffer, value(p, index)), 0.0) for p in places)])
        output = statement.output
        key = output.buffer, value(output, index)
        self.ready[key] = start + self.toy.latency(statement)
        self.now = max(self.now, start)


def value(place: Place, index: Index) -> int:
    """Return the element that a place names."""
    return sum(index[name] * factor for name, factor in place.terms)


def runs(statement: Statement, index: Index) -> bool:
    """Whether a statement's limits let it run."""
    return all(sum(index[n] * f for n, f in terms) < limit for terms, limit in statement.within)
