"""`CpuModel`: a time that no schedule below a candidate can beat on a machine, from counts that hold for all of them.

Only facts count that every schedule below the candidate shares: how many vector instructions the blocks that the
primitive may get need at least, what leaves and enters caches at least. Resources work at the same time, so the bound
is the largest term and never a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import ceil, inf

from einloom import csp
from einloom.frozen import frozen
from einloom.ir.bind import bind
from einloom.ir.nest import Nest
from einloom.ir.operation import Primitive
from einloom.machine import Machine
from einloom.space.model.bound import Bound
from einloom.space.model.figure import Figure
from einloom.space.on_cpu.backbone import CpuBackbone, Packed, WalkedAxis
from einloom.space.on_cpu.rates import LINE_BYTES, MARGIN, CpuRates
from einloom.space.on_cpu.schedules import schedule_of
from einloom.space.on_cpu.traffic import Traffic, is_simple
from einloom.space.on_cpu.work import KernelsAlone, Lowered, executed

__all__ = ["CpuModel"]


@frozen
class _Axis:
    """An axis, with the slots that say how far the primitive's blocks may reach along it.

    Attributes:
        walked: the slot that says whether loops walk it.
        roles: the slot of its role; none, across, summed: masks of not being taken, of M or N, of K or the batch.
        stored: whether neighbours along it are neighbours in the output.
        steps, kinds: slots of its loops, the outermost one first; last: the innermost one's step.
    """

    axis: WalkedAxis
    walked: int
    roles: int
    none: int
    across: int
    stored: bool
    last: int
    kinds: tuple[int, ...]
    steps: tuple[int, ...]


@frozen
class _Copy:
    """An operand that may be packed: its elements, and for each axis it does not have what repeats the copy.

    Attributes:
        pack: the slot that says whether it is.
        repeats: axes, with the slots of `around` and `step` of their loops, the outermost one first.
    """

    name: str
    is_output: bool
    elements: int
    pack: int
    repeats: tuple[tuple[WalkedAxis, tuple[tuple[int, int], ...]], ...]


@frozen
class _Blocks:
    """What calls of the primitive have at most, and how many there are at least.

    Attributes:
        lanes: products of one vector multiply-add.
        stored: sums that one store writes.
        summed: products that one call adds to a sum.
        calls: of the primitive.
    """

    lanes: int
    stored: int
    summed: int
    calls: int


class CpuModel:
    """Bounds the time of every schedule below a candidate.

    Args:
        problem: the constraint problem of the space.
        backbone: what there is to decide.
        machine: whose vectors and caches there are.
        rates: what one core can do at best.
        line: bytes that come into a cache together.
        lowered: generates what runs between kernels; None: the code of schedules is not looked at.
    """

    def __init__(
        self,
        problem: csp.Problem,
        backbone: CpuBackbone,
        machine: Machine,
        rates: CpuRates,
        line: int = LINE_BYTES,
        lowered: Lowered | None = None,
    ) -> None:
        self.problem, self.backbone, self.machine, self.rates, self.line = problem, backbone, machine, rates, line
        self.lowered = lowered if rates.limit_code else None
        operation = backbone.operation
        self.size = operation.output.dtype.size
        self.lanes = max(machine.vector_bits // 8 // self.size, 1)
        self.outputs = operation.elements(operation.output)
        narrowest = min(operand.dtype.size for operand in operation.operands)
        self.copied_lanes = max(machine.vector_bits // 8 // narrowest, 1)
        exact = all(operand.dtype.name in _EXACT for operand in (*operation.inputs, operation.output))
        self.multiplies = exact and operation.main in (Primitive.GEMM, Primitive.BRGEMM)
        self._axes = [self._axis(axis) for axis in backbone.axes]
        self._copies = [self._copy(packed) for packed in backbone.packs]
        self._shared = 1 << problem.variables[self._axes[0].kinds[0]].values.index("SHARED") if backbone.axes else 0
        self._traffic = Traffic(problem, backbone, machine, rates, line)
        reached = [each for each in operation.operands if is_simple(operation, each)]
        self.reached = sum(operation.elements(each) * each.dtype.size for each in reached)

    def _slot(self, name: str) -> int:
        return self.problem.variable(name).slot

    def _axis(self, axis: WalkedAxis) -> _Axis:
        role = self.problem.variable(f"role({axis.name})")
        masks = {value: 1 << place for place, value in enumerate(role.values)}
        loops = self.backbone.loops_of(axis)
        steps = tuple(self._slot(f"step({loop.name})") for loop in loops)
        kinds = tuple(self._slot(f"kind({loop.name})") for loop in loops)
        walked, across = self._slot(f"walked({axis.name})"), masks.get("M", 0) | masks.get("N", 0)
        return _Axis(axis, walked, role.slot, masks["NONE"], across, self._is_stored(axis), steps[-1], kinds, steps)

    def _is_stored(self, axis: WalkedAxis) -> bool:
        operation = self.backbone.operation
        return any(
            abs(operation.stride(operation.output, each.name)) == 1
            for each in operation.axes
            if each.name == axis.name or (axis.fused is not None and each.name in axis.fused.parts)
        )

    def _copy(self, packed: Packed) -> _Copy:
        operand = self.backbone.operation.operands[packed.operand]
        sides = {side.axis for side in self.backbone.sides_of(packed)}
        repeats = tuple(
            (
                axis,
                tuple(
                    (self._slot(f"around({packed.name}, {loop.name})"), self._slot(f"step({loop.name})"))
                    for loop in self.backbone.loops_of(axis)
                ),
            )
            for axis in self.backbone.axes
            if axis not in sides
        )
        elements = self.backbone.operation.elements(operand)
        return _Copy(packed.name, packed.is_output, elements, self._slot(f"pack({packed.name})"), repeats)

    def bound(self, view: csp.State, cut: float = inf, above: Bound | None = None) -> Bound:
        """Return the bound of a candidate.

        Args:
            view: the candidate, as the engine holds it.
            cut: seconds from which on a bound is as good as any larger one: traffic is only looked at below it, and
                so are whole blocks of a schedule that has nothing open, then all of its kernels, and all of its code.
            above: the bound of a candidate higher up, which holds here too.
        """
        domains = view.domains
        ways = self._ways(domains)
        figures = self._figures(domains, ways)
        if max(each.value for each in figures) < cut:
            figures += self._traffic.figures(domains, ways)
        if self.lowered and max(each.value for each in figures) < cut and not view.open():
            figures += self._executed(domains, ways, cut, self.lowered)
        terms = {each.name: each.value for each in figures}
        return Bound(max(terms.values()), terms, lambda: Figure.largest("seconds", figures)).under(above)

    def allowing(self, view: csp.State, seconds: float) -> CpuModel:
        """Return the model whose rates are raised so far that a time which was measured does not beat its bound."""
        rates = asdict(self.rates)
        raised = dict(rates)
        for name, term in self.bound(view).terms.items():
            for rate in _RATES[name] if term > seconds else ():
                raised[rate] = max(raised[rate], MARGIN * term / seconds * rates[rate])
        return CpuModel(self.problem, self.backbone, self.machine, CpuRates(**raised), self.line, self.lowered)

    def _figures(self, domains: Sequence[int], ways: int) -> list[Figure]:
        """The cheap terms: seconds by resource."""
        threads = Figure("1 / threads", 1 / ways)
        blocks = self._blocks(domains)
        sums = max(self.backbone.operation.points / blocks.summed, self.outputs) if self.multiplies else self.outputs
        stores = [Figure("of sums", sums / blocks.stored)]
        stores += [
            Figure(f"{'out of' if each.is_output else 'into'} scratch for {each.name}", copied / self.copied_lanes)
            for each in self._copies
            if (copied := self._copied(each, domains))
        ]
        fmas = self.backbone.operation.points / blocks.lanes if self.multiplies else 0
        caches = self.machine.l1d + self.machine.l2 + self.machine.l3
        cold = Figure("bytes beyond the caches", float(max(self.reached - ways * caches, 0)))

        def term(name: str, work: Figure, rate: float) -> Figure:
            return Figure.product(name, [work, Figure("1 / a second", 1 / rate), threads])

        return [
            term("arithmetic", Figure("vector multiply-adds", fmas), self.rates.fmas),
            term("stores", Figure.sum("vectors", stores), self.rates.stores),
            term("calls", Figure("of the primitive", blocks.calls if self.multiplies else 0.0), self.rates.calls),
            term("memory", cold, self.rates.memory),
        ]

    def _executed(self, domains: Sequence[int], ways: int, cut: float, lowered: Lowered) -> list[Figure]:
        """Seconds of what the code of a schedule executes at least: the less is counted, the sooner that is enough."""
        leaf = {each.name: each.values[domains[each.slot].bit_length() - 1] for each in self.problem.variables}
        nest = bind(self.backbone.operation, schedule_of(self.backbone, leaf))
        found: list[Figure] = []
        for between, rests in ((KernelsAlone, False), (KernelsAlone, True), (lowered, True)):
            found = self._counted(nest, ways, between, rests)
            if any(each.value >= cut for each in found):
                break
        return found

    def _counted(self, nest: Nest, ways: int, lowered: Lowered, rests: bool) -> list[Figure]:
        known = asdict(self.rates)
        rates = {kind: rate for kind, name in _CODE.items() if (rate := known[name]) < inf}
        run = executed(nest, self.machine, rates, lowered, ways, rests)
        if run is None:
            return []
        threads, done = Figure("1 / threads", 1 / ways), run.work._asdict()
        found = [
            Figure.product(
                f"{kind} executed", [Figure(kind, float(done[kind])), Figure("1 / a second", 1 / rate), threads]
            )
            for kind, rate in rates.items()
        ]
        return [*found, Figure.product("parts of the code", [Figure("seconds", run.seconds), threads])]

    def _blocks(self, domains: Sequence[int]) -> _Blocks:
        """Return what is sure of the calls. Vectors lie along an axis of the output, or hold several products of a sum.

        A vector of sums is stored in one piece only along an axis whose neighbours are neighbours in the output, or in
        a staged block, where elements may lie as they like.
        """
        widest = stored = 1
        summed = calls = 1
        may_stage = any(domains[each.pack] & ~1 for each in self._copies if each.is_output)
        for each in self._axes:
            role = domains[each.roles]
            reach = 1 if role == each.none else each.axis.sizes[domains[each.last].bit_length() - 1]
            calls *= -(-each.axis.extent // reach) if domains[each.walked] == 1 else 1
            if each.axis.reduced:
                summed *= reach
            elif role & each.across:
                widest = max(widest, reach)
                if each.stored or may_stage:
                    stored = max(stored, reach)
        full = min(self.lanes, widest * summed)
        stored = min(self.lanes, stored) if self.multiplies else self.lanes
        return _Blocks(full, stored, summed, calls)

    def _copied(self, each: _Copy, domains: Sequence[int]) -> float:
        """Return how many elements are copied at least: 0 as long as nobody says that they are."""
        if domains[each.pack] & 1:
            return 0.0
        times = 1
        for axis, loops in each.repeats:
            step = axis.extent
            for around, steps in loops:
                if domains[around] == 1:
                    step = axis.sizes[domains[steps].bit_length() - 1]
            times *= -(-axis.extent // step)
        return float(each.elements * times)

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
        if blocks > 1 and self.backbone.teams:  # Their steps need not divide each other, so there may be more blocks.
            return self.backbone.most_threads
        return max(min(blocks, self.backbone.threads), 1)


_EXACT = ("float32", "float64")
"""Types whose vectors hold as many elements as their width says; others may be multiplied in groups."""

_CODE = {
    "products": "fmas",
    "stores": "stores",
    "instructions": "instructions",
    "loads": "loads",
    "shuffles": "shuffles",
    "gathers": "gathers",
    "full_gathers": "full_gathers",
}
"""The rate of each kind of instruction that code executes."""

_RATES = {
    "arithmetic": ("fmas",),
    "stores": ("stores",),
    "calls": ("calls",),
    "memory": ("memory",),
    "L2": ("l2",),
    "L3": ("l3",),
    "beyond L3": ("memory",),
    **{f"{kind} executed": (rate,) for kind, rate in _CODE.items()},
    "parts of the code": tuple(_CODE.values()),
}
"""The rates that each term divides by."""
