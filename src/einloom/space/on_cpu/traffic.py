"""What a schedule moves into the caches at least: a sub-nest that reaches over more than a cache holds has to fetch the
rest each time it runs, whatever was in the cache before and whatever is replaced.

It is looked at once loops, their order and the packs are decided. Outputs are left out: they may pass the caches.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from einloom import csp
from einloom.ir.operation import Operand, Operation
from einloom.machine import Machine
from einloom.space.model.figure import Figure
from einloom.space.on_cpu.backbone import CpuBackbone, LoopLevel
from einloom.space.on_cpu.rates import CpuRates

__all__ = ["Traffic", "is_simple"]


def is_simple(operation: Operation, operand: Operand) -> bool:
    """Whether every index of an operand has an element of its own: no two axes run over the same ones."""
    reached = 1
    for axis in sorted(operation.axes, key=lambda axis: abs(operation.stride(operand, axis.name))):
        stride = abs(operation.stride(operand, axis.name))
        if stride and axis.extent > 1:
            if stride < reached:
                return False
            reached = stride * axis.extent
    return True


class Traffic:
    """The terms of traffic between the levels of the caches.

    Args:
        problem: the constraint problem of the space.
        backbone: what there is to decide.
        machine: whose caches there are.
        rates: how fast they are at best.
    """

    def __init__(self, problem: csp.Problem, backbone: CpuBackbone, machine: Machine, rates: CpuRates) -> None:
        self.backbone = backbone
        capacities = (machine.l1d, machine.l1d + machine.l2, machine.l1d + machine.l2 + machine.l3)
        self.levels = list(zip(("L2", "L3", "beyond L3"), capacities, (rates.l2, rates.l3, rates.memory)))
        choices = ("walked", "kind", "step", "order")
        self._slots = [variable.slot for variable in problem.variables if variable.choice in choices]
        self._kinds = [problem.variable(f"kind({loop.name})").slot for loop in backbone.loops]
        self._steps = [problem.variable(f"step({loop.name})").slot for loop in backbone.loops]
        self._walked = [problem.variable(f"walked({axis.name})").slot for axis in backbone.axes]
        self._order = {
            (a.number, b.number): problem.variable(f"order({a.name}, {b.name})").slot
            for a in backbone.loops
            for b in backbone.loops[a.number + 1 :]
        }
        operation = backbone.operation
        self._size = operation.output.dtype.size
        self._inputs = [
            [side.axis for side in backbone.sides_of(packed)]
            for packed in backbone.packs
            if not packed.is_output and is_simple(operation, operation.operands[packed.operand])
        ]

    def figures(self, domains: Sequence[int], ways: int) -> list[Figure]:
        """Return the seconds of each level of the caches; nothing as long as loops are open."""
        if any(domains[slot] & (domains[slot] - 1) for slot in self._slots):
            return []
        runs = list(self._sub_nests(domains))
        return [self._figure(name, capacity, rate, runs, ways) for name, capacity, rate in self.levels]

    def _figure(self, name: str, capacity: int, rate: float, runs: Sequence[tuple[int, int]], ways: int) -> Figure:
        count, size = max(runs, key=lambda run: run[0] * max(run[1] - capacity, 0))
        fetched = Figure.largest("bytes", [Figure("none", 0.0), Figure("beyond the cache", float(size - capacity))])
        return Figure.product(
            name, [Figure("runs", count), fetched, Figure("1 / rate", 1 / rate), Figure("1 / threads", 1 / ways)]
        )

    def _sub_nests(self, domains: Sequence[int]) -> list[tuple[int, int]]:
        """Return for each sub-nest how often it runs with whole blocks, and how many bytes of inputs it reaches."""
        walked = [a for a, slot in zip(self.backbone.axes, self._walked) if domains[slot] == 1]
        spans = {axis.name: axis.extent for axis in walked}
        runs = 1
        found = [(runs, self._bytes(spans))]
        for loop in self._loops(domains):
            step = loop.axis.sizes[domains[self._steps[loop.number]].bit_length() - 1]
            runs *= spans[loop.axis.name] // step
            spans[loop.axis.name] = step
            found.append((runs, self._bytes(spans)))
        return found

    def _loops(self, domains: Sequence[int]) -> list[LoopLevel]:
        """The loops that are there, outermost first."""
        loops = [loop for loop, slot in zip(self.backbone.loops, self._kinds) if domains[slot] != 1]
        place = {loop.number: 0 for loop in loops}
        for position, a in enumerate(loops):
            for b in loops[position + 1 :]:
                place[b.number if domains[self._order[a.number, b.number]] == 1 else a.number] += 1
        return sorted(loops, key=lambda loop: place[loop.number])

    def _bytes(self, spans: dict[str, int]) -> int:
        return self._size * sum(prod(spans.get(axis.name, 1) for axis in axes) for axes in self._inputs)
