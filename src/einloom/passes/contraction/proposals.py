"""What a schedule is chosen from: a `Proposal`, and with its predicted cost a `Costed` one.

Families and variations yield plans, or proposals that have their schedule already; `proposals_of` makes schedules of
plans. `listed` prints them, as `f.show("passes")` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.passes.contraction.plan import Plan
from einloom.passes.contraction.setting import Setting
from einloom.passes.model.cost import Cost

__all__ = ["NOTHING", "Costed", "Proposal", "distinct", "is_little", "listed", "proposals_of", "seconds_of", "uncosted"]

LITTLE = 100_000
"""Up to so many products nothing but what kernels need is packed: choosing would take longer than computing."""

NOTHING = Cost(0.0, 0.0, 0.0, 0.0, 0.0)
"""Of proposals that are not compared: the first one is taken."""


class Proposal(NamedTuple):
    """A proposed schedule, and the plan it was made of if there is one."""

    family: str
    schedule: Schedule
    plan: Plan | None = None


class Costed(NamedTuple):
    """A proposal with its predicted cost on the threads that share it."""

    proposal: Proposal
    cost: Cost


def is_little(operation: Operation) -> bool:
    """Whether choosing would take longer than computing: proposals are not compared."""
    products = 4 if operation.multiplies_pairs else 1
    return products * operation.points <= LITTLE


def proposals_of(setting: Setting, proposed: Iterable[Plan | Proposal]) -> Iterator[Proposal]:
    """Yield proposals, of plans the schedules that the operation has room for."""
    for each in proposed:
        if isinstance(each, Proposal):
            yield each
        elif (schedule := setting.blocking.schedule(each)) is not None:
            yield Proposal(each.family, schedule, each)


def distinct(found: Iterable[Proposal]) -> list[Proposal]:
    """Return the proposals, each schedule once, by the first that proposes it."""
    schedules: dict[Schedule, Proposal] = {}
    for each in found:
        schedules.setdefault(each.schedule, each)
    return list(schedules.values())


def uncosted(found: Iterable[Proposal]) -> list[Costed]:
    """Return proposals that are not compared."""
    return [Costed(each, NOTHING) for each in found]


def seconds_of(each: Costed) -> float:
    """Return what a proposal is predicted to take: the cheapest one is chosen."""
    return each.cost.seconds


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
