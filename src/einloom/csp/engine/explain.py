"""Why a value is gone and why nothing is left: the constraint, the chain of removals, and the decisions behind them.

It walks a state's trail backwards from the removal, through what each propagator read. The chain suffices for the
removal; it need not be the shortest one.
"""

from __future__ import annotations

from typing import Any

from einloom.csp.engine.state import Decision, State
from einloom.csp.layout.names import Names
from einloom.csp.propagators.propagator import Change, Constraint, Explanation
from einloom.errors import DeadEnd
from einloom.frozen import frozen

__all__ = ["Decisions", "Reason", "dead_end", "explain_removal"]

Decisions = tuple[tuple[str, tuple[Any, ...]], ...]


@frozen
class Reason:
    """Why a value is gone, or why nothing is left.

    Attributes:
        constraint: text of the constraint that removed it, with its objects and its place.
        decisions: the decisions that it followed from, as `(name, values)`.
        chain: what was removed on the way and by what, in order, one line each.
    """

    constraint: str
    decisions: Decisions
    chain: tuple[str, ...]

    def __str__(self) -> str:
        lines = [self.constraint]
        if self.decisions:
            lines.append("  after " + ", ".join(f"{name} = {_listed(values)}" for name, values in self.decisions))
        return "\n".join([*lines, *(f"  {line}" for line in self.chain)])


def _listed(values: tuple[Any, ...]) -> str:
    return " | ".join(map(str, values))


def dead_end(state: State, decision: tuple[str, tuple[Any, ...]] | None) -> DeadEnd:
    """Return the `DeadEnd` of a state that has failed; `conflict` on it is the `Reason`.

    Args:
        decision: what was decided last; None at the root.
    """
    end, failure, slot, mask = len(state.trail), state.failure, None, 0
    if isinstance(failure, Decision):
        end, slot, mask = end - 1, failure.slot, failure.mask
        reason = explain_removal(state, slot, mask, end)
    else:
        if state.trail and state.domains[state.trail[-1][0]] == 0:
            end, slot = end - 1, state.trail[-1][0]
        reason = _explain(state, failure, end, slot)
    head = "the constraints leave no implementation"
    if decision is not None:
        head = f"{decision[0]} = {_listed(decision[1])} leaves no implementation"
    error = DeadEnd(f"{head}: {reason}")
    error.conflict = reason
    return error


def explain_removal(state: State, slot: int, mask: int, end: int | None = None) -> Reason | None:
    """Return why the values of `mask` are gone from a slot; None if they are not.

    Args:
        end: how much of the trail to look at; default all of it.
    """
    for index in range(len(state.trail) if end is None else end, 0, -1):
        changed, old, reason = state.trail[index - 1]
        if changed == slot and old & mask:
            return _explain(state, reason, index - 1, slot)
    return None


def _explain(state: State, reason: Any, end: int, slot: int | None) -> Reason:
    """Walk back from the change that `reason` made to `slot`, which stands at `end` of the trail.

    `masks` are the domains as they were before the change that the walk has reached; `wanted` are the slots that some
    constraint on the way has read, and whose changes therefore belong to the chain.
    """
    names, masks = state.tables.names, list(state.domains)
    lost = 0
    for changed, old, _ in reversed(state.trail[end:]):
        if changed >= 0:
            lost, masks[changed] = old & ~masks[changed], old
    text, scope = _said(names, reason, Change(slot, lost, masks))
    wanted = set(scope)
    chain: list[str] = []
    decisions = [_decision(names, reason)] if isinstance(reason, Decision) else []
    for changed, old, why in reversed(state.trail[:end]):
        gone = 0
        if changed >= 0:
            gone, masks[changed] = old & ~masks[changed], old
        if changed not in wanted:
            continue
        if isinstance(why, Decision):
            decisions.append(_decision(names, why))
            chain.append(f"{names.layout.name(changed)} = {_listed(decisions[-1][1])}: decided")
            continue
        said, more = _said(names, why, Change(changed, gone, masks))
        wanted.update(more)
        if changed >= 0:
            values = names.layout.domain_of[changed].select(gone)
            said = f"{names.layout.name(changed)} loses {_listed(values)}: {said}"
        chain.append(said)
    return Reason(text, tuple(reversed(decisions)), tuple(reversed(chain)))


def _said(names: Names, reason: Constraint | tuple[Any, ...] | None, change: Change) -> Explanation:
    if reason is None:
        return "a limit that was set", ()
    if isinstance(reason, tuple):
        return reason[0].explain(change, names, *reason[1:])
    return reason.explain(change, names)


def _decision(names: Names, decision: Decision) -> tuple[str, tuple[Any, ...]]:
    domain = names.layout.domain_of[decision.slot]
    return names.layout.name(decision.slot), domain.select(decision.mask & domain.full)
