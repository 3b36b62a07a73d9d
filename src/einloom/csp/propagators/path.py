"""Paths: path consistency of a binary choice by its composition table, a row of objects at a time.

After a change of f(a, b), for every third object c at once: f(a, c) keeps a value only if some value of f(a, b) and
some value of f(b, c) compose to it, and f(b, c) likewise. That is the strongest consistency on each triple.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from einloom.csp.compile.algebra import relation_rules
from einloom.csp.compile.rows import EnumRow, RelationRow
from einloom.csp.layout.bitrows import BitRows
from einloom.csp.layout.names import Names
from einloom.csp.layout.slots import Layout
from einloom.csp.propagators.propagator import Change, Explanation, extension_slots
from einloom.csp.propagators.store import Store
from einloom.csp.propagators.watches import Watches

__all__ = ["Path", "make_paths"]


class Path:
    """A relation algebra of one problem, for one context; it holds no domains.

    Attributes:
        function: binds the generated checks to the rows of a state; see `algebra.relation_function`.
        starts: where the rows of each value start.
        restless: slots in which even a fully open pair restricts something, by need; to be looked at when they begin.
        converse: the mask from the other side.
        ends: the pair of each slot, and its two bits.
        slots: slot of each pair, at `a * objects + b`, in both directions; -1 where there is none.
    """

    def __init__(
        self, layout: Layout, rows: BitRows, row: RelationRow, context: tuple[int, ...], function: Callable[..., Any]
    ) -> None:
        self.row = row
        self.context = context
        choice = layout.choices[row.choice]
        assert isinstance(choice.row, EnumRow)
        self.values = len(choice.row.values)
        self.objects = rows.objects
        owners = tuple(context[position] for position in row.members.owners)
        self.members = rows.members[row.members.set, owners]
        self.slots = [-1] * (self.objects * self.objects)
        self.ends: dict[int, tuple[int, int, int]] = {}
        self.converse: tuple[int, ...] = ()
        for numbers, slot in choice.slots.items():
            if numbers[:-2] == context:
                a, b = numbers[-2:]
                self.slots[a * self.objects + b] = self.slots[b * self.objects + a] = slot
                self.ends[slot] = a, b, 1 << a | 1 << b
                self.converse = layout.domain_of[slot].converse or ()
        self.starts = rows.first_rows(row.choice, (1 << self.values) - 1, context)
        self.function = function
        self.restless: dict[int, list[int]] = {}
        if relation_rules(row, (1 << self.values) - 1):
            for slot in self.ends:
                self.restless.setdefault(layout.need_of[slot], []).append(slot)

    def watch(self, watches: Watches) -> None:
        """Wake at every change of a pair."""
        number = watches.reserve(1)
        for slot in self.ends:
            watches.changed[slot].append((number, slot))

    def explain(self, change: Change, names: Names, cause: int) -> Explanation:
        """Name the objects of the pair that changed and of the pair that lost a value."""
        objects, slots = set(self.ends[cause][:2]), {cause}
        if change.slot is not None:
            objects |= set(self.ends[change.slot][:2])
            slots |= {self.slots[x * self.objects + y] for x in objects for y in objects if x != y} - {-1}
        inside = ", ".join(names.objects[each] for each in sorted(objects))
        needs = [each for slot in slots for each in extension_slots(names.layout.need_of[slot])]
        return f"{self.row.choice} among {inside}  [{self.row.place}]", (*slots, *needs)

    def bind(self, store: Store) -> tuple[Callable[[int], None]]:
        """Return the function that propagates a change of a slot, for the lists of one state."""
        path, domains, rows, assign = self, store.domains, store.rows, store.assign
        members_row, objects, slots = self.members, self.objects, self.slots
        checks, converse, ends = self.function(rows, self.starts), self.converse, self.ends

        def relate(slot: int) -> None:
            a, b, both = ends[slot]
            members = rows[members_row]
            if members & both != both:
                return
            others, mask = members ^ both, domains[slot]
            check = checks[mask]
            if check is not None:
                gone = check(a, b, others)
                if gone:
                    lose(a, gone, (path, slot))
            check = checks[converse[mask]]
            if check is not None:
                gone = check(b, a, others)
                if gone:
                    lose(b, gone, (path, slot))

        def lose(one: int, gone: list[tuple[int, int]], reason: object) -> None:
            """Take values from f(one, c): `(value bit, bits of c)`."""
            changed = 0
            for _, lost in gone:
                changed |= lost
            while changed:
                low = changed & -changed
                changed ^= low
                mask = 0
                for bit, lost in gone:
                    if lost & low:
                        mask |= bit
                third = low.bit_length() - 1
                slot = slots[one * objects + third]
                assign(slot, domains[slot] & ~(converse[mask] if third < one else mask), reason)

        return (relate,)


def make_paths(layout: Layout, rows: BitRows) -> list[Path]:
    """Return the paths of a problem, one for each context that has pairs."""
    members = layout.members
    found: list[Path] = []
    for number, row in enumerate(members.space.relations):
        function = members.space.checks[number]
        for context, _ in sorted(members.tuples(row.context)):
            if (row.choice, context) in rows.start:
                found.append(Path(layout, rows, row, context, function))
    return found
