"""Quotients: which objects represent their class. Declarative and three-valued, so the order does not matter.

    representative(x)  =  x meets the conditions  and no y < x meets the conditions and is equivalent to x

It stays open while the right side is. An object that sleeps and may yet wake counts as one that may be such a y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from einloom.csp.compile.rows import TRUE, EnumRow, QuotientRow, ValueLiteral
from einloom.csp.layout.bitrows import BitRows
from einloom.csp.layout.names import Names
from einloom.csp.layout.slots import Layout
from einloom.csp.propagators.propagator import Change, Explanation
from einloom.csp.propagators.watches import MEMBER, PAIR, QUOTIENT, Watches
from einloom.frozen import frozen

__all__ = ["Quotient", "RowCondition", "make_quotients", "rows_read", "watch_equivalences"]


@frozen
class RowCondition:
    """A condition on every object of a quotient, as rows of bits.

    Attributes:
        meet: rows of the values that meet it.
        fail: rows of the other values.
        slots: slot and mask for each object.
    """

    meet: tuple[int, ...]
    fail: tuple[int, ...]
    slots: dict[int, tuple[int, int]]


@dataclass(slots=True, eq=False)
class Quotient:
    """A quotient for one tuple of owners.

    Attributes:
        members: bits of all objects of the set that is divided.
        marked: row of the objects that may still be representatives; -1 if there is none.
        eligible: bits of those that can be representatives, their guards met.
        sleepers: `(bit, need)` of the eligible objects that extensions bring.
        needs: for each object of the set, its extensions.
        marks: slot of the representative choice of each object.
        conditions: the conditions that mention the object.
        fixed: `(slot, mask)` of the conditions that do not.
        equal: row starts of the values of the equivalence.
        unequal: row starts of its other values.
        slots: slot of the equivalence of each pair.
    """

    number: int
    row_number: int
    row: QuotientRow
    owners: tuple[int, ...]
    members: int = 0
    marked: int = -1
    eligible: int = 0
    sleepers: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    needs: dict[int, int] = field(default_factory=dict[int, int])
    marks: dict[int, int] = field(default_factory=dict[int, int])
    conditions: list[RowCondition] = field(default_factory=list[RowCondition])
    fixed: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    equal: tuple[int, ...] = ()
    unequal: tuple[int, ...] = ()
    mask: int = 0
    slots: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])

    def watch(self, watches: Watches) -> None:
        """Look again at an object when one of its conditions or its mark is decided, and at all of them when extensions
        wake or are gone."""
        everyone = QUOTIENT, self.number
        watches.start.append(everyone)
        for condition in self.conditions:
            for each, (slot, mask) in condition.slots.items():
                watches.literal_decided(slot, mask, (MEMBER, (self.number, each)))
        for each, mark in self.marks.items():
            for slot, mask in self.fixed:
                watches.literal_decided(slot, mask, (MEMBER, (self.number, each)))
            watches.literal_decided(mark, 1, (MEMBER, (self.number, each)))
            watches.extension(self.needs[each], everyone)

    def condition_literals(self, each: int) -> list[tuple[int, int]]:
        """Return the conditions on an object."""
        return [*(condition.slots[each] for condition in self.conditions), *self.fixed]

    def explain(self, change: Change, names: Names, each: int) -> Explanation:
        """Name the mark; it read the conditions of all lower objects and their equivalence."""
        slots = [self.marks[each], *(slot for slot, _ in self.fixed)]
        for other in self.marks:
            if other <= each:
                slots += [condition.slots[other][0] for condition in self.conditions]
                if other < each:
                    slots.append(self.slots[other, each])
        name = names.layout.name(self.marks[each])
        return f"{name} marks the representatives of {self.row.name}  [{self.row.place}]", slots


def rows_read(row: QuotientRow) -> set[str]:
    """Return the choices whose rows of bits a quotient reads."""
    marks = {row.representative} if len(row.parameters) <= 1 else set[str]()
    return marks | {row.equivalence, *(each.choice for each in row.literals if isinstance(each, ValueLiteral))}


def watch_equivalences(layout: Layout, row_number: int, row: QuotientRow, watches: Watches) -> None:
    """Look again at the higher object of a pair, in all quotients of a row, when its equivalence is decided."""
    for (a, b), slot in layout.choices[row.equivalence].slots.items():
        watches.literal_decided(slot, row.mask, (PAIR, (row_number, max(a, b))))


def make_quotients(layout: Layout, rows: BitRows) -> list[Quotient]:
    """Return the quotients of a problem."""
    members = layout.members
    found: list[Quotient] = []
    for number, row in enumerate(members.space.quotients):
        for owners, _ in sorted(members.tuples(row.parameters)):
            found.append(_quotient(layout, rows, Quotient(len(found), number, row, owners)))
    return found


def _quotient(layout: Layout, rows: BitRows, quotient: Quotient) -> Quotient:
    members, row, owners = layout.members, quotient.row, quotient.owners
    need = dict(members.tuples(row.parameters))[owners]
    for objects, more in sorted(members.tuples_from((*row.parameters, row.item), owners, need)):
        each = objects[-1]
        quotient.needs[each] = more
        quotient.members |= 1 << each
        quotient.marks[each] = layout.choices[row.representative].slots[objects]
        if all(members.hosts.call(guard, objects) for guard in row.guards):
            quotient.eligible |= 1 << each
            if more & ~need:
                quotient.sleepers.append((1 << each, more))
    if len(owners) <= 1:
        quotient.marked = rows.first_rows(row.representative, TRUE)[0] + (owners[0] if owners else 0)
    for literal in row.literals:
        assert isinstance(literal, ValueLiteral)
        _add_condition(layout, rows, quotient, literal)
    choice = layout.choices[row.equivalence]
    assert isinstance(choice.row, EnumRow)
    full = (1 << len(choice.row.values)) - 1
    quotient.mask = row.mask
    quotient.equal = rows.first_rows(row.equivalence, row.mask)
    quotient.unequal = rows.first_rows(row.equivalence, full & ~row.mask)
    quotient.slots = {pair: slot for (a, b), slot in choice.slots.items() for pair in ((a, b), (b, a))}
    return quotient


def _add_condition(layout: Layout, rows: BitRows, quotient: Quotient, literal: ValueLiteral) -> None:
    owners = quotient.owners
    item = len(owners)
    place = [None if position == item else owners[position] for position in literal.arguments]
    row = layout.choices[literal.choice].row
    assert isinstance(row, EnumRow)
    if None not in place:
        objects = tuple(each for each in place if each is not None)
        quotient.fixed.append(layout.literal(literal.choice, objects, literal.mask))
        return
    slots: dict[int, tuple[int, int]] = {}
    for each in quotient.marks:
        objects = tuple(each if other is None else other for other in place)
        slots[each] = layout.literal(literal.choice, objects, literal.mask)
    others = ((1 << len(row.values)) - 1) & ~literal.mask
    meet, fail = (_rows(rows, literal.choice, mask, place) for mask in (literal.mask, others))
    quotient.conditions.append(RowCondition(meet, fail, slots))


def _rows(rows: BitRows, choice: str, mask: int, place: Sequence[int | None]) -> tuple[int, ...]:
    """Return the rows over the object that is None in `place`."""
    if len(place) == 1:
        return rows.first_rows(choice, mask)
    first, second = place
    if second is None:
        return tuple(start + (first or 0) for start in rows.first_rows(choice, mask))
    return tuple(start + second for start in rows.second_rows(choice, mask))
