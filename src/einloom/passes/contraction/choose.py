"""The choice among proposed schedules of a contraction, by predicted cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from einloom.ir.bind import bind
from einloom.ir.held import packed_whole
from einloom.ir.operation import DimType, Operation
from einloom.ir.schedule import Schedule
from einloom.passes.contraction.along_inputs import is_short
from einloom.passes.contraction.along_sums import AlongSum
from einloom.passes.contraction.blocking import Blocking
from einloom.passes.contraction.families import (
    FAMILIES,
    FOLLOWERS,
    NOTHING_PACKED,
    VARIATIONS,
    Family,
    Proposal,
    Setting,
    far_input,
    large_input,
    neighbours,
    nothing_packed,
    packed_input,
    products,
    rows_in_order,
    where_it_lies,
)
from einloom.passes.contraction.groups import grouped_schedules
from einloom.passes.contraction.large_input import prims_of_large_input
from einloom.passes.contraction.narrow import in_computed_type, staged_in_computed_type, widening
from einloom.passes.contraction.outer import outer_schedules
from einloom.passes.contraction.pairs import Reals
from einloom.passes.contraction.plan import Plan
from einloom.passes.contraction.short_runs import ShortRuns
from einloom.passes.identify import LARGER, prims_along, prims_of_one_product, vector_operand
from einloom.passes.model.cost import Cost, CostModel
from einloom.passes.model.tiles import SCRATCH_LIMIT
from einloom.passes.parallelise import parallelise
from einloom.passes.values import Context, Pass, State

__all__ = ["CHOOSE_CONTRACTION", "Costed", "costed", "every_proposal", "listed"]

LITTLE = 100_000
"""Up to so many products nothing but what kernels need is packed: choosing would take longer than computing."""

VARIED = 1.25
"""How much longer a plan may take than the best one for variations of it to be tried."""

LAGS = 2.0
"""How much longer than the best one a family takes whose followers are not tried: below, five loops may still win by a
third, where element once packs the vector operand again for each block of the other, or all of that before it is used.
"""

HOPELESS = 0.9
"""The share of what all variations take at least below which nothing needs to be varied any more."""

NOTHING = Cost(0.0, 0.0, 0.0, 0.0, 0.0)
"""Of proposals that are not compared: the first one is taken."""

IN_PLACE = 1.05
"""How much longer sums of complex products take where one operand is not packed at all: between other packed blocks,
its rows are too short to be fetched ahead (measured: 1.05 to 1.1 on AVX-512)."""


class Costed(NamedTuple):
    """A proposal with its predicted cost on the threads that share it."""

    proposal: Proposal
    cost: Cost


def every_proposal(operation: Operation, schedule: Schedule, context: Context) -> list[Proposal]:
    """Return all that could be chosen, on any machine: of every family, with all variations and all neighbours."""
    if not operation.points:
        return [each.proposal for each in costed(operation, schedule, context)]  # Nothing is worth a block.
    if operation.multiplies_pairs:
        reals = Reals.of(operation, schedule.prims)
        every = _every_proposal(_setting(*reals.undecided, context, of_pairs=True))
        turned, others = _of_pairs(reals, _uncosted(every), context), _of_complex(operation, schedule, context)
        return [each.proposal for each in (*others, *turned)]
    return _every_proposal(_setting(operation, schedule, context))


def _every_proposal(setting: Setting) -> list[Proposal]:
    found = list(_of_families(setting, (*FAMILIES, *(family for _, family in FOLLOWERS))))
    found += _varied(setting, [each.plan for each in found if each.plan])
    found += [each for other in found if other.plan for each in _made(setting, neighbours(other.plan))]
    model = CostModel(setting.operation, setting.machine)
    return [each for each in _distinct(found) if model.flow(each.schedule).scratch_bytes <= SCRATCH_LIMIT]


def costed(operation: Operation, schedule: Schedule, context: Context, may_leave: bool = True) -> list[Costed]:
    """Return proposals with their costs, the cheapest first.

    They are those of every family, then variations of the cheapest plan, then its neighbours. Where elements of the
    output are converted, no staged block leaves while the next one is computed (`may_leave`).
    """
    if operation.multiplies_pairs:
        reals = Reals.of(operation, schedule.prims)
        turned = _of_pairs(reals, _costed(_setting(*reals.undecided, context, of_pairs=True), may_leave=False), context)
        others = (_of_little if 4 * operation.points <= LITTLE else _of_complex)(operation, schedule, context)
        return sorted([*others, *turned], key=_seconds)
    return _costed(_setting(operation, schedule, context), may_leave)


def _costed(setting: Setting, may_leave: bool) -> list[Costed]:
    if setting.operation.points <= LITTLE or not setting.options.packing:
        return _uncosted(_plainest(setting))
    choice = _Choice(setting, may_leave)
    choice.add(_of_families(setting, FAMILIES))
    choice.add(_of_families(setting, (family for shown, family in FOLLOWERS if not choice.lags(shown))))
    if not choice.found:
        return _uncosted(_made(setting, [NOTHING_PACKED]))
    choice.add(_varied(setting, choice.best_plans()))
    if (plan := choice.best.proposal.plan) is not None:
        choice.add(_made(setting, neighbours(plan)))
    return sorted(choice.found, key=_seconds)


def _uncosted(found: Iterable[Proposal]) -> list[Costed]:
    return [Costed(each, NOTHING) for each in found]


class _Choice:
    """The proposals so far with their costs, one of each schedule."""

    def __init__(self, setting: Setting, may_leave: bool) -> None:
        self.setting = setting
        self.model = CostModel(setting.operation, setting.machine, may_leave=may_leave)
        self.found: list[Costed] = []
        self.seen = set[Schedule]()
        """Their schedules, and those that found too little scratch."""

    def add(self, proposals: Iterable[Proposal]) -> None:
        """Cost the proposals that are new, wanted, and find enough scratch, as threads share them."""
        threads = self.setting.options.threads
        for proposal in proposals:
            schedule = proposal.schedule
            if schedule in self.seen or (schedule.fused and not self.setting.options.fuses):
                continue
            self.seen.add(schedule)
            if threads > 1:
                schedule = parallelise(self.setting.operation, schedule, threads)
            for operand in self.setting.options.held:
                schedule = packed_whole(self.setting.operation, schedule, operand)
            flow = self.model.flow(schedule, self.setting.options.held)
            if flow.scratch_bytes <= SCRATCH_LIMIT:
                self.found.append(Costed(proposal, self.model.cost_of_flow(flow, threads)))

    @property
    def best(self) -> Costed:
        """The cheapest; of equally cheap ones the first."""
        return min(self.found, key=_seconds)

    def lags(self, family: str) -> bool:
        """Whether a family has been tried and is far behind the best."""
        tried = [each.cost.seconds for each in self.found if each.proposal.family == family]
        return bool(tried) and min(tried) > LAGS * self.best.cost.seconds

    def best_plans(self) -> list[Plan]:
        """Return plans to vary: the cheapest, and of those near it the cheapest with other packs and with other panels.

        None, where even with the fewest cycles the copies of the cheapest one take longer than the best proposal does.
        """
        planned = [(each.proposal.plan, each.cost) for each in self.found if each.proposal.plan is not None]
        if not planned:
            return []
        planned.sort(key=lambda each: each[1].seconds)
        cheapest, cost = planned[0]
        least = self.model.least / self.setting.options.threads
        if self.best.cost.seconds < HOPELESS * (least + cost.copies):
            return []
        best = {(cheapest.vector_inside, cheapest.packs_element): cheapest}
        for plan, other in planned:
            if other.seconds <= VARIED * cost.seconds:
                best.setdefault((plan.vector_inside, plan.packs_element), plan)
        return list(best.values())


def _setting(operation: Operation, schedule: Schedule, context: Context, of_pairs: bool = False) -> Setting:
    blocking = Blocking(operation, schedule.prims, context.machine, context.options.max_kernel_size)
    return Setting(operation, schedule.prims, context.machine, context.options, blocking, of_pairs)


_VECTOR_ALONE = Plan("vector block, element in place", packs_element=False)


def _plainest(setting: Setting) -> Iterator[Proposal]:
    """The proposal of small work: the vector operand is packed if kernels would have to gather it."""
    packs = setting.gathers and setting.options.packing
    return _made(setting, [_VECTOR_ALONE] if packs else nothing_packed(setting))


def _of_families(setting: Setting, families: Iterable[Family]) -> Iterator[Proposal]:
    return _made(setting, (each for family in families for each in family(setting)))


def _varied(setting: Setting, plans: Sequence[Plan]) -> Iterator[Proposal]:
    return _made(setting, (each for vary in VARIATIONS for each in vary(setting, plans)))


def _made(setting: Setting, proposed: Iterable[Plan | Proposal]) -> Iterator[Proposal]:
    """Yield proposals, of plans the schedules that the operation has room for."""
    for each in proposed:
        if isinstance(each, Proposal):
            yield each
        elif (schedule := setting.blocking.schedule(each)) is not None:
            yield Proposal(each.family, schedule, each)


def _distinct(found: Iterable[Proposal]) -> list[Proposal]:
    """Return the proposals, each schedule once, by the first that proposes it."""
    schedules: dict[Schedule, Proposal] = {}
    for each in found:
        schedules.setdefault(each.schedule, each)
    return list(schedules.values())


def _seconds(each: Costed) -> float:
    return each.cost.seconds


def _apply(operation: Operation, schedule: Schedule, context: Context) -> State:
    if operation.main.is_contraction and not schedule.loops:  # Else another pass has blocked it.
        schedule = _with_groups(operation, schedule, context)[0].proposal.schedule
    return operation, staged_in_computed_type(operation, schedule)


def _with_groups(operation: Operation, schedule: Schedule, context: Context) -> list[Costed]:
    """Return proposals with their costs, the cheapest first: of elements as they are computed, and of groups."""
    computed = in_computed_type(operation)
    found = costed(computed, schedule, context, may_leave=operation.output.dtype == operation.accumulate)
    if computed is not operation:
        found = [each._replace(cost=widening(operation, each.proposal.schedule, each.cost)) for each in found]
    if operation.points > LITTLE and not operation.multiplies_pairs:
        others = chain(
            outer_schedules(operation, schedule.prims, context),
            grouped_schedules(operation, schedule.prims, context),
        )
        found += [Costed(Proposal(family, proposed), cost) for family, proposed, cost in others]
    found = sorted(found, key=_seconds)
    return found if computed is operation and not operation.multiplies_pairs else _within_scratch(operation, found)


def _within_scratch(operation: Operation, found: list[Costed]) -> list[Costed]:
    """Return proposals from the first on that finds enough scratch: what is converted, or turned, may need more of it
    than the elements that were reckoned with. If none does, the one that needs least is taken."""
    fits = (i for i, each in enumerate(found) if _scratch_bytes(operation, each.proposal) <= SCRATCH_LIMIT)
    first = next(fits, None)
    if first is not None:
        return found[first:]
    return [min(found, key=lambda each: _scratch_bytes(operation, each.proposal))]


def _scratch_bytes(operation: Operation, proposal: Proposal) -> int:
    return bind(operation, staged_in_computed_type(operation, proposal.schedule)).scratch_bytes


def _of_pairs(reals: Reals, found: Iterable[Costed], context: Context) -> list[Costed]:
    """Return what was found for reals as proposals for complex numbers: vectors are always packed."""
    restored = [each for each in (_restored(reals, _with_short_runs(reals, other)) for other in found) if each]
    unlimited = replace(context, options=replace(context.options, max_kernel_size=None))  # Kernels are split later.
    alone = _made(_setting(*reals.undecided, unlimited), [_VECTOR_ALONE])
    return restored or [each for each in (_restored(reals, other) for other in _uncosted(alone)) if each is not None]


def _with_short_runs(reals: Reals, found: Costed) -> Costed:
    """Return a proposal with what it takes longer where kernels read the operand in place that is not turned."""
    if any(pack.operand == 1 - reals.vector for pack in found.proposal.schedule.packs):
        return found
    return found._replace(cost=found.cost._replace(arithmetic=IN_PLACE * found.cost.arithmetic))


def _of_complex(operation: Operation, schedule: Schedule, context: Context) -> list[Costed]:
    """Return the proposals for complex numbers that are none for reals."""
    return [
        *_where_they_lie(operation, schedule, context, (nothing_packed, rows_in_order)),
        *_in_short_runs(operation, context),
        *_along_sum(operation, context),
        *_large_input(operation, context),
        *_as_inputs_lie(operation, context),
        *_smaller_turned(operation, schedule, context),
        *_one_by_one(operation, context),
    ]


def _of_little(operation: Operation, schedule: Schedule, context: Context) -> list[Costed]:
    """Return the same of little work, of which the first is taken: nothing is packed."""
    axes = AlongSum.of(operation, context.machine)
    return [
        *_where_they_lie(operation, schedule, context, (nothing_packed,)),
        *_in_short_runs(operation, context),
        *(_along_sum(operation, context) if axes is not None and axes.has_few_rows else ()),
    ]


def _where_they_lie(
    operation: Operation, schedule: Schedule, context: Context, families: Sequence[Family]
) -> Iterator[Costed]:
    """Yield what multiplies complex numbers without packs."""
    reals = Reals.where_they_lie(operation, schedule.prims)
    if reals is None:
        return
    setting = _setting(*reals.undecided, context)
    model = CostModel(reals.operation, context.machine, asks_in_place=False, may_leave=False)
    small = 4 * operation.points <= LITTLE
    for proposal in _distinct(_made(setting, (each for family in families for each in family(setting)))):
        cost = NOTHING if small else _shared_cost(model, proposal.schedule, context)
        restored = _restored(reals, Costed(proposal, cost))
        if restored is not None:
            yield restored


def _in_short_runs(operation: Operation, context: Context) -> Iterator[Costed]:
    """Yield what multiplies complex numbers without packs where vectors hold several short runs."""
    runs = ShortRuns.of(operation, context.machine)
    if runs is None or context.options.max_kernel_size is not None:
        return
    schedule, small = runs.schedule(context.machine), 4 * operation.points <= LITTLE
    threads = context.options.threads
    cost = NOTHING if small else runs.cost(parallelise(operation, schedule, threads), context.machine, threads)
    yield Costed(Proposal(runs.family, schedule), cost)


def _along_sum(operation: Operation, context: Context) -> Iterator[Costed]:
    """Yield what multiplies rows of complex elements that both inputs have along a summed axis."""
    axes = AlongSum.of(operation, context.machine)
    if axes is None or context.options.max_kernel_size is not None:
        return
    small, threads = 4 * operation.points <= LITTLE, context.options.threads
    for schedule in dict.fromkeys(axes.schedules(context.machine)):
        cost = NOTHING if small else axes.cost(parallelise(operation, schedule, threads), context.machine, threads)
        yield Costed(Proposal("along a sum", schedule), cost)


def _large_input(operation: Operation, context: Context) -> Iterator[Costed]:
    """Yield what reads complex elements of a large input in its own order, along which vectors of pairs run."""
    prims = prims_of_large_input(operation)
    if prims is not None:
        reals = Reals.of(operation, prims, staged=True)
        yield from _restored_all(reals, large_input(_setting(*reals.undecided, context)), context)


def _as_inputs_lie(operation: Operation, context: Context) -> Iterator[Costed]:
    """Yield what reads complex elements of an input where they lie, and turns the output instead.

    The input comes from memory, or vectors along the output would be parts of cache lines.
    """
    innermost = operation.contiguous_axis(operation.output)
    turns = innermost is not None and innermost.role is not DimType.C and is_short(operation, innermost)
    for operand in operation.inputs if operation.first_touch.initialises and context.options.packing else ():
        m = operation.contiguous_axis(operand)
        if m is None or m.role not in (DimType.M, DimType.N):
            continue
        reals = Reals.where_they_lie(operation, prims_along(operation, m), staged=True)
        if reals is not None:
            family = where_it_lies if turns and m is not innermost else far_input
            yield from _restored_all(reals, family(_setting(*reals.undecided, context)), context)


def _smaller_turned(operation: Operation, schedule: Schedule, context: Context) -> Iterator[Costed]:
    """Yield what packs the smaller input in the form 1e, which writes four reals an element, and turns the output."""
    vector = vector_operand(operation, schedule.prims)
    if len(operation.inputs) != 2 or not operation.first_touch.initialises or not context.options.packing:
        return
    inputs = operation.inputs[vector], operation.inputs[1 - vector]
    large, small, turned = map(operation.elements, (*inputs, operation.output))
    own = [axis for axis in operation.axes if axis.role is (DimType.M if vector else DimType.N)]
    if own and large > LARGER * small and large >= turned:
        m = min(own, key=lambda axis: operation.distance(inputs[1], axis))
        reals = Reals.of(operation, prims_along(operation, m), staged=True)
        yield from _restored_all(reals, packed_input(_setting(*reals.undecided, context)), context)


def _one_by_one(operation: Operation, context: Context) -> Iterator[Costed]:
    """Yield what computes each product of a batch on its own, with packs or where elements lie."""
    for prims in prims_of_one_product(operation) if context.options.packing else ():
        for reals in (Reals.of(operation, prims, staged=True), Reals.where_they_lie(operation, prims, staged=True)):
            if reals is not None:
                setting = _setting(*reals.undecided, context)
                proposed = (products(setting, reals.packs, long_runs) for long_runs in (False, True))
                yield from _restored_all(reals, chain.from_iterable(proposed), context)


def _restored_all(reals: Reals, proposals: Iterable[Proposal], context: Context) -> Iterator[Costed]:
    model = CostModel(reals.operation, context.machine, asks_in_place=reals.packs, may_leave=False)
    for proposal in _distinct(proposals):
        restored = _restored(reals, Costed(proposal, _shared_cost(model, proposal.schedule, context)))
        if restored is not None:
            yield restored


def _shared_cost(model: CostModel, schedule: Schedule, context: Context) -> Cost:
    threads = context.options.threads
    return model.cost(parallelise(model.operation, schedule, threads), threads)


def _restored(reals: Reals, found: Costed) -> Costed | None:
    schedule = reals.restored(found.proposal.schedule)
    return None if schedule is None else found._replace(proposal=Proposal(found.proposal.family, schedule))


def _explain(before: State, after: State, context: Context) -> str:
    operation, schedule = before
    if not operation.main.is_contraction or schedule.loops:
        return "no: blocked before" if schedule.loops else "no: nothing is contracted"
    return listed(_with_groups(operation, schedule, context))


def listed(found: Sequence[Costed]) -> str:
    """Return what was chosen, and a line for each proposal."""
    best = found[0]
    said = f"{best.proposal.family}: {best.proposal.schedule}"
    if len(found) == 1:
        return f"{said}; the only proposal"
    lines = [f"    {_milliseconds(each)}  {each.proposal.family}: {each.proposal.schedule}" for each in found]
    return "\n".join([f"{best.proposal.family}, the cheapest of {len(found)} proposals", *lines])


def _milliseconds(each: Costed) -> str:
    cost = each.cost
    parts = ", ".join(f"{name} {part * 1e3:.3g}" for name, part in cost._asdict().items())
    return f"{cost.seconds * 1e3:8.3g} ms ({parts})"


CHOOSE_CONTRACTION = Pass("block contraction", _apply, _explain)
