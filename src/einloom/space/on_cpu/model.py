"""`CpuModel`: a time that no schedule below a candidate can beat on a machine, from counts that hold for all of them.

Only facts count that every schedule below the candidate shares: how many vector instructions the blocks that the
primitive may get need at least, what leaves and enters caches at least. Resources work at the same time, so the bound
is the largest term and never a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf

from einloom import csp
from einloom.ir.operation import Primitive
from einloom.machine import Machine
from einloom.space.model.bound import Bound
from einloom.space.model.figure import Figure
from einloom.space.on_cpu.backbone import CpuBackbone, WalkedAxis
from einloom.space.on_cpu.rates import CpuRates
from einloom.space.on_cpu.traffic import Traffic

__all__ = ["CpuModel"]


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis, with the slots that say how far the primitive's blocks may reach along it."""

    axis: WalkedAxis
    walked: int
    role: int
    none: int
    last: int
    kinds: tuple[int, ...]
    steps: tuple[int, ...]


class CpuModel:
    """Bounds the time of every schedule below a candidate.

    Args:
        problem: the constraint problem of the space.
        backbone: what there is to decide.
        machine: whose vectors and caches there are.
        rates: what one core can do at best.
    """

    def __init__(self, problem: csp.Problem, backbone: CpuBackbone, machine: Machine, rates: CpuRates) -> None:
        self.backbone, self.machine, self.rates = backbone, machine, rates
        operation = backbone.operation
        self.size = operation.output.dtype.size
        self.lanes = max(machine.vector_bits // 8 // self.size, 1)
        self.outputs = operation.elements(operation.output)
        multiplies = operation.main in (Primitive.GEMM, Primitive.BRGEMM) and operation.output.dtype.name in _EXACT
        self.points = operation.points if multiplies else 0
        self._axes = [self._axis(problem, axis) for axis in backbone.axes]
        self._packs = [problem.variable(f"pack({each.name})").slot for each in backbone.packs]
        self._copied = [operation.elements(operation.operands[each.operand]) for each in backbone.packs]
        self._shared = 1 << problem.variables[self._axes[0].kinds[0]].values.index("SHARED") if backbone.axes else 0
        self._traffic = Traffic(problem, backbone, machine, rates)
        self.cold = max(operation.bytes - machine.l1d - machine.l2 - machine.l3, 0)

    @staticmethod
    def _axis(problem: csp.Problem, axis: WalkedAxis) -> _Axis:
        role = problem.variable(f"role({axis.name})")
        loops = [f"{axis.name}.{level}" for level in range(3)]
        steps = tuple(problem.variable(f"step({loop})").slot for loop in loops)
        kinds = tuple(problem.variable(f"kind({loop})").slot for loop in loops)
        walked = problem.variable(f"walked({axis.name})").slot
        return _Axis(axis, walked, role.slot, 1 << role.values.index("NONE"), steps[-1], kinds, steps)

    def bound(self, view: csp.State, cut: float = inf, above: Bound | None = None) -> Bound:
        """Return the bound of a candidate.

        Args:
            view: the candidate, as the engine holds it.
            cut: seconds from which on a bound is as good as any larger one: traffic is only looked at below it.
            above: the bound of a candidate higher up, which holds here too.
        """
        domains = view.domains
        figures = list(self._figures(domains))
        if max(each.value for each in figures) < cut:
            figures += self._traffic.figures(domains, self._ways(domains))
        terms = {each.name: each.value for each in figures}
        return Bound(max(terms.values()), terms, lambda: Figure.largest("seconds", figures)).under(above)

    def _figures(self, domains: Sequence[int]) -> list[Figure]:
        """The cheap terms: seconds by resource."""
        ways = Figure("1 / threads", 1 / self._ways(domains))
        block, summed = self._largest_block(domains)
        cycle = Figure("seconds of a cycle", 1 / self.rates.clock)
        lanes = min(self.lanes, block)
        fmas = Figure("vector multiply-adds", self.points / lanes)
        stores = [Figure("of sums", max(self.backbone.operation.points / summed, self.outputs) / self.lanes)]
        stores += [
            Figure(f"into scratch for {each.name}", elements / self.lanes)
            for each, slot, elements in zip(self.backbone.packs, self._packs, self._copied)
            if not each.is_output and not domains[slot] & 1
        ]
        memory = [Figure("bytes beyond the caches", float(self.cold)), Figure("1 / rate", 1 / self.rates.memory)]
        return [
            Figure.product("arithmetic", [fmas, Figure("1 / a cycle", 1 / self.rates.fmas), cycle, ways]),
            Figure.product(
                "stores", [Figure.sum("vectors", stores), Figure("1 / a cycle", 1 / self.rates.stores), cycle, ways]
            ),
            Figure.product("memory", [*memory, ways]),
        ]

    def _largest_block(self, domains: Sequence[int]) -> tuple[int, int]:
        """Return how many products a call of the primitive computes at most, and how many it adds to one sum."""
        block = summed = 1
        for each in self._axes:
            reach = self._reach(each, domains)
            block *= reach
            if each.axis.reduced:
                summed *= reach
        return block, summed

    def _reach(self, each: _Axis, domains: Sequence[int]) -> int:
        """How far a call of the primitive reaches along an axis at most: 1 for an axis that it does not take."""
        if domains[each.role] == each.none:
            return 1
        return each.axis.sizes[domains[each.last].bit_length() - 1]

    def _ways(self, domains: Sequence[int]) -> int:
        """Return among how many threads the work may be shared at most."""
        if not self.backbone.shares:
            return 1
        blocks = 1
        for each in self._axes:
            most = 1
            for kind, step in zip(each.kinds, each.steps):
                if domains[kind] & self._shared:
                    low = domains[step] & -domains[step]
                    most = max(most, ceil(each.axis.extent / each.axis.sizes[low.bit_length() - 1]))
            blocks *= most
        return max(min(blocks, self.backbone.threads), 1)


_EXACT = ("float32", "float64")
"""Types whose vectors hold as many elements as their width says; others may be multiplied in groups."""
