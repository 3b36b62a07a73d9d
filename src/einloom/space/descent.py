"""Walking a space: the order in which decisions are taken, and uniform random descents.

The order of decisions shapes the tree and never the set of leaves (paper, section 5.5). It is a list of groups, each
the name of a choice; choices that no group names come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from einloom import csp
from einloom.errors import ScheduleError

__all__ = ["PAPER_ORDER", "decision_slots", "descend", "masks"]

PAPER_ORDER = ("layout", "size", "dim_kind", "thread_level", "mem_space", "order", "cache")
"""The paper's order of decisions (section 5.5)."""


def decision_slots(problem: csp.Problem, groups: Sequence[str] = PAPER_ORDER) -> tuple[int, ...]:
    """Return the slots of all decisions, in the order of the groups of choices.

    Raises:
        ScheduleError: a group names no choice.
    """
    known = dict.fromkeys((*(variable.choice for variable in problem.variables), *PAPER_ORDER))
    for group in groups:
        if group not in known:
            raise ScheduleError(f"{group!r} names no choice of this space\n  known: {', '.join(known)}")
    rank = {choice: position for position, choice in enumerate((*groups, *known)) if choice not in groups[:position]}
    variables = sorted(problem.variables, key=lambda variable: rank[variable.choice])
    return tuple(variable.slot for variable in variables)


def masks(domain: int) -> list[int]:
    """Return the single values of a domain, as masks."""
    found: list[int] = []
    while domain:
        lowest = domain & -domain
        found.append(lowest)
        domain ^= lowest
    return found


def descend(state: csp.State, slots: Sequence[int], random: Random, path: list[tuple[int, int]] | None = None) -> bool:
    """Take one uniformly chosen valid value after the other until all of `slots` are decided; False at a dead end.

    The first value of a random permutation that propagation accepts is uniform among the valid ones, so the others need
    not be tried. `path` collects the decisions, as slots and masks.
    """
    while (slot := state.next_open(slots)) >= 0:
        values = masks(state.domains[slot])
        random.shuffle(values)
        for mask in values:
            state.push()
            if state.restrict(slot, mask):
                state.drop()
                break
            state.pop()
        else:
            return False
        if path is not None:
            path.append((slot, mask))
    return True
