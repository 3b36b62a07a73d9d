"""Relations: path consistency of a binary choice by its composition table, a row of objects at a time.

After a change of f(a, b), for every third object c at once: f(a, c) keeps a value only if some value of f(a, b) and
some value of f(b, c) compose to it, and f(b, c) likewise. That is the strongest consistency on each triple.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from einloom.csp.rows import EnumRow, RelationRow

if TYPE_CHECKING:
    from einloom.csp.bitrows import BitRows
    from einloom.csp.layout import Layout

__all__ = ["Relate", "Relation", "make_relations"]

Rules = tuple[tuple[tuple[int, ...], tuple[tuple[int, int], ...]], ...]
Relate = Callable[[int, int], None]
Assign = Callable[[int, int, object], None]


class Relation:
    """A relation of one problem, for one context; it holds no domains.

    Attributes:
        rules: for each mask of f(a, b): row starts of f(b, c) values, with the values of f(a, c), as `(value bit, row
            start)`, that need one of them.
        converse: the mask from the other side.
        ends: the pair of each slot.
        slots: slot of each pair, at `a * objects + b`, in both directions; -1 where there is none.
    """

    def __init__(self, layout: Layout, rows: BitRows, row: RelationRow, context: tuple[int, ...]) -> None:
        self.row = row
        self.context = context
        choice = layout.choices[row.choice]
        assert isinstance(choice.row, EnumRow)
        self.values = len(choice.row.values)
        self.objects = rows.objects
        owners = tuple(context[position] for position in row.members.owners)
        self.members = rows.members[row.members.set, owners]
        self.slots = [-1] * (self.objects * self.objects)
        self.ends: dict[int, tuple[int, int]] = {}
        self.converse: tuple[int, ...] = ()
        for numbers, slot in choice.slots.items():
            if numbers[:-2] == context:
                a, b = numbers[-2:]
                self.slots[a * self.objects + b] = self.slots[b * self.objects + a] = slot
                self.ends[slot] = a, b
                self.converse = layout.domain_of[slot].converse or ()
        starts = rows.first_rows(row.choice, (1 << self.values) - 1, context)
        self.rules = tuple(self._rules(mask, starts) for mask in range(1 << self.values))

    def _rules(self, mask: int, starts: Sequence[int]) -> Rules:
        found: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        composition, values = self.row.composition, range(self.values)
        for value in values:
            sources = [s for s in values if any(mask >> r & 1 and composition[r][s] >> value & 1 for r in values)]
            if len(sources) < self.values:
                found.setdefault(tuple(starts[s] for s in sources), []).append((1 << value, starts[value]))
        return tuple((sources, tuple(targets)) for sources, targets in found.items())

    @property
    def is_idle_when_open(self) -> bool:
        """Whether a pair that is fully open restricts nothing."""
        return not self.rules[-1]

    def bind(self, domains: list[int], rows: list[int], assign: Assign) -> Relate:
        """Return the function that propagates a change of a slot, for the lists of one state."""
        relation = self
        members_row, objects, slots = self.members, self.objects, self.slots
        rules, converse, ends = self.rules, self.converse, self.ends

        def relate(slot: int, mask: int) -> None:
            a, b = ends[slot]
            members, both = rows[members_row], 1 << a | 1 << b
            others = members & ~both
            if members ^ others != both:
                return
            reason = None
            for one, two, rule in ((a, b, rules[mask]), (b, a, rules[converse[mask]])):
                changed = 0
                gone = []
                for sources, targets in rule:
                    barred = others
                    for source in sources:
                        barred &= ~rows[source + two]
                    if barred:
                        for bit, start in targets:
                            lost = rows[start + one] & barred
                            if lost:
                                changed |= lost
                                gone.append((bit, lost))
                if not changed:
                    continue
                if reason is None:
                    reason = (relation, slot)
                while changed:
                    low = changed & -changed
                    changed ^= low
                    lose = 0
                    for bit, lost in gone:
                        if lost & low:
                            lose |= bit
                    third = low.bit_length() - 1
                    other = slots[one * objects + third]
                    assign(other, domains[other] & ~(converse[lose] if third < one else lose), reason)

        return relate


def make_relations(layout: Layout, rows: BitRows) -> list[Relation]:
    """Return the relations of a problem, one for each context that has pairs."""
    members = layout.members
    found = []
    for row in members.space.relations:
        for context, _ in sorted(members.tuples(row.context)):
            if (row.choice, context) in rows.start:
                found.append(Relation(layout, rows, row, context))
    return found
