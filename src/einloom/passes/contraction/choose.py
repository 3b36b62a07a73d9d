"""The choice among proposed schedules of a contraction, by predicted cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.passes.contraction.blocking import Blocking
from einloom.passes.contraction.families import FAMILIES, Proposal, Setting, in_place, neighbours
from einloom.passes.contraction.plan import Plan
from einloom.passes.model.cost import Cost, CostModel
from einloom.passes.model.tiles import SCRATCH_LIMIT
from einloom.passes.parallelise import parallelise
from einloom.passes.values import Context, Pass, State

__all__ = ["CHOOSE_CONTRACTION", "Costed", "costed", "every_proposal", "listed"]

LITTLE = 100_000
"""Up to so many products nothing but what kernels need is packed: choosing would take longer than computing."""


@dataclass(frozen=True, slots=True)
class Costed:
    """A proposal with its predicted cost on the threads that share it."""

    proposal: Proposal
    cost: Cost


def _proposed(setting: Setting) -> list[Proposal]:
    """What all families propose, each schedule once."""
    return _distinct(each for family in FAMILIES for proposed in family(setting) for each in _made(setting, proposed))


def every_proposal(operation: Operation, schedule: Schedule, context: Context) -> list[Proposal]:
    """Return all that could be chosen, on any machine: the proposals of every family and all their neighbours."""
    setting = _setting(operation, schedule, context)
    found = _proposed(setting)
    plans = [each.plan for each in found if each.plan is not None]
    near = (each for plan in plans for other in neighbours(plan) for each in _made(setting, other))
    model = CostModel(operation, context.machine)
    return [each for each in _distinct(iter([*found, *near])) if model.scratch_bytes(each.schedule) <= SCRATCH_LIMIT]


def costed(operation: Operation, schedule: Schedule, context: Context) -> list[Costed]:
    """Return proposals with their costs, the cheapest first: of every family, then neighbours of the best."""
    setting = _setting(operation, schedule, context)
    if operation.points <= LITTLE or not context.options.packing:
        return [Costed(each, Cost(0.0, 0.0, 0.0, 0.0, 0.0)) for each in _plainest(setting)]
    model = CostModel(operation, context.machine)
    found = list(_costed(setting, model, _proposed(setting)))
    best = min(found, key=_seconds)
    if best.proposal.plan is not None:
        near = _distinct(each for plan in neighbours(best.proposal.plan) for each in _made(setting, plan))
        known = {each.proposal.schedule for each in found}
        found += _costed(setting, model, (each for each in near if each.schedule not in known))
    return sorted(found, key=_seconds)


def _setting(operation: Operation, schedule: Schedule, context: Context) -> Setting:
    blocking = Blocking(operation, schedule.prims, context.machine, context.options.max_kernel_size)
    return Setting(operation, schedule.prims, context.machine, context.options, blocking)


def _plainest(setting: Setting) -> list[Proposal]:
    """The proposal of small work: the vector operand is packed if kernels would have to gather it."""
    packs = setting.gathers and setting.options.packing
    plans = [Plan("vector block", packs_element=False)] if packs else list(in_place(setting))
    return [each for plan in plans for each in _made(setting, plan)]


def _made(setting: Setting, proposed: Plan | Proposal) -> Iterator[Proposal]:
    if isinstance(proposed, Proposal):
        yield proposed
    elif (schedule := setting.blocking.schedule(proposed)) is not None:
        yield Proposal(proposed.family, schedule, proposed)


def _distinct(found: Iterator[Proposal]) -> list[Proposal]:
    return list({each.schedule: each for each in reversed(list(found))}.values())[::-1]


def _costed(setting: Setting, model: CostModel, proposals: Iterable[Proposal]) -> Iterator[Costed]:
    """Yield the proposals that find enough scratch, with their costs as threads share them."""
    threads = setting.options.threads
    for proposal in proposals:
        schedule = proposal.schedule
        if threads > 1:
            schedule = parallelise(setting.operation, schedule, threads)
        if model.scratch_bytes(schedule) <= SCRATCH_LIMIT:
            yield Costed(proposal, model.cost(schedule, threads))


def _seconds(each: Costed) -> float:
    return each.cost.seconds


def _apply(operation: Operation, schedule: Schedule, context: Context) -> State:
    if not operation.main.is_contraction or schedule.loops:  # Another pass has blocked it.
        return operation, schedule
    return operation, costed(operation, schedule, context)[0].proposal.schedule


def _explain(before: State, after: State, context: Context) -> str:
    operation, schedule = before
    if not operation.main.is_contraction or schedule.loops:
        return "no: blocked before" if schedule.loops else "no: nothing is contracted"
    return listed(costed(operation, schedule, context))


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
