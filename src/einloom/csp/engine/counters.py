"""Sums and products over objects: a range that follows the domains, and limits that narrow the domains.

Each term contributes `(low, high)`: its increment if its conditions are entailed, nothing (0 or 1) if one is
impossible. A term of objects that sleep may contribute, but not surely. Ranges and limits of a state live in its
list of numbers, at

    counter c:  low, high, cap, floor, admitted      term t:  low, high

after four numbers of the whole state: masks of the lowerings that sleep, of the triggers that are refuted and of the
lowerings that are gone, and the limits that were set from outside, as sorted `(counter, low, high)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from einloom.csp.compile.rows import BoundLiteral, CounterRow, HostCall, Literal, PairLiteral, ValueLiteral
from einloom.csp.engine.layout import Layout
from einloom.csp.engine.truth import OPERATORS
from einloom.csp.language.source import SpaceError

__all__ = ["ASLEEP", "GONE", "INFINITE", "LIMITS", "REFUTED", "Counter", "Counters", "Term", "literal_masks"]

ASLEEP, REFUTED, GONE, LIMITS, FIRST = range(5)
LOW, HIGH, CAP, FLOOR, ADMITTED = range(5)
INFINITE = float("inf")


@dataclass(slots=True, eq=False)
class Term:
    """One summand or factor.

    Attributes:
        literals: `(slot, mask)` conditions, all needed.
        constant, slot, child: the increment: a number, an integer choice's slot, or a counter's number; else 0, -1, -1.
        at: index of its low in the list of numbers.
    """

    number: int
    counter: int
    literals: tuple[tuple[int, int], ...]
    constant: int
    slot: int
    child: int
    need: int
    identity: int
    at: int = 0


@dataclass(slots=True, eq=False)
class Counter:
    """A counter for one tuple of objects.

    Attributes:
        identity: what a term adds whose conditions do not hold: 0 to a sum, 1 to a product.
        parents: terms of other counters that count this one.
        disjunctions: numbers of the disjunctions that read it (grows as objects wake).
        at: index of its low in the list of numbers.
    """

    number: int
    row: CounterRow
    objects: tuple[int, ...]
    need: int
    base: int
    identity: int
    half: bool
    terms: list[Term] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    at: int = 0


class Counters:
    """All counters of a problem.

    Attributes:
        numbers: for each counter's name, its number by objects.
        by_slot: for each slot, the terms that count it.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.all: list[Counter] = []
        self.terms: list[Term] = []
        self.numbers: dict[str, dict[tuple[int, ...], int]] = {}
        members = layout.members
        rows = members.space.counters
        for row in rows:
            self.numbers[row.name] = {}
            for objects, need in sorted(members.tuples(row.parameters)):
                self._counter(row, objects, need)
        for counter in self.all:
            self._terms(counter)
        for index, counter in enumerate(self.all):
            counter.at = FIRST + 5 * index
        start = FIRST + 5 * len(self.all)
        for index, term in enumerate(self.terms):
            term.at = start + 2 * index
            if term.child >= 0:
                self.all[term.child].parents.append(index)

    def _counter(self, row: CounterRow, objects: tuple[int, ...], need: int) -> None:
        hosts = self.layout.members.hosts
        identity = base = 0 if row.operation == "sum" else 1
        if row.base is not None:
            base = _whole(hosts.call(row.base, objects), base, f"{row.place}: the base of {row.name}")
        self.numbers[row.name][objects] = len(self.all)
        self.all.append(Counter(len(self.all), row, objects, need, base, identity, row.half))

    def _terms(self, counter: Counter) -> None:
        row, members = counter.row, self.layout.members
        quantifiers = (*row.parameters, *row.quantifiers)
        for objects, need in members.tuples_from(quantifiers, counter.objects, counter.need):
            if not all(members.hosts.call(guard, objects) for guard in row.guards):
                continue
            literals = literal_masks(self.layout, row.literals, objects)
            if literals is None:
                continue
            constant, slot, child = self._increment(row, objects)
            if constant == counter.identity:
                continue
            number = len(self.terms)
            term = Term(number, counter.number, literals, constant, slot, child, need, counter.identity)
            self.terms.append(term)
            counter.terms.append(term)

    def _increment(self, row: CounterRow, objects: tuple[int, ...]) -> tuple[int, int, int]:
        if isinstance(row.increment, HostCall):
            least = 0 if row.operation == "sum" else 1
            value = self.layout.members.hosts.call(row.increment, objects)
            return _whole(value, least, f"{row.place}: an increment of {row.name}"), -1, -1
        name, positions = row.increment
        arguments = tuple(objects[position] for position in positions)
        if name in self.numbers:
            return -1, -1, self.numbers[name][arguments]
        return -1, self.layout.find(name, arguments)[0], -1

    def name(self, number: int) -> str:
        """Return `counter(a, b)`."""
        counter = self.all[number]
        names = self.layout.members.names
        return f"{counter.row.name}({', '.join(names[each] for each in counter.objects)})"


def literal_masks(
    layout: Layout, literals: Sequence[Literal], objects: tuple[int, ...]
) -> tuple[tuple[int, int], ...] | None:
    """Return a conjunction as `(slot, mask)`, one for each slot; None if it can never hold.

    Raises:
        SpaceError: a literal compares two choices, which no conjunction can hold.
    """
    found: dict[int, int] = {}
    for literal in literals:
        if isinstance(literal, ValueLiteral):
            slot, flipped = layout.find(literal.choice, tuple(objects[each] for each in literal.arguments))
            mask = (layout.domain_of[slot].converse or ())[literal.mask] if flipped else literal.mask
        elif isinstance(literal, BoundLiteral):
            slot, _ = layout.find(literal.name, tuple(objects[each] for each in literal.arguments))
            bound = layout.members.hosts.call(literal.call, objects)
            holds = OPERATORS[literal.operator]
            mask = sum(1 << i for i, value in enumerate(layout.domain_of[slot].values) if holds(value, bound))
        else:
            assert isinstance(literal, PairLiteral)
            raise SpaceError(f"a comparison of {literal.left} and {literal.right} cannot stand in a conjunction")
        found[slot] = found.get(slot, layout.full[slot]) & mask
    if not all(found.values()):
        return None
    return tuple((slot, mask) for slot, mask in found.items() if mask != layout.full[slot])


def _whole(value: object, least: int, what: str) -> int:
    if not isinstance(value, (int, float)) or int(value) != value or value < least:
        raise SpaceError(f"{what} must be a whole number, at least {least}, not {value!r}")
    return int(value)
