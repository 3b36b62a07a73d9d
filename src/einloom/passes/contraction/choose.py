"""The choice among proposed schedules of a contraction, by predicted cost.

`families` and `variations` propose, for complex numbers `complex_proposals`, for groups of narrow elements `groups` and
`outer`; `einloom.passes.model.cost` predicts. Here stand the order in which proposals are tried, and the pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from einloom.ir.bind import bind
from einloom.ir.held import packed_whole
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.passes.contraction.complex_proposals import (
    proposals_beside_reals,
    proposals_from_reals,
    proposals_of_little,
)
from einloom.passes.contraction.families import (
    FAMILIES,
    FOLLOWERS,
    NOTHING_PACKED,
    Family,
    nothing_packed,
    vector_block,
)
from einloom.passes.contraction.groups import grouped_schedules
from einloom.passes.contraction.narrow import in_computed_type, staged_in_computed_type, widening
from einloom.passes.contraction.outer import outer_schedules
from einloom.passes.contraction.pairs import Reals
from einloom.passes.contraction.plan import Plan
from einloom.passes.contraction.proposals import (
    Costed,
    Proposal,
    distinct,
    is_little,
    listed,
    proposals_of,
    seconds_of,
    uncosted,
)
from einloom.passes.contraction.setting import Setting
from einloom.passes.contraction.variations import VARIATIONS, neighbours
from einloom.passes.model.cost import CostModel
from einloom.passes.model.tiles import SCRATCH_LIMIT
from einloom.passes.parallelise import parallelise
from einloom.passes.values import Context, Pass, State

__all__ = ["CHOOSE_CONTRACTION", "costed", "every_proposal"]

VARIED = 1.25
"""How much longer a plan may take than the best one for variations of it to be tried."""

LAGS = 2.0
"""How much longer than the best one a family takes whose followers are not tried: below, five loops may still win by a
third, where element once packs the vector operand again for each block of the other, or all of that before it is used.
"""

NEAR = 1.6
"""How much longer than the best proposal a plan may take for its neighbours to be tried."""

HOPELESS = 0.9
"""The share of what all variations take at least below which nothing needs to be varied any more."""


def every_proposal(operation: Operation, schedule: Schedule, context: Context) -> list[Proposal]:
    """Return all that could be chosen, on any machine: of every family, with all variations and all neighbours."""
    if not operation.points:
        return [each.proposal for each in costed(operation, schedule, context)]  # Nothing is worth a block.
    if operation.multiplies_pairs:
        reals = Reals.of(operation, schedule.prims)
        every = _every_proposal(Setting.of(*reals.undecided, context, of_pairs=True))
        turned = proposals_from_reals(reals, uncosted(every), context)
        return [each.proposal for each in (*proposals_beside_reals(operation, schedule, context), *turned)]
    return _every_proposal(Setting.of(operation, schedule, context))


def _every_proposal(setting: Setting) -> list[Proposal]:
    found = list(_of_families(setting, (*FAMILIES, *(family for _, family in FOLLOWERS))))
    found += _varied(setting, [each.plan for each in found if each.plan])
    found += [each for other in found if other.plan for each in proposals_of(setting, neighbours(other.plan))]
    model = CostModel(setting.operation, setting.machine)
    return [each for each in distinct(found) if model.flow(each.schedule).scratch_bytes <= SCRATCH_LIMIT]


def costed(operation: Operation, schedule: Schedule, context: Context, may_leave: bool = True) -> list[Costed]:
    """Return proposals with their costs, the cheapest first.

    They are those of every family, then variations and neighbours of the cheapest plans. Where elements of the
    output are converted, no staged block leaves while the next one is computed (`may_leave`).
    """
    if operation.multiplies_pairs:
        reals = Reals.of(operation, schedule.prims)
        found = _costed(Setting.of(*reals.undecided, context, of_pairs=True), may_leave=False)
        others = proposals_of_little if is_little(operation) else proposals_beside_reals
        turned = proposals_from_reals(reals, found, context)
        return sorted([*others(operation, schedule, context), *turned], key=seconds_of)
    return _costed(Setting.of(operation, schedule, context), may_leave)


def _costed(setting: Setting, may_leave: bool) -> list[Costed]:
    if is_little(setting.operation) or not setting.options.packing:
        return uncosted(_plainest(setting))
    choice = _Choice(setting, may_leave)
    choice.add(_of_families(setting, FAMILIES))
    choice.add(_of_families(setting, (family for shown, family in FOLLOWERS if not choice.lags(shown))))
    if not choice.found:
        return uncosted(proposals_of(setting, [NOTHING_PACKED]))
    choice.add(_varied(setting, choice.best_plans()))
    choice.add(proposals_of(setting, (each for plan in choice.best_packed() for each in neighbours(plan))))
    return sorted(choice.found, key=seconds_of)


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
        return min(self.found, key=seconds_of)

    def lags(self, family: str) -> bool:
        """Whether a family has been tried and is far behind the best."""
        tried = [each.cost.seconds for each in self.found if each.proposal.family == family]
        return bool(tried) and min(tried) > LAGS * self.best.cost.seconds

    def best_packed(self) -> list[Plan]:
        """Return the cheapest plan with packs, whose neighbours may be better than what the best one costs now."""
        planned = ((each.cost.seconds, each.proposal.plan) for each in self.found)
        packed = [(seconds, plan) for seconds, plan in planned if plan is not None and plan.packs]
        near = [each for each in packed if each[0] < NEAR * self.best.cost.seconds]
        return [plan for _, plan in sorted(near, key=lambda each: each[0])[:1]]

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


def _plainest(setting: Setting) -> Iterator[Proposal]:
    """The proposal of small work: the vector operand is packed if kernels would have to gather it."""
    packs = setting.gathers and setting.options.packing
    return proposals_of(setting, vector_block(setting) if packs else nothing_packed(setting))


def _of_families(setting: Setting, families: Iterable[Family]) -> Iterator[Proposal]:
    return proposals_of(setting, (each for family in families for each in family(setting)))


def _varied(setting: Setting, plans: Sequence[Plan]) -> Iterator[Proposal]:
    return proposals_of(setting, (each for vary in VARIATIONS for each in vary(setting, plans)))


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
    if not (is_little(operation) or operation.multiplies_pairs):
        others = chain(
            outer_schedules(operation, schedule.prims, context),
            grouped_schedules(operation, schedule.prims, context),
        )
        found += [Costed(Proposal(family, proposed), cost) for family, proposed, cost in others]
    found = sorted(found, key=seconds_of)
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


def _explain(before: State, after: State, context: Context) -> str:
    operation, schedule = before
    if not operation.main.is_contraction or schedule.loops:
        return "no: blocked before" if schedule.loops else "no: nothing is contracted"
    return listed(_with_groups(operation, schedule, context))


CHOOSE_CONTRACTION = Pass("block contraction", _apply, _explain)
