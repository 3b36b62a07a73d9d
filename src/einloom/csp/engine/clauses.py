"""One clause of the space for some objects: its literals as masks of slots, comparisons and bounds on counters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from einloom.csp.compile.rows import (
    BoundLiteral,
    ClauseRow,
    CounterLiteral,
    HostCall,
    Literal,
    PairLiteral,
    ValueLiteral,
)
from einloom.csp.layout.members import Members
from einloom.csp.layout.slots import OPERATORS, Layout
from einloom.csp.propagators.counter import Bound, Counters
from einloom.csp.propagators.table import Clause

__all__ = ["GroundClause", "ground_clause", "tuples"]

Compared = tuple[int, bool, str, int, bool]


@dataclass(slots=True)
class GroundClause:
    """A disjunction for one tuple of objects.

    Attributes:
        masks: by slot.
        pairs: comparisons `(slot, flipped, operator, slot, flipped)`.
        bounds: literals on counters.
    """

    masks: dict[int, int] = field(default_factory=dict[int, int])
    pairs: list[Compared] = field(default_factory=list[Compared])
    bounds: list[Bound] = field(default_factory=list[Bound])

    def add(self, slot: int, mask: int) -> None:
        """Add a literal on one slot."""
        self.masks[slot] = self.masks.get(slot, 0) | mask

    @property
    def slots(self) -> tuple[int, ...]:
        """The slots that it reads, without those of counters, in order."""
        found = {slot for slot, mask in self.masks.items() if mask}
        for left, _, _, right, _ in self.pairs:
            found |= {left, right}
        return tuple(sorted(found))

    def over(self, slots: tuple[int, ...]) -> Clause:
        """Return it as a clause of a table over some slots."""
        masks, at = tuple([self.masks.get(slot, 0) for slot in slots]), slots.index
        return Clause(masks, tuple([(at(a), flip_a, op, at(b), flip_b) for a, flip_a, op, b, flip_b in self.pairs]))


def tuples(members: Members, row: ClauseRow) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield the tuples of objects of a row for which no guard holds, with their needs."""
    call = members.hosts.call
    count = len(row.quantifiers)
    guards: list[list[HostCall]] = [[] for _ in range(count + 1)]
    for guard in row.guards:
        guards[1 + max(guard.arguments, default=-1)].append(guard)
    if any(call(guard, ()) for guard in guards[0]):
        return
    stack: list[tuple[tuple[int, ...], int]] = [((), 0)]
    while stack:
        objects, need = stack.pop()
        depth = len(objects)
        if depth == count:
            yield objects, need
            continue
        quantifier = row.quantifiers[depth]
        owners = tuple([objects[owner] for owner in quantifier.owners])
        for number, more in members.sets[quantifier.set].get(owners, {}).items():
            if number not in objects:
                extended = (*objects, number)
                # A guard is asked as soon as its last variable has an object: most tuples end early.
                if not any(call(guard, extended) for guard in guards[depth + 1]):
                    stack.append((extended, need | more))


def ground_clause(layout: Layout, counters: Counters, row: ClauseRow, objects: tuple[int, ...]) -> GroundClause | None:
    """Return a clause for some objects; None if it always holds."""
    found = GroundClause()
    for literal in row.literals:
        _add_literal(found, layout, counters, literal, objects)
    full = layout.full
    return None if any(mask == full[slot] for slot, mask in found.masks.items()) else found


def _add_literal(
    found: GroundClause, layout: Layout, counters: Counters, literal: Literal, objects: tuple[int, ...]
) -> None:
    match literal:
        case ValueLiteral():
            found.add(*layout.literal(literal.choice, _pick(objects, literal.arguments), literal.mask))
        case PairLiteral():
            _add_pair(found, layout, literal, objects)
        case CounterLiteral():
            counter = counters.all[counters.numbers[literal.counter][_pick(objects, literal.counter_arguments)]]
            slot, _ = layout.find(literal.choice, _pick(objects, literal.choice_arguments))
            found.bounds.append(Bound(counter, literal.operator, None, slot, layout.domain_of[slot]))
        case BoundLiteral():
            value, arguments = layout.members.hosts.call(literal.call, objects), _pick(objects, literal.arguments)
            if literal.name in counters.numbers:
                counter = counters.all[counters.numbers[literal.name][arguments]]
                found.bounds.append(Bound(counter, literal.operator, value))
            else:
                slot, _ = layout.find(literal.name, arguments)
                found.add(slot, layout.domain_of[slot].compared(literal.operator, value))


def _add_pair(found: GroundClause, layout: Layout, literal: PairLiteral, objects: tuple[int, ...]) -> None:
    left, left_flipped = layout.find(literal.left, _pick(objects, literal.left_arguments))
    right, right_flipped = layout.find(literal.right, _pick(objects, literal.right_arguments))
    if left != right:
        found.pairs.append((left, left_flipped, literal.operator, right, right_flipped))
        return
    # One slot on both sides: `f(a, b) == f(b, a)` says which of its values are their own converse.
    domain, holds = layout.domain_of[left], OPERATORS[literal.operator]
    values = range(len(domain.values))
    other = [domain.seen(1 << i, left_flipped != right_flipped).bit_length() - 1 for i in values]
    found.add(left, sum(1 << i for i in values if holds(i, other[i])))


def _pick(objects: tuple[int, ...], positions: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([objects[position] for position in positions])
