"""Quotients: which objects represent their class. Declarative and three-valued, so the order does not matter.

    representative(x)  =  x meets the conditions  and no y < x meets the conditions and is equivalent to x

It stays open while the right side is. An object that sleeps and may yet wake counts as one that may be such a y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from einloom.csp.compile.rows import FALSE, TRUE, EnumRow, QuotientRow, ValueLiteral
from einloom.csp.engine.counters import ASLEEP, GONE

if TYPE_CHECKING:
    from einloom.csp.engine.bitrows import BitRows
    from einloom.csp.engine.layout import Layout
    from einloom.csp.engine.state import State

__all__ = ["Electing", "Quotient", "RowCondition", "make_quotients"]


@dataclass(frozen=True, slots=True)
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
        sleepers: `(bit, need)` of the eligible objects that lowerings bring.
        needs: for each object of the set, its lowerings.
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
    sleepers: list[tuple[int, int]] = field(default_factory=list)
    needs: dict[int, int] = field(default_factory=dict)
    marks: dict[int, int] = field(default_factory=dict)
    conditions: list[RowCondition] = field(default_factory=list)
    fixed: list[tuple[int, int]] = field(default_factory=list)
    equal: tuple[int, ...] = ()
    unequal: tuple[int, ...] = ()
    mask: int = 0
    slots: dict[tuple[int, int], int] = field(default_factory=dict)


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
        slot, flipped = layout.find(literal.choice, tuple(each for each in place if each is not None))
        mask = (layout.domain_of[slot].converse or ())[literal.mask] if flipped else literal.mask
        quotient.fixed.append((slot, mask))
        return
    slots = {}
    for each in quotient.marks:
        slot, flipped = layout.find(literal.choice, tuple(each if other is None else other for other in place))
        slots[each] = slot, (layout.domain_of[slot].converse or ())[literal.mask] if flipped else literal.mask
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


class Electing:
    """Propagates the quotients of one state.

    Attributes:
        pending: for each quotient to look at again, the bits of its objects.
        pairs: for each row, the bits of objects to look at again in all its quotients.
    """

    __slots__ = ("all", "by_row", "domains", "numbers", "pairs", "pending", "rows", "state")

    def __init__(self, state: State, quotients: list[Quotient]) -> None:
        self.state = state
        self.domains, self.rows, self.numbers = state.domains, state.rows, state.numbers
        self.all = quotients
        self.by_row: dict[int, list[Quotient]] = {}
        for quotient in quotients:
            self.by_row.setdefault(quotient.row_number, []).append(quotient)
        self.pending: dict[int, int] = {}
        self.pairs: dict[int, int] = {}

    def member_changed(self, place: tuple[int, int]) -> None:
        """Look again at an object and at all that it could represent."""
        number, each = place
        quotient = self.all[number]
        rows = self.rows
        near = 0
        for start in quotient.equal:
            near |= rows[start + each]
        near = (near >> each | 1) << each & quotient.members
        self.pending[number] = self.pending.get(number, 0) | near

    def pair_changed(self, place: tuple[int, int]) -> None:
        """Look again at an object in all quotients of a row: its equivalence to a lower one has changed."""
        row, each = place
        self.pairs[row] = self.pairs.get(row, 0) | 1 << each

    def spread(self) -> None:
        """Pass the objects of changed pairs on to all quotients of their row."""
        pending = self.pending
        for row, bits in self.pairs.items():
            for quotient in self.by_row[row]:
                mine = bits & quotient.members
                if mine:
                    pending[quotient.number] = pending.get(quotient.number, 0) | mine
        self.pairs.clear()

    def everyone(self, number: int) -> None:
        """Look again at all objects of a quotient."""
        self.pending[number] = self.all[number].members

    def propagate(self, number: int, bits: int) -> None:
        """Make the marks of some objects and what they depend on agree."""
        quotient, asleep, rows = self.all[number], self.numbers[ASLEEP], self.rows
        may, must, sleeping = self._members(quotient)
        if quotient.marked >= 0:
            bits &= may | rows[quotient.marked]
        while bits:
            bit = bits & -bits
            bits ^= bit
            each = bit.bit_length() - 1
            if quotient.needs[each] & asleep:
                continue
            rivals = 0
            if may & (bit - 1):
                for start in quotient.equal:
                    rivals |= rows[start + each]
                rivals &= may & (bit - 1)
            known = self.domains[quotient.marks[each]]
            if known == TRUE:
                self._confirm(quotient, each, rivals, must)
            elif not may & bit or (must & rivals and self._is_beaten(quotient, each, must & rivals)):
                if known != FALSE:
                    self.state.narrow(quotient.marks[each], FALSE, (quotient, each))
            elif not sleeping & (bit - 1):
                if known == FALSE:
                    self._need_rival(quotient, each, rivals, must)
                elif must & bit and not rivals:
                    self.state.narrow(quotient.marks[each], TRUE, (quotient, each))

    def _unequal(self, quotient: Quotient, each: int) -> int:
        """Return the objects that may not be equivalent to one."""
        found = 0
        for start in quotient.unequal:
            found |= self.rows[start + each]
        return found

    def _is_beaten(self, quotient: Quotient, each: int, rivals: int) -> bool:
        """Whether one of some sure members surely is equivalent to an object."""
        return bool(rivals & ~self._unequal(quotient, each))

    def _confirm(self, quotient: Quotient, each: int, rivals: int, must: int) -> None:
        """`each` is a representative: it meets the conditions, and no rival represents it."""
        self._meet(quotient, each, each)
        if rivals:
            self._reject(quotient, each, rivals, must, self._unequal(quotient, each))

    def _members(self, quotient: Quotient) -> tuple[int, int, int]:
        """Return the objects that may meet the conditions, that surely do, and that sleep but may wake."""
        rows, domains = self.rows, self.domains
        may, sleeping = quotient.eligible, 0
        for bit, need in quotient.sleepers:
            if need & self.numbers[ASLEEP]:
                may &= ~bit
                if not need & self.numbers[GONE]:
                    sleeping |= bit
        must = may
        for condition in quotient.conditions:
            meet = fail = 0
            for row in condition.meet:
                meet |= rows[row]
            for row in condition.fail:
                fail |= rows[row]
            may &= meet
            must &= ~fail
        for slot, mask in quotient.fixed:
            if not domains[slot] & mask:
                may = 0
            if domains[slot] & ~mask:
                must = 0
        return may, must & may, sleeping

    def _meet(self, quotient: Quotient, who: int, each: int) -> None:
        """Make `who` meet the conditions."""
        for slot, mask in self._conditions(quotient, who):
            self.state.narrow(slot, mask, (quotient, each))

    def _conditions(self, quotient: Quotient, who: int) -> list[tuple[int, int]]:
        return [*(condition.slots[who] for condition in quotient.conditions), *quotient.fixed]

    def _fail(self, quotient: Quotient, who: int, each: int) -> None:
        """Make `who` not meet the conditions, if only one of them is left to choose."""
        left = [(slot, mask) for slot, mask in self._conditions(quotient, who) if self.domains[slot] & ~mask]
        if not left:
            self.state.die((quotient, each))
        if len(left) == 1:
            slot, mask = left[0]
            self.state.narrow(slot, ~mask, (quotient, each))

    def _reject(self, quotient: Quotient, each: int, rivals: int, must: int, unequal: int) -> None:
        """Let no rival both meet the conditions and be equivalent to `each`."""
        while rivals:
            bit = rivals & -rivals
            rivals ^= bit
            other = bit.bit_length() - 1
            if must & bit:
                self.state.narrow(quotient.slots[other, each], ~quotient.mask, (quotient, each))
            elif not unequal & bit:
                self._fail(quotient, other, each)

    def _need_rival(self, quotient: Quotient, each: int, rivals: int, must: int) -> None:
        """`each` is no representative: it fails the conditions, or some rival represents it."""
        if not rivals:
            self._fail(quotient, each, each)
        elif must >> each & 1 and not rivals & (rivals - 1):
            other = rivals.bit_length() - 1
            self._meet(quotient, other, each)
            self.state.narrow(quotient.slots[other, each], quotient.mask, (quotient, each))
