"""`LineBinding`: what the generated line functions of one clause need from a state, and where it lies in its lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from einloom.csp.engine.state import State

__all__ = ["LineBinding"]


class LineBinding:
    """One clause of `lines` for one state.

    Attributes:
        number: the clause's number in the space.
    """

    def __init__(self, state: State, number: int) -> None:
        self.problem = state.problem
        self.number = number
        self.clause = self.problem.space.clauses[number]
        self.domains, self.rows, self.assign, self.die = state.domains, state.rows, state.assign, state.die
        self.objects = self.problem.rows.objects

    def members(self, role: int) -> int:
        """Return the row of the awake members of a variable's set."""
        return self.problem.rows.members[self.clause.quantifiers[role].set, ()]

    def first(self, choice: str, mask: int) -> tuple[int, ...]:
        """Return where the rows of first objects start, one for each value."""
        return self.problem.rows.first_rows(choice, mask)

    def second(self, choice: str, mask: int) -> tuple[int, ...]:
        """Return where the rows of second objects start, one for each value."""
        return self.problem.rows.second_rows(choice, mask)

    def slots(self, name: str) -> list[int]:
        """Return the slots of a choice by object, or by `first * objects + second`; -1 where there is none."""
        return self.problem.slot_table(name)

    def zone(self, role: int) -> Callable[[int, int], int]:
        """Return a function of the two other objects that gives the objects for which the clause is to hold."""
        return self.problem.zone(self.number, role)


def make_zone(problem, number: int, role: int) -> Callable[[int, int], int]:
    """Return the zone function of a clause and variable, with a memory."""
    clause = problem.space.clauses[number]
    members, hosts = problem.layout.members.sets, problem.layout.members.hosts
    others = [i for i in range(3) if i != role]
    known: dict[tuple[int, int], int] = {}
    every = sum(1 << each for each in members[clause.quantifiers[role].set].get((), {}))

    def zone(x: int, y: int) -> int:
        if (x, y) not in known:
            known[x, y] = compute(x, y)
        return known[x, y]

    def compute(x: int, y: int) -> int:
        found = every & ~(1 << x) & ~(1 << y)
        objects = [0, 0, 0]
        objects[others[0]], objects[others[1]] = x, y
        for guard in clause.guards:
            if role not in guard.arguments:
                if hosts.call(guard, objects):
                    return 0
                continue
            for each in range(found.bit_length()):
                if found >> each & 1:
                    objects[role] = each
                    if hosts.call(guard, objects):
                        found &= ~(1 << each)
        return found

    if not clause.guards:
        return lambda x, y: every & ~(1 << x | 1 << y)
    return zone
