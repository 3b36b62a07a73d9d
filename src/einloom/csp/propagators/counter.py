"""Sums and products over objects: what they count, frozen. `Counting` propagates them.

Each term contributes `(low, high)`: its increment if its conditions are entailed, nothing (0 or 1) if one is
impossible. A term of objects that sleep may contribute, but not surely. Ranges and limits of a state live in its
list of numbers, after those of the whole state:

    counter c:  low, high, cap, floor, admitted      term t:  low, high
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from einloom.csp.compile.rows import BoundLiteral, CounterRow, HostCall, Literal, PairLiteral, ValueLiteral
from einloom.csp.language.source import SpaceError
from einloom.csp.layout.names import Names
from einloom.csp.layout.slots import OPERATORS, Domain, Layout
from einloom.csp.propagators.propagator import Change, Explanation, extension_slots
from einloom.csp.propagators.store import FIRST, Store
from einloom.csp.propagators.table import sentence
from einloom.csp.propagators.watches import COUNTER, TERM, Watches
from einloom.frozen import frozen

if TYPE_CHECKING:
    from einloom.csp.propagators.disjunction import Disjunction

__all__ = [
    "ADMITTED",
    "CAP",
    "FLOOR",
    "HIGH",
    "INFINITE",
    "LOW",
    "Bound",
    "Counter",
    "Counters",
    "Term",
    "literal_masks",
]

LOW, HIGH, CAP, FLOOR, ADMITTED = range(5)
INFINITE = float("inf")


@dataclass(slots=True, eq=False)
class Term:
    """One summand or factor.

    Attributes:
        literals: `(slot, mask)` conditions, all needed.
        constant, slot, child: the increment: a number, an integer choice's slot, or a counter's number; else 0, -1, -1.
        identity: what it adds if its conditions do not hold: 0 to a sum, 1 to a product.
        told: extensions with which a condition on a slot wakes, which will tell by itself when it is met.
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
    told: int
    at: int = 0

    def watch(self, watches: Watches) -> None:
        """Update its range when a condition is decided, the increment changes, or its objects come or go."""
        wake = TERM, self.number
        for slot, mask in self.literals:
            watches.literal_decided(slot, mask, wake)
        if self.slot >= 0:
            watches.changed[self.slot].append(wake)
        watches.extension(self.need & ~self.told, wake, at_loss=False)
        watches.extension(self.need, wake, at_wake=False)


@dataclass(slots=True, eq=False)
class Counter:
    """A counter for one tuple of objects.

    Attributes:
        identity: what a term adds whose conditions do not hold: 0 to a sum, 1 to a product.
        half: whether only its least value is kept.
        parents: terms of other counters that count this one.
        limits: the disjunctions that bound it.
        readers: for each bound that must be looked at when the range changes, the numbers of its disjunctions.
        at: index of its low in the list of numbers.
    """

    number: int
    row: CounterRow
    objects: tuple[int, ...]
    need: int
    base: int
    identity: int
    half: bool
    terms: list[Term] = field(default_factory=list[Term])
    parents: list[int] = field(default_factory=list[int])
    limits: list[Disjunction] = field(default_factory=list["Disjunction"])
    readers: dict[Bound, list[int]] = field(default_factory=dict["Bound", list[int]])
    at: int = 0

    def watch(self, watches: Watches) -> None:
        """Watch what the terms read; look again whenever objects come or go."""
        wake = COUNTER, self.number
        watches.start.append(wake)
        watches.extension(self.need, wake)
        for term in self.terms:
            watches.extension(term.need, wake)
            term.watch(watches)

    def range(self, numbers: Sequence[Any]) -> tuple[int, float]:
        """Return the least and the greatest value, the limits included."""
        low, high, cap, floor, _ = numbers[self.at : self.at + 5]
        return low if low > floor else floor, high if high < cap else cap

    @property
    def slots(self) -> tuple[int, ...]:
        """The slots that its terms read, with those of its extensions."""
        literals = [slot for term in self.terms for slot, _ in term.literals]
        return (*literals, *(term.slot for term in self.terms if term.slot >= 0), *extension_slots(self.need))

    def explain(self, change: Change, names: Names) -> Explanation:
        """Name the constraints that limit it in these domains."""
        sure = [each for each in self.limits if not any(change.masks[slot] & mask for slot, mask in each.literals)]
        if not sure:
            return f"a limit of {names.applied(self.row.name, self.objects)}  [{self.row.place}]", self.slots
        slots = [slot for each in sure for slot in each.slots]
        return sentence(names, [each.source for each in sure]), (*self.slots, *slots)


@frozen
class Bound:
    """A literal: a counter against a constant `value`, or against the integer choice of `slot` if that is None."""

    counter: Counter
    operator: str
    value: int | None
    slot: int = -1
    domain: Domain | None = None

    @property
    def slots(self) -> tuple[int, ...]:
        """The slots that it reads."""
        return () if self.slot < 0 else (self.slot,)

    def values(self, store: Store) -> Sequence[int]:
        """Return what the counter may be compared with."""
        if self.value is not None:
            return (self.value,)
        assert self.domain is not None
        return [int(value) for value in self.domain.select(store.domains[self.slot])]

    def possible(self, store: Store) -> bool:
        """Whether it can still hold."""
        low, high = self.counter.range(store.numbers)
        if self.value is not None:
            return self.meets(low, high, self.value)
        return any(self.meets(low, high, value) for value in self.values(store))

    def meets(self, low: int, high: float, value: int) -> bool:
        """Whether some number of low..high stands in the relation to `value`."""
        if self.operator == "==":
            return low <= value <= high
        return OPERATORS[self.operator](low if self.operator in ("<", "<=") else high, value)


class Counters:
    """All counters of a problem.

    Attributes:
        numbers: for each counter's name, its number by objects.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.all: list[Counter] = []
        self.terms: list[Term] = []
        self.numbers: dict[str, dict[tuple[int, ...], int]] = {}
        members = layout.members
        for row in members.space.counters:
            self.numbers[row.name] = {}
            for objects, need in sorted(members.tuples(row.parameters)):
                self._counter(row, objects, need)
        for counter in self.all:
            self._terms(counter)
        start = FIRST + 5 * len(self.all)
        for index, counter in enumerate(self.all):
            counter.at = FIRST + 5 * index
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
            told = 0
            for each, _ in literals:
                told |= self.layout.need_of[each]
            number, identity = len(self.terms), counter.identity
            term = Term(number, counter.number, literals, constant, slot, child, need, identity, told)
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

    def idle(self, domains: Sequence[int]) -> set[int]:
        """Return the terms that never count in domains that no candidate exceeds."""
        return {term.number for term in self.terms if any(not domains[slot] & mask for slot, mask in term.literals)}

    def fresh(self) -> list[Any]:
        """Return the numbers of all counters before anything is known."""
        return [0, 0, INFINITE, -INFINITE, None] * len(self.all) + [0] * (2 * len(self.terms))


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
            arguments = tuple(objects[each] for each in literal.arguments)
            slot, mask = layout.literal(literal.choice, arguments, literal.mask)
        elif isinstance(literal, BoundLiteral):
            slot, _ = layout.find(literal.name, tuple(objects[each] for each in literal.arguments))
            bound = layout.members.hosts.call(literal.call, objects)
            mask = layout.domain_of[slot].compared(literal.operator, bound)
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
