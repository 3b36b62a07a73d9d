"""A machine that runs a bound nest block by block and charges exactly the resources that the model of CPUs knows.

It counts on the nest, with the lengths that blocks have and the elements that they touch, what the model infers from
domains. Everything overlaps, so no schedule is slower here than it has to be.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from math import ceil, prod

from einloom.ir.bind import bind
from einloom.ir.nest import Block, Call, Guard, Loop, Node, Pack
from einloom.ir.operation import Operation
from einloom.ir.schedule import ExecType, Schedule
from einloom.machine import Machine
from einloom.space.on_cpu.rates import CpuRates

Touched = set[tuple[str, int]]


def run(operation: Operation, schedule: Schedule, machine: Machine, rates: CpuRates, threads: int) -> dict[str, float]:
    """Return the seconds of each resource; the time is the largest."""
    return Toy(operation, schedule, machine, rates, threads).seconds()


@dataclass
class Toy:
    """One schedule on one machine."""

    operation: Operation
    schedule: Schedule
    machine: Machine
    rates: CpuRates
    threads: int
    fmas: float = 0.0
    stores: float = 0.0
    calls: int = 0
    fetched: dict[tuple[str, int], float] = field(default_factory=lambda: defaultdict(float))

    def seconds(self) -> dict[str, float]:
        """Return the seconds of each resource."""
        nest = bind(self.operation, self.schedule)
        self.size = self.operation.output.dtype.size
        self.lanes = self.machine.vector_bits // 8 // self.size
        self.inputs = {operand.name for operand in self.operation.inputs}
        caches = (self.machine.l1d, self.machine.l2, self.machine.l3)
        self.levels = {"L2": sum(caches[:1]), "L3": sum(caches[:2]), "beyond L3": sum(caches)}
        left = {axis.name: axis.extent for axis in nest.axes}
        everything = self._sub_nest(nest.body, left, {}, 0)
        ways = self._ways(nest.body)
        cold = max(self.operation.bytes - sum(caches), 0)
        assert everything
        times = {
            "arithmetic": self.fmas / self.rates.fmas / ways,
            "stores": self.stores / self.rates.stores / ways,
            "calls": self.calls / self.rates.calls / ways,
            "memory": cold / self.rates.memory / ways,
        }
        speeds = {"L2": self.rates.l2, "L3": self.rates.l3, "beyond L3": self.rates.memory}
        for name, speed in speeds.items():
            most = max((bytes for (level, _), bytes in self.fetched.items() if level == name), default=0.0)
            times[name] = most / speed / ways
        return times

    def _ways(self, nodes: tuple[Node, ...]) -> int:
        trips = 1
        while len(nodes) == 1 and isinstance(nodes[0], Loop) and nodes[0].kind is ExecType.SHARED:
            trips *= ceil(nodes[0].span / nodes[0].step)
            nodes = nodes[0].body
        return min(trips, self.threads)

    def _sub_nest(self, nodes: tuple[Node, ...], left: dict[str, int], at: dict[str, int], depth: int) -> Touched:
        """Run a body, and charge what it reaches over beyond each cache."""
        touched: Touched = set()
        for node in nodes:
            touched |= self._node(node, left, at, depth)
        for name, capacity in self.levels.items():
            self.fetched[name, depth] += max(len(touched) * self.size - capacity, 0)
        return touched

    def _node(self, node: Node, left: dict[str, int], at: dict[str, int], depth: int) -> Touched:
        match node:
            case Loop():
                return self._loop(node, left, at, depth)
            case Pack():
                return self._pack(node, left, at)
            case Guard():
                return set()  # The model does not charge touches.
            case Call():
                return self._call(node, left, at)
            case _:
                raise AssertionError(node)

    def _loop(self, loop: Loop, left: dict[str, int], at: dict[str, int], depth: int) -> Touched:
        touched: Touched = set()
        for start in range(0, left[loop.axis], loop.step):
            inner = left | {loop.axis: min(loop.step, left[loop.axis] - start)}
            moved = at | {b: at.get(b, 0) + start // loop.step * by for b, by in loop.advances}
            touched |= self._sub_nest(loop.body, inner, moved, depth + 1)
        return touched

    def _pack(self, pack: Pack, left: dict[str, int], at: dict[str, int]) -> Touched:
        """A copy stores what it copies, into scratch or out of it; reading outputs is not charged."""
        position = next(i for i, each in enumerate(self.operation.operands) if each.name in (pack.source, pack.buffer))
        operand = self.operation.operands[position]
        strides = self.operation.strides(operand)
        extents = [left[axis.name] for axis in self.operation.axes if strides[axis.name]]
        self.stores += prod(extents) / self.lanes
        if position == len(self.operation.operands) - 1:
            return set()
        elements = {at.get(operand.name, 0)}
        for axis in self.operation.axes:
            elements = {e + i * strides[axis.name] for e in elements for i in range(left[axis.name])}
        return {(operand.name, element) for element in elements}

    def _call(self, call: Call, left: dict[str, int], at: dict[str, int]) -> Touched:
        lengths = [self._length(block, left) for block in call.blocks]
        contracts = len(call.blocks) == 4
        if contracts and len(call.accesses) == 3:
            self._multiply(lengths, call.accesses[-1].strides)
        else:
            self.stores += prod(lengths[:2]) / self.lanes
        touched: Touched = set()
        for access in call.accesses[:-1]:
            elements = {at.get(access.buffer, 0)}
            for length, stride in zip(lengths, access.strides):
                elements = {e + i * stride for e in elements for i in range(length if stride else 1)}
            touched |= {(access.buffer, element) for element in elements}
        return touched

    def _multiply(self, lengths: list[int], output: tuple[int, ...]) -> None:
        """Charge a product: its vectors lie along m or n, each with several steps of the sum if it is short; a vector
        of sums is stored in one piece where its elements are neighbours."""
        m, n, *summed = lengths
        steps = prod(summed)
        self.fmas += min(ceil(x * steps / self.lanes) * y for x, y in ((m, n), (n, m)))
        along = [(m, n, output[0]), (n, m, output[1])]
        self.stores += min(y * (ceil(x / self.lanes) if abs(stride) == 1 else x) for x, y, stride in along)
        self.calls += 1

    @staticmethod
    def _length(block: Block, left: dict[str, int]) -> int:
        return 1 if block.axis is None else left[block.axis]
