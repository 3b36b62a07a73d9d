"""Clauses over the objects of one problem: merged into truth tables, unary restrictions, or disjunctions.

Grounding goes by `need`: the clauses of the root's objects when the problem is made, those of a lowering's objects
when it first wakes; they are kept for all candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from einloom.csp.compile.rows import (
    BoundLiteral,
    ClauseRow,
    CounterLiteral,
    Literal,
    PairLiteral,
    ValueLiteral,
)
from einloom.csp.engine.bitrows import BitRows
from einloom.csp.engine.disjunction import CounterPart, Disjunction, PairPart, Part, ValuePart
from einloom.csp.engine.layout import Domain, Layout
from einloom.csp.engine.truth import MOST_ROWS, OPERATORS, Clause, Table

__all__ = ["Ground", "Grounder", "Source"]

Source = tuple[int, tuple[int, ...]]


@dataclass(slots=True)
class Ground:
    """The constraints of the objects that need exactly one mask of lowerings.

    Attributes:
        slots, full: the slots that begin to matter, and their full masks.
        own, restrictions: masks of single slots, of these and of others.
        impossible: whether a clause fails whatever the domains.
        first: `(slot, full mask, first mask, reason)` for `own`; None if one is empty.
        deltas: how rows change when all of `own` are narrowed from full domains.
        entries: `(table, slot, .., need)`.
        disjunctions: what no table holds.
        sources: for each tuple of slots, the clause rows (by number) and objects that it came from.
        loud, loud_disjunctions: what to look at when the ground becomes active, whatever the domains.
        quiet: `(slot, mask, entries)`: what to look at then if this slot, of other lowerings, is below the mask.
        waiting: `(slot, mask, disjunctions)`: what to look at then if this slot has no value of the mask.
    """

    need: int
    slots: list[int] = field(default_factory=list)
    full: list[int] = field(default_factory=list)
    own: dict[int, int] = field(default_factory=dict)
    restrictions: dict[int, int] = field(default_factory=dict)
    impossible: bool = False
    first: list[tuple[int, int, int, Any]] | None = None
    deltas: list[tuple[int, int]] = field(default_factory=list)
    entries: list[tuple[Any, ...]] = field(default_factory=list)
    disjunctions: list[Disjunction] = field(default_factory=list)
    sources: dict[tuple[int, ...], list[Source]] = field(default_factory=dict)
    loud: list[tuple[Any, ...]] = field(default_factory=list)
    loud_disjunctions: dict[int, None] = field(default_factory=dict)
    quiet: list[tuple[int, int, list[tuple[Any, ...]]]] = field(default_factory=list)
    waiting: list[tuple[int, int, dict[int, None]]] = field(default_factory=list)


class _Found:
    """One clause for one tuple of objects: masks by slot, comparisons of slots, and parts on counters."""

    __slots__ = ("counters", "masks", "pairs")

    def __init__(self) -> None:
        self.masks: dict[int, int] = {}
        self.pairs: list[tuple[int, bool, str, int, bool]] = []
        self.counters: list[CounterPart] = []


class Grounder:
    """Grounds clause rows for one problem.

    Args:
        clauses: the clause rows by their number in the space; only those to be grounded.
        counters: the number of each counter by name and objects.
    """

    def __init__(
        self,
        layout: Layout,
        rows: BitRows,
        clauses: Sequence[tuple[int, ClauseRow]],
        counters: dict[str, dict[tuple[int, ...], int]],
    ) -> None:
        self.layout = layout
        self.rows = rows
        self.clauses = clauses
        self.counters = counters
        self.tables: dict[tuple[tuple[int, ...], frozenset[Clause]], Table] = {}
        self.disjunction_count = 0

    def ground(self, need: int, domains: Sequence[int]) -> Ground:
        """Return the constraints of all tuples of objects that need exactly these lowerings.

        Args:
            domains: masks that no candidate exceeds; what always holds for them is left out.
        """
        slots = self.layout.by_need.get(need, [])
        found = Ground(need, slots, [self.layout.full[slot] for slot in slots])
        merged: dict[tuple[int, ...], dict[Clause, None]] = {}
        for number, row in self.clauses:
            for objects in self._tuples(row, need):
                clause = self._clause(row, objects)
                if clause is not None:
                    self._file(found, merged, clause, (number, objects))
        _absorb(merged, found.sources, self.layout.domain_of)
        domains = [found.own.get(slot, full) & full for slot, full in enumerate(domains)]
        found.disjunctions = [each for each in found.disjunctions if not each.is_entailed(domains)]
        for slots, clauses in merged.items():
            if len(slots) > 2 and len(clauses) == 1 and not next(iter(clauses)).pairs:
                masks = dict(zip(slots, next(iter(clauses)).masks))
                disjunction = self._disjunction(_Found(), masks, need, found.sources[slots][0])
                if not disjunction.is_entailed(domains):
                    found.disjunctions.append(disjunction)
                continue
            table = self._table(slots, frozenset(clauses))
            if not table.is_entailed([domains[slot] for slot in slots]):
                found.entries.append((table, *slots, need))
        for disjunction in found.disjunctions:
            disjunction.number = self.disjunction_count
            self.disjunction_count += 1
        self._sort_posts(found, domains)
        return found

    def _sort_posts(self, ground: Ground, domains: Sequence[int]) -> None:
        """Find what must be looked at when a ground becomes active: all that is not idle in `domains`.

        Slots that begin to matter and are narrowed by `own` are queued then, and so are the entries that they are in.
        """
        full, needs = self.layout.full, self.layout.need_of
        if all(ground.own.values()) and not ground.impossible:
            first = [(slot, full[slot], mask, (ground, slot)) for slot, mask in ground.own.items()]
            ground.first = [each for each in first if each[1] != each[2]]
            ground.deltas = self.rows.deltas([(slot, old ^ mask) for slot, old, mask, _ in ground.first])
        quiet: dict[int, list[tuple[Any, ...]]] = {}
        for entry in ground.entries:
            slots = entry[1:-1]
            if any(ground.own.get(slot, full[slot]) != full[slot] for slot in slots):
                continue
            if entry[0][tuple(domains[slot] for slot in slots)]:
                ground.loud.append(entry)
                continue
            for slot in slots:
                if needs[slot] != ground.need:
                    quiet.setdefault(slot, []).append(entry)
        ground.quiet = [(slot, domains[slot], entries) for slot, entries in quiet.items()]
        waiting: dict[tuple[int, int], dict[int, None]] = {}
        for disjunction in ground.disjunctions:
            if len(disjunction.values) < 2:
                ground.loud_disjunctions[disjunction.number] = None
                continue
            for slot, mask in disjunction.values:
                if needs[slot] != ground.need:
                    waiting.setdefault((slot, mask), {})[disjunction.number] = None
        ground.waiting = [(slot, mask, numbers) for (slot, mask), numbers in waiting.items()]

    def _tuples(self, row: ClauseRow, need: int) -> Iterator[tuple[int, ...]]:
        """Yield the tuples of a row that need exactly `need` and for which no guard holds."""
        members = self.layout.members
        call = members.hosts.call
        quantifiers = row.quantifiers
        count = len(quantifiers)
        guards: list[list[Any]] = [[] for _ in range(count + 1)]
        for guard in row.guards:
            guards[1 + max(guard.arguments, default=-1)].append(guard)
        if any(call(guard, ()) for guard in guards[0]):
            return
        stack: list[tuple[tuple[int, ...], int]] = [((), 0)]
        while stack:
            objects, have = stack.pop()
            depth = len(objects)
            if depth == count:
                if have == need:
                    yield objects
                continue
            quantifier = quantifiers[depth]
            owners = tuple([objects[owner] for owner in quantifier.owners])
            for number, more in members.sets[quantifier.set].get(owners, {}).items():
                if more & ~need or number in objects:
                    continue
                extended = (*objects, number)
                if not any(call(guard, extended) for guard in guards[depth + 1]):
                    stack.append((extended, have | more))

    def _clause(self, row: ClauseRow, objects: tuple[int, ...]) -> _Found | None:
        """Return a clause for some objects; None if it always holds."""
        found = _Found()
        for literal in row.literals:
            if not self._literal(found, literal, objects):
                return None
        full = self.layout.full
        for slot, mask in found.masks.items():
            if mask == full[slot]:
                return None
        return found

    def _literal(self, found: _Found, literal: Literal, objects: tuple[int, ...]) -> bool:
        """Add a literal to a clause; False if it always holds."""
        layout = self.layout
        if isinstance(literal, ValueLiteral):
            slot, flipped = layout.find(literal.choice, tuple([objects[each] for each in literal.arguments]))
            mask = literal.mask
            if flipped:
                mask = (layout.domain_of[slot].converse or ())[mask]
            found.masks[slot] = found.masks.get(slot, 0) | mask
            return True
        if isinstance(literal, PairLiteral):
            return self._pair(found, literal, objects)
        if isinstance(literal, CounterLiteral):
            counter = self.counters[literal.counter][_pick(objects, literal.counter_arguments)]
            slot, _ = layout.find(literal.choice, _pick(objects, literal.choice_arguments))
            found.counters.append(CounterPart(counter, literal.operator, None, slot, layout.domain_of[slot]))
            return True
        return self._bound(found, literal, objects)

    def _pair(self, found: _Found, literal: PairLiteral, objects: tuple[int, ...]) -> bool:
        layout = self.layout
        left, left_flipped = layout.find(literal.left, _pick(objects, literal.left_arguments))
        right, right_flipped = layout.find(literal.right, _pick(objects, literal.right_arguments))
        if left != right:
            found.pairs.append((left, left_flipped, literal.operator, right, right_flipped))
            return True
        domain, holds = layout.domain_of[left], OPERATORS[literal.operator]
        values = range(len(domain.values))
        converse = domain.converse
        other = [
            (converse[1 << i].bit_length() - 1) if converse and left_flipped != right_flipped else i for i in values
        ]
        mask = sum(1 << i for i in values if holds(i, other[i]))
        found.masks[left] = found.masks.get(left, 0) | mask
        return True

    def _bound(self, found: _Found, literal: BoundLiteral, objects: tuple[int, ...]) -> bool:
        layout = self.layout
        bound = layout.members.hosts.call(literal.call, objects)
        arguments = _pick(objects, literal.arguments)
        if literal.name in self.counters:
            counter = self.counters[literal.name][arguments]
            found.counters.append(CounterPart(counter, literal.operator, bound, -1, None))
            return True
        slot, _ = layout.find(literal.name, arguments)
        holds = OPERATORS[literal.operator]
        mask = sum(1 << i for i, value in enumerate(layout.domain_of[slot].values) if holds(value, bound))
        found.masks[slot] = found.masks.get(slot, 0) | mask
        return True

    def _file(
        self, ground: Ground, merged: dict[tuple[int, ...], dict[Clause, None]], clause: _Found, source: Source
    ) -> None:
        """Put a clause where it belongs: single slots, a truth table, or a disjunction."""
        masks = {slot: mask for slot, mask in clause.masks.items() if mask}
        pairs = clause.pairs
        used = set(masks).union(*((pair[0], pair[3]) for pair in pairs)) if pairs else masks
        if clause.counters or _rows(used, self.layout.domain_of) > MOST_ROWS:
            ground.disjunctions.append(self._disjunction(clause, masks, ground.need, source))
            return
        slots = tuple(sorted(used))
        ground.sources.setdefault(slots, []).append(source)
        if not slots:
            ground.impossible = True
            return
        if len(slots) == 1 and not pairs:
            slot = slots[0]
            table = ground.own if self.layout.need_of[slot] == ground.need else ground.restrictions
            table[slot] = table.get(slot, self.layout.full[slot]) & masks[slot]
            return
        merged.setdefault(slots, {})[_aligned(slots, masks, pairs)] = None

    def single_table(self, source: Source, slots: tuple[int, ...]) -> Table:
        """Return the truth table over some slots of one clause for some objects."""
        number, objects = source
        clause = self._clause(dict(self.clauses)[number], objects)
        if clause is None:
            return self._table(slots, frozenset())
        return self._table(slots, frozenset({_aligned(slots, clause.masks, clause.pairs)}))

    def _disjunction(self, clause: _Found, masks: dict[int, int], need: int, source: Source) -> Disjunction:
        parts: list[Part] = [ValuePart(slot, mask) for slot, mask in masks.items()]
        for a, flip_a, operator, b, flip_b in clause.pairs:
            slots = (a, b)
            table = self._table(slots, frozenset({Clause((0, 0), ((0, flip_a, operator, 1, flip_b),))}))
            parts.append(PairPart(a, b, table))
        parts += clause.counters
        return Disjunction(tuple(parts), need, source)

    def _table(self, slots: Sequence[int], clauses: frozenset[Clause]) -> Table:
        domains = [self.layout.domain_of[slot] for slot in slots]
        key = tuple([id(domain) for domain in domains]), clauses
        if key not in self.tables:
            self.tables[key] = Table(domains, clauses)
        return self.tables[key]


def _pick(objects: tuple[int, ...], positions: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([objects[position] for position in positions])


def _aligned(
    slots: tuple[int, ...], masks: dict[int, int], pairs: Sequence[tuple[int, bool, str, int, bool]]
) -> Clause:
    """Return a clause over some slots in order."""
    place = {slot: i for i, slot in enumerate(slots)}
    compared = tuple((place[a], flip_a, operator, place[b], flip_b) for a, flip_a, operator, b, flip_b in pairs)
    return Clause(tuple([masks.get(slot, 0) for slot in slots]), compared)


def _rows(slots: Any, domains: Sequence[Domain]) -> int:
    rows = 1
    for slot in slots:
        rows *= len(domains[slot].values)
    return rows


def _absorb(
    merged: dict[tuple[int, ...], dict[Clause, None]],
    sources: dict[tuple[int, ...], list[Source]],
    domains: Sequence[Domain],
) -> None:
    """Move the clauses over some slots into a table that has these slots and more."""
    wide = [slots for slots in merged if len(slots) > 2]
    for slots in sorted(wide, key=len):
        for size in range(2, len(slots)):
            for positions in combinations(range(len(slots)), size):
                part = tuple([slots[i] for i in positions])
                if part in merged:
                    for clause in merged.pop(part):
                        merged[slots][_spread(clause, positions, len(slots))] = None
                    sources.setdefault(slots, []).extend(sources.get(part, ()))


def _spread(clause: Clause, positions: tuple[int, ...], size: int) -> Clause:
    """Return a clause over some positions of a wider table."""
    masks = [0] * size
    for position, mask in zip(positions, clause.masks):
        masks[position] = mask
    pairs = tuple((positions[a], flip_a, op, positions[b], flip_b) for a, flip_a, op, b, flip_b in clause.pairs)
    return Clause(tuple(masks), pairs)
