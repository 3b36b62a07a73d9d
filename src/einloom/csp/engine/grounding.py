"""Grounding: the clauses over the objects of one problem become restrictions of slots, truth tables and disjunctions.

Constraints are kept by `need`, the extensions that all their objects need: those of need 0 hold at the root, the others
begin to hold when the last of their extensions wakes. All are grounded before the first decision, so that waking a
extension only posts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod
from typing import Any

from einloom.csp.compile.rows import ClauseRow
from einloom.csp.engine.clauses import GroundClause, ground_clause, tuples
from einloom.csp.layout.bitrows import BitRows
from einloom.csp.layout.slots import Layout
from einloom.csp.propagators.counter import Counters
from einloom.csp.propagators.disjunction import Comparison, Disjunction
from einloom.csp.propagators.table import MOST_ROWS, Clause, Restriction, Source, Table, TableConstraint

__all__ = ["Ground", "Grounder"]

Merged = dict[tuple[int, ...], dict[Clause, list[Source]]]


@dataclass(slots=True)
class Ground:
    """The constraints of the objects that need exactly one mask of extensions, and how to post them.

    Posting looks at as little as it can: what is idle in domains that no candidate exceeds is looked at only if a slot
    of older objects has been narrowed since.

    Attributes:
        slots, full: the slots that begin to matter, and their full masks.
        own, restrictions: masks that clauses over single slots leave to these slots and to others.
        impossible: a clause that fails whatever the domains.
        reasons: the clauses behind `own` and `restrictions`, by slot.
        first: `(slot, full mask, first mask, reason)` for `own`; None if one is empty.
        deltas: how rows change when all of `own` are narrowed from full domains.
        tables, disjunctions: the other constraints.
        active: tables to run whatever the domains; `active_disjunctions` likewise.
        if_narrowed: `(slot, mask, tables)`: what to run if this older slot is below the mask.
        if_false: `(slot, mask, disjunctions)`: what to run if this older slot has no value of the mask.
    """

    need: int
    slots: list[int]
    full: list[int]
    own: dict[int, int] = field(default_factory=dict[int, int])
    restrictions: dict[int, int] = field(default_factory=dict[int, int])
    impossible: Restriction | None = None
    reasons: dict[int, Restriction] = field(default_factory=dict[int, Restriction])
    first: list[tuple[int, int, int, Restriction]] | None = None
    deltas: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    tables: list[TableConstraint] = field(default_factory=list[TableConstraint])
    disjunctions: list[Disjunction] = field(default_factory=list[Disjunction])
    active: list[TableConstraint] = field(default_factory=list[TableConstraint])
    active_disjunctions: dict[int, None] = field(default_factory=dict[int, None])
    if_narrowed: list[tuple[int, int, list[TableConstraint]]] = field(
        default_factory=list[tuple[int, int, list[TableConstraint]]]
    )
    if_false: list[tuple[int, int, dict[int, None]]] = field(default_factory=list[tuple[int, int, dict[int, None]]])


class Grounder:
    """Grounds clauses for one problem.

    Attributes:
        needs: the masks of extensions for which there is something to post.
        disjunctions: all so far, by number.
    """

    def __init__(self, layout: Layout, rows: BitRows, clauses: Sequence[ClauseRow], counters: Counters) -> None:
        self.layout = layout
        self.rows = rows
        self.counters = counters
        self.disjunctions: list[Disjunction] = []
        self._tables: dict[tuple[Any, frozenset[Clause]], Table] = {}
        self._sources: dict[int, list[Source]] = {}
        for row in clauses:
            for objects, need in tuples(layout.members, row):
                self._sources.setdefault(need, []).append((row, objects))
        self.needs = sorted({0, *self._sources, *layout.by_need})

    def ground(self, need: int, domains: Sequence[int]) -> Ground:
        """Return the constraints of all tuples of objects that need exactly these extensions.

        Args:
            domains: masks that no candidate exceeds; what always holds for them is left out.
        """
        slots = self.layout.by_need.get(need, [])
        found = Ground(need, slots, [self.layout.full[slot] for slot in slots])
        merged: Merged = {}
        for source in self._sources.pop(need, ()):
            clause = ground_clause(self.layout, self.counters, *source)
            if clause is not None:
                self._file(found, merged, clause, source)
        _absorb(merged)
        domains = [found.own.get(slot, full) & full for slot, full in enumerate(domains)]
        for slots, clauses in merged.items():
            self._constrain(found, slots, clauses, domains)
        found.disjunctions = [each for each in found.disjunctions if not each.is_entailed(domains)]
        for disjunction in found.disjunctions:
            disjunction.number = len(self.disjunctions)
            self.disjunctions.append(disjunction)
        self._plan_tables(found, domains)
        self._plan_disjunctions(found)
        return found

    def _file(self, ground: Ground, merged: Merged, clause: GroundClause, source: Source) -> None:
        """Put a clause where it belongs: single slots, a truth table, or a disjunction."""
        slots, domains = clause.slots, self.layout.domain_of
        if slots in merged and not clause.bounds:
            merged[slots].setdefault(clause.over(slots), []).append(source)
        elif clause.bounds or prod(len(domains[slot].values) for slot in slots) > MOST_ROWS:
            ground.disjunctions.append(self._disjunction(clause, ground.need, source))
        elif not slots:
            ground.impossible = Restriction(ground.need, [source])
        elif len(slots) == 1 and not clause.pairs:
            (slot,) = slots
            masks = ground.own if self.layout.need_of[slot] == ground.need else ground.restrictions
            masks[slot] = masks.get(slot, self.layout.full[slot]) & clause.masks[slot]
            ground.reasons.setdefault(slot, Restriction(ground.need, [])).sources.append(source)
        else:
            merged[slots] = {clause.over(slots): [source]}

    def _constrain(
        self, ground: Ground, slots: tuple[int, ...], clauses: dict[Clause, list[Source]], domains: Sequence[int]
    ) -> None:
        """Add the constraint of the clauses over some slots: one wide clause alone is propagated fully without rows."""
        if len(slots) > 2 and len(clauses) == 1:
            ((clause, sources),) = clauses.items()
            if not clause.pairs:
                ground.disjunctions.append(Disjunction(list(zip(slots, clause.masks)), (), ground.need, sources[0]))
                return
        table = self._table(slots, frozenset(clauses))
        if not table.is_entailed([domains[slot] for slot in slots]):
            ground.tables.append(TableConstraint(table, slots, ground.need, clauses))

    def _disjunction(self, clause: GroundClause, need: int, source: Source) -> Disjunction:
        compared = [
            Comparison(a, b, self._table((a, b), frozenset({Clause((0, 0), ((0, flip_a, operator, 1, flip_b),))})))
            for a, flip_a, operator, b, flip_b in clause.pairs
        ]
        literals = [(slot, mask) for slot, mask in clause.masks.items() if mask]
        return Disjunction(literals, [*compared, *clause.bounds], need, source)

    def _table(self, slots: Sequence[int], clauses: frozenset[Clause]) -> Table:
        """Return the table of some clauses over the domains of some slots: hundreds of tuples of objects share one."""
        domains = [self.layout.domain_of[slot] for slot in slots]
        key = tuple([id(domain) for domain in domains]), clauses
        if key not in self._tables:
            self._tables[key] = Table(domains, clauses)
        return self._tables[key]

    def _plan_tables(self, ground: Ground, domains: Sequence[int]) -> None:
        """Sort restrictions and tables by when they must be looked at; slots that `own` narrows are queued anyway."""
        full, needs = self.layout.full, self.layout.need_of
        if all(ground.own.values()) and ground.impossible is None:
            first = [(slot, full[slot], mask, ground.reasons[slot]) for slot, mask in ground.own.items()]
            ground.first = [each for each in first if each[1] != each[2]]
            ground.deltas = self.rows.deltas([(slot, old ^ mask) for slot, old, mask, _ in ground.first])
        narrowed: dict[int, list[TableConstraint]] = {}
        for each in ground.tables:
            if any(ground.own.get(slot, full[slot]) != full[slot] for slot in each.slots):
                continue
            if each.table[tuple([domains[slot] for slot in each.slots])]:
                ground.active.append(each)
                continue
            for slot in each.slots:
                if needs[slot] != ground.need:
                    narrowed.setdefault(slot, []).append(each)
        ground.if_narrowed = [(slot, domains[slot], tables) for slot, tables in narrowed.items()]

    def _plan_disjunctions(self, ground: Ground) -> None:
        false: dict[tuple[int, int], dict[int, None]] = {}
        for each in ground.disjunctions:
            if len(each.literals) < 2:
                ground.active_disjunctions[each.number] = None
                continue
            for slot, mask in each.literals:
                if self.layout.need_of[slot] != ground.need:
                    false.setdefault((slot, mask), {})[each.number] = None
        ground.if_false = [(slot, mask, numbers) for (slot, mask), numbers in false.items()]


def _absorb(merged: Merged) -> None:
    """Move the clauses over some slots into a table that has these slots and more: one look-up does for both."""
    wide = [slots for slots in merged if len(slots) > 2]
    for slots in sorted(wide, key=len):
        for size in range(2, len(slots)):
            for positions in combinations(range(len(slots)), size):
                part = merged.pop(tuple([slots[i] for i in positions]), {})
                for clause, sources in part.items():
                    merged[slots].setdefault(_spread(clause, positions, len(slots)), []).extend(sources)


def _spread(clause: Clause, positions: tuple[int, ...], size: int) -> Clause:
    """Return a clause over some positions of a wider table."""
    masks = [0] * size
    for position, mask in zip(positions, clause.masks):
        masks[position] = mask
    pairs = tuple((positions[a], flip_a, op, positions[b], flip_b) for a, flip_a, op, b, flip_b in clause.pairs)
    return Clause(tuple(masks), pairs)
