"""The order in which decisions of a space are taken.

The order of decisions shapes the tree and never the set of leaves (paper, section 5.5). It is a list of groups, each
the name of a choice; choices that no group names come last. Within a group those come first on which most depends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from einloom import csp
from einloom.errors import ScheduleError

__all__ = ["PAPER_ORDER", "decision_slots"]

PAPER_ORDER = ("layout", "size", "dim_kind", "thread_level", "mem_space", "order", "cache")
"""The paper's order of decisions (section 5.5)."""


def decision_slots(
    problem: csp.Problem,
    groups: Sequence[str] = PAPER_ORDER,
    weight: Callable[[csp.Variable], float] = lambda variable: 0.0,
) -> tuple[int, ...]:
    """Return the slots of all decisions, in the order of the groups of choices, and within a group by weight.

    Args:
        problem: whose decisions.
        groups: names of choices.
        weight: how much depends on a decision; those with more come first, others stay as they are.

    Raises:
        ScheduleError: a group names no choice.
    """
    known = dict.fromkeys(variable.choice for variable in problem.variables)
    for group in groups:
        if group not in known and group not in problem.space.choices:
            raise ScheduleError(f"{group!r} names no choice of this space\n  known: {', '.join(known)}")
    rank = {choice: position for position, choice in enumerate((*groups, *known)) if choice not in groups[:position]}
    variables = sorted(problem.variables, key=lambda variable: (rank[variable.choice], -weight(variable)))
    return tuple(variable.slot for variable in variables)
