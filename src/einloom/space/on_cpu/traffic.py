"""What a schedule moves into the caches at least: a sub-nest that reads more than a cache holds has to fetch the rest
each time it runs, whatever was in the cache before and whatever is replaced.

It is looked at once loops, their order and the packs are decided. Sums that an earlier iteration of a loop around the
sub-nest has begun are read again; what is written may pass the caches, and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from einloom import csp
from einloom.frozen import frozen
from einloom.ir.fused import FusedView
from einloom.ir.operation import Operand, Operation
from einloom.machine import Machine
from einloom.space.model.figure import Figure
from einloom.space.on_cpu.backbone import CpuBackbone, LoopLevel, WalkedAxis
from einloom.space.on_cpu.rates import CpuRates

__all__ = ["Traffic", "is_simple"]

_NONE, _AROUND = 1, 1
"""Masks: an operand is not packed; a loop encloses its copy."""


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


@frozen
class _Reach:
    """An operand that is read: which of the walked axes lead to elements of their own, and in which lines those lie.

    Attributes:
        size: bytes of an element.
        axes: that lead to elements of their own.
        far: those along which neighbours lie in different lines; near: the others, with their strides in bytes.
        copied: the slot that says whether it is packed; around: slots that say which loops enclose the copy, by loop.
    """

    size: int
    axes: tuple[str, ...]
    far: tuple[str, ...]
    near: tuple[tuple[str, int], ...]
    copied: int | None
    around: tuple[int, ...]

    def bytes(self, spans: dict[str, int]) -> int:
        """Return how many bytes of elements blocks of so many indices reach, wherever those lie."""
        return self.size * prod(spans.get(axis, 1) for axis in self.axes)

    def lines(self, spans: dict[str, int], line: int) -> int:
        """Return in how many lines of the operand the elements lie: neighbouring rows, or tensors, may share one."""
        rows = prod(spans.get(axis, 1) for axis in self.far)
        row = self.size + sum((spans.get(axis, 1) - 1) * stride for axis, stride in self.near)
        return max(rows, rows * (-(-row // line) - 1) + 1) - 1

    def moved(self, spans: dict[str, int], line: int, where_it_lies: bool) -> int:
        """Return how many bytes come into a cache at least, whole lines where the operand itself is read."""
        return max(self.bytes(spans), line * self.lines(spans, line) if where_it_lies else 0)


@frozen
class _Runs:
    """How often a sub-nest runs with whole blocks, and what it reads.

    Attributes:
        first: runs that may begin their sums; again: those that add to sums of others before them.
        inputs, sums: bytes.
        caches: how many threads may take part in a run, each with caches of its own.
    """

    first: int
    again: int
    inputs: int
    sums: int
    caches: int

    def fetched(self, capacity: int) -> int:
        """Return how many bytes caches of this size do not hold when runs begin."""
        begin, add = self._beyond(capacity)
        return self.first * begin + self.again * add

    def explained(self, capacity: int) -> Figure:
        """Return the same with what it was made of."""
        names, runs = ("that begin sums", "that add to sums"), (self.first, self.again)
        parts = [
            Figure.product(name, [Figure("runs", count), Figure("bytes beyond the caches", float(beyond))])
            for name, count, beyond in zip(names, runs, self._beyond(capacity))
        ]
        return Figure.sum("bytes", parts)

    def _beyond(self, capacity: int) -> tuple[int, int]:
        """What a run reads that its caches cannot hold: one that begins its sums, and one that adds to them."""
        held = self.caches * capacity
        return max(self.inputs - held, 0), max(self.inputs + self.sums - held, 0)


class Traffic:
    """The terms of traffic between the levels of the caches.

    Args:
        problem: the constraint problem of the space.
        backbone: what there is to decide.
        machine: whose caches there are.
        rates: how fast they are at best.
        line: bytes that come into a cache together.
    """

    def __init__(
        self, problem: csp.Problem, backbone: CpuBackbone, machine: Machine, rates: CpuRates, line: int
    ) -> None:
        self.problem, self.backbone, self.line = problem, backbone, line
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
        values = problem.variable(f"kind({backbone.loops[0].name})").values if backbone.loops else ()
        self._absent, self._shared, self._curved = (_mask(values, each) for each in ("ABSENT", "SHARED", "SFC"))
        operation = backbone.operation
        self._inputs = [reach for each in operation.inputs if (reach := self._reach(each)) is not None]
        self._sums = self._reach(operation.output)

    def _reach(self, operand: Operand) -> _Reach | None:
        """Return what an operand's blocks reach; None if indices share elements."""
        operation = self.backbone.operation
        if not is_simple(operation, operand):
            return None
        axes = [axis.name for axis in self.backbone.axes if _leads_on(operation, operand, axis)]
        strides = {axis: operand.dtype.size * stride for axis in axes if (stride := self._stride(operand, axis))}
        far = tuple(axis for axis, stride in strides.items() if stride >= self.line)
        near = tuple((axis, stride) for axis, stride in strides.items() if stride < self.line)
        packed = next((p for p in self.backbone.packs if operation.operands[p.operand] is operand), None)
        if packed is None:
            return _Reach(operand.dtype.size, tuple(axes), far, near, None, ())
        around = (self.problem.variable(f"around({packed.name}, {loop.name})").slot for loop in self.backbone.loops)
        copied = self.problem.variable(f"pack({packed.name})").slot
        return _Reach(operand.dtype.size, tuple(axes), far, near, copied, tuple(around))

    def _stride(self, operand: Operand, axis: str) -> int:
        """How far neighbours along an axis lie apart, in elements; 0 where rows of it lie apart."""
        fused = next(each.fused for each in self.backbone.axes if each.name == axis)
        view = FusedView.of(self.backbone.operation, () if fused is None else (fused,))
        return abs(view.strides[operand.name].get(axis, 0))

    def figures(self, domains: Sequence[int], ways: int) -> list[Figure]:
        """Return the seconds of each level of the caches; nothing as long as loops are open."""
        if any(domains[slot] & (domains[slot] - 1) for slot in self._slots):
            return []
        runs = self._sub_nests(domains, ways)
        return [self._figure(name, capacity, rate, runs, ways) for name, capacity, rate in self.levels]

    def _figure(self, name: str, capacity: int, rate: float, runs: Sequence[_Runs], ways: int) -> Figure:
        most = max(runs, key=lambda each: each.fetched(capacity)).explained(capacity)
        return Figure.product(name, [most, Figure("1 / rate", 1 / rate), Figure("1 / threads", 1 / ways)])

    def _sub_nests(self, domains: Sequence[int], ways: int) -> list[_Runs]:
        """Return the sub-nests that run in one piece: not those between loops along one curve."""
        spans = {a.name: a.extent for a, slot in zip(self.backbone.axes, self._walked) if domains[slot] == 1}
        loops = self._loops(domains)
        kinds = [domains[self._kinds[loop.number]] for loop in loops]
        first = every = 1
        found = [self._runs(1, 1, spans, ways if self._shared in kinds else 1, domains, None)]
        for position, loop in enumerate(loops):
            step = loop.axis.sizes[domains[self._steps[loop.number]].bit_length() - 1]
            blocks = spans[loop.axis.name] // step
            every *= blocks
            first *= 1 if loop.reduced else blocks
            spans[loop.axis.name] = step
            inside = kinds[position + 1 :]
            if not (inside and kinds[position] == inside[0] == self._curved):
                caches = ways if self._shared in inside else 1
                found.append(self._runs(first, every, spans, caches, domains, loop))
        return found

    def _runs(
        self,
        first: int,
        every: int,
        spans: dict[str, int],
        caches: int,
        domains: Sequence[int],
        outer: LoopLevel | None,
    ) -> _Runs:
        """What is inside a loop: an input's own lines are read there unless it was copied outside."""

        def is_read(each: _Reach) -> bool:
            within = each.copied is None or domains[each.copied] == _NONE
            return outer is None or within or domains[each.around[outer.number]] == _AROUND

        inputs = sum(each.moved(spans, self.line, is_read(each)) for each in self._inputs)
        sums = 0
        if self._sums is not None:
            in_place = self._sums.copied is None or domains[self._sums.copied] == _NONE
            sums = self._sums.moved(spans, self.line, in_place)
        return _Runs(first, every - first, inputs, sums, caches)

    def _loops(self, domains: Sequence[int]) -> list[LoopLevel]:
        """The loops that are there, outermost first."""
        loops = [loop for loop, slot in zip(self.backbone.loops, self._kinds) if domains[slot] != self._absent]
        place = {loop.number: 0 for loop in loops}
        for position, a in enumerate(loops):
            for b in loops[position + 1 :]:
                place[b.number if domains[self._order[a.number, b.number]] == 1 else a.number] += 1
        return sorted(loops, key=lambda loop: place[loop.number])


def _mask(values: Sequence[object], value: str) -> int:
    return 1 << values.index(value) if value in values else 0


def _leads_on(operation: Operation, operand: Operand, axis: WalkedAxis) -> bool:
    """Whether every index of a walked axis leads to other elements: whatever it is fused of has a stride."""
    view = FusedView.of(operation, () if axis.fused is None else (axis.fused,))
    parts = view.parts[operand.name].get(axis.name, ())
    return view.depends(operand.name, axis.name) and all(part.stride for part in parts)
