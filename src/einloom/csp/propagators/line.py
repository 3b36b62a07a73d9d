"""Lines: clauses over three objects, by the functions that `compile/lines` has written for them.

Two objects fixed, the third one everywhere at once: an `&` of rows of bits tells for all third objects together which
of them have no literal left, and which have one. Grounding such clauses instead would make a cube of disjunctions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from einloom.csp.compile.rows import ClauseRow, EnumRow, ValueLiteral
from einloom.csp.layout.bitrows import BitRows
from einloom.csp.layout.names import Names
from einloom.csp.layout.slots import Layout
from einloom.csp.propagators.propagator import Change, Explanation, extension_slots
from einloom.csp.propagators.store import Store
from einloom.csp.propagators.table import sentence
from einloom.csp.propagators.watches import Watches

__all__ = ["Line"]


class Line:
    """One clause of three objects, of one problem.

    Attributes:
        clause: its row.
        function: binds the written functions to a state.
        bits: where the rows of its choices lie.
        objects: how many objects there are.
        members: the row of the awake members of each variable's set.
        zones: for each variable, a function of the two other objects that gives those for which the clause is to hold.
    """

    def __init__(self, layout: Layout, rows: BitRows, clause: ClauseRow, function: Callable[..., Any]) -> None:
        self.layout = layout
        self.bits = rows
        self.clause = clause
        self.literals = [each for each in clause.literals if isinstance(each, ValueLiteral)]
        self.function = function
        self.objects = rows.objects
        self.sets = [layout.members.sets[each.set].get((), {}) for each in clause.quantifiers]
        self.members = [rows.members[each.set, ()] for each in clause.quantifiers]
        self.zones = [self._zone(role) for role in range(3)]

    def _zone(self, role: int) -> Callable[[int, int], int]:
        """Return a zone function; guards are host code and never change, so it remembers what they said."""
        every = sum(1 << each for each in self.sets[role])
        if not self.clause.guards:
            return lambda x, y: every & ~(1 << x | 1 << y)
        known: dict[tuple[int, int], int] = {}

        def zone(x: int, y: int) -> int:
            if (x, y) not in known:
                known[x, y] = self._unguarded(role, x, y, every & ~(1 << x | 1 << y))
            return known[x, y]

        return zone

    def _unguarded(self, role: int, x: int, y: int, found: int) -> int:
        """Return those of some objects in one role for which no guard holds."""
        call = self.layout.members.hosts.call
        objects = _inserted((x, y), role, 0)
        for guard in self.clause.guards:
            if role not in guard.arguments:
                if call(guard, objects):
                    return 0
                continue
            for each in range(found.bit_length()):
                if found >> each & 1 and call(guard, _inserted((x, y), role, each)):
                    found &= ~(1 << each)
        return found

    def watch(self, watches: Watches) -> None:
        """Follow the line over the third object when a literal of two becomes false; all lines of one object when its
        own literal does, and when it wakes."""
        along = watches.reserve(6)
        start = along + 3
        watches.start += [(start, each) for each in self.sets[0]]
        for role, members in enumerate(self.sets):
            for each, need in members.items():
                watches.extension(need, (start + role, each), at_loss=False)
        for literal in self.literals:
            choice = self.layout.choices[literal.choice]
            for objects, slot in choice.slots.items():
                if len(objects) == 1:
                    watches.literal_false(slot, literal.mask, (start + literal.arguments[0], objects[0]))
                    continue
                self._watch_pair(watches, along, literal, objects, slot, literal.mask)
                if isinstance(choice.row, EnumRow) and choice.row.converse is not None:
                    mask = self.layout.domain_of[slot].seen(literal.mask, True)
                    self._watch_pair(watches, along, literal, objects[::-1], slot, mask)

    def _watch_pair(
        self, watches: Watches, along: int, literal: ValueLiteral, objects: tuple[int, ...], slot: int, mask: int
    ) -> None:
        first, second = literal.arguments
        free = 3 - first - second
        pair = objects if first < second else objects[::-1]
        if all(each in members for each, members in zip(pair, self.sets[:free] + self.sets[free + 1 :])):
            watches.literal_false(slot, mask, (along + free, pair))

    def bind(self, store: Store) -> tuple[Callable[[Any], None], ...]:
        """Return the written functions, for the lists of one state."""
        return self.function(self, store)

    def explain(self, change: Change, names: Names, free: int, first: int, second: int) -> Explanation:
        """Name the clause for the third object that the changed slot tells; for all, if it does not tell."""
        fixed, layout = (first, second), self.layout
        mentioned = set[int]() if change.slot is None else set(layout.objects_of[change.slot]) - set(fixed)
        thirds = sorted(mentioned & set(self.sets[free]))
        tuples = [_inserted(fixed, free, each) for each in thirds or sorted(set(self.sets[free]) - set(fixed))]
        found = {
            layout.find(literal.choice, tuple(objects[each] for each in literal.arguments))[0]
            for objects in tuples
            for literal in self.literals
        }
        needs = [each for slot in found for each in extension_slots(layout.need_of[slot])]
        return sentence(names, [(self.clause, tuples[0])]), (*found, *needs)


def _inserted(pair: tuple[int, int], role: int, third: int) -> tuple[int, ...]:
    return (*pair[:role], third, *pair[role:])
