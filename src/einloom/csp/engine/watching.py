"""Who must be told when a slot changes: built once for a problem, shared by its states, extended by lowerings.

Most propagators wait for one thing: that a slot has lost the last value of some mask (so that a literal became
    false, or, with the complement, true). Such a watch is `(mask, handler, argument)`; handlers are numbered alike
    in all states.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from einloom.csp.compile.rows import EnumRow, ValueLiteral
from einloom.csp.engine.bitrows import Where
from einloom.csp.engine.counters import Term
from einloom.csp.engine.disjunction import CounterPart, Disjunction
from einloom.csp.engine.ground import Ground
from einloom.csp.engine.lowering import Trigger
from einloom.csp.engine.quotients import Quotient
from einloom.csp.engine.relation import Relation

if TYPE_CHECKING:
    from einloom.csp.engine.problem import Problem

__all__ = ["CHECK", "DISJOIN", "LINES", "MEMBER", "PAIR", "TOUCH", "WakeList", "Watching"]

TOUCH, MEMBER, PAIR, CHECK, DISJOIN, LINES = range(6)


@dataclass(slots=True)
class WakeList:
    """What must be looked at again when a lowering wakes.

    Attributes:
        members: `(row, bit, need)` of the members that watched sets gain.
        terms: terms of counters that its objects make.
        bare: those of them without a condition on a slot that wakes, which would tell when it is met.
        lines: `(handler, object, need)` for the new objects in each role of a line clause.
    """

    members: list[tuple[int, int, int]] = field(default_factory=list)
    terms: list[int] = field(default_factory=list)
    bare: list[int] = field(default_factory=list)
    counters: list[int] = field(default_factory=list)
    quotients: list[int] = field(default_factory=list)
    triggers: list[int] = field(default_factory=list)
    lines: list[tuple[int, int, int]] = field(default_factory=list)


class Watching:
    """The watch lists of a problem, one for each slot.

    Attributes:
        pairs: entries `(table, slot, slot, need)`.
        triples: entries `(table, slot, slot, slot, need)`.
        wide: entries over more slots.
        emptied: for each mask, `(handler, argument)` of those that wait for its last value to go.
        changed: `(handler, argument)`.
        relations: numbers of the relations over the slot's choice.
        readers: for each counter, the parts that read it, with their disjunctions. Limits set for good are not read.
        disjunctions: all of them, by number.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.layout = problem.layout
        count = len(self.layout.full)
        self.pairs: list[list[tuple[Any, ...]]] = [[] for _ in range(count)]
        self.triples: list[list[tuple[Any, ...]]] = [[] for _ in range(count)]
        self.wide: list[list[tuple[Any, ...]]] = [[] for _ in range(count)]
        self.emptied: list[dict[int, list[tuple[int, Any]]]] = [{} for _ in range(count)]
        self.changed: list[list[tuple[int, Any]]] = [[] for _ in range(count)]
        self.relations: list[tuple[int, ...]] = [()] * count
        self.readers: dict[int, dict[CounterPart, list[int]]] = {}
        self.disjunctions: list[Disjunction] = []
        for number, relation in enumerate(problem.relations):
            self._watch_relation(number, relation)
        self._watch_terms()
        for quotient in problem.quotients:
            self._watch_members(quotient)
        self._watch_equivalences()
        for trigger in problem.triggers:
            self._watch_trigger(trigger)
        for index, number in enumerate(problem.line_numbers):
            self._watch_lines(LINES + 6 * index, number)

    def _both(self, slot: int, mask: int, handler: int, argument: Any) -> None:
        """Watch a literal become false and become true."""
        full = self.layout.full[slot]
        for each in {mask, full & ~mask} - {0, full}:
            self._watch(slot, each, handler, argument)

    def _watch(self, slot: int, mask: int, handler: int, argument: Any) -> None:
        self.emptied[slot].setdefault(mask, []).append((handler, argument))

    def _watch_many(self, slot: int, mask: int, disjunction: int) -> None:
        """Add a disjunction to the one watch that queues all disjunctions under a mask."""
        watches = self.emptied[slot].setdefault(mask, [])
        for handler, disjunctions in watches:
            if handler == DISJOIN:
                disjunctions[disjunction] = None
                return
        watches.append((DISJOIN, {disjunction: None}))

    def _watch_relation(self, number: int, relation: Relation) -> None:
        for slot in set(relation.slots) - {-1}:
            self.relations[slot] = (*self.relations[slot], number)

    def _watch_terms(self) -> None:
        for term in self.problem.counters.terms:
            for slot, mask in term.literals:
                self._both(slot, mask, TOUCH, term.number)
            if term.slot >= 0:
                self.changed[term.slot].append((TOUCH, term.number))

    def _watch_members(self, quotient: Quotient) -> None:
        for condition in quotient.conditions:
            for each, (slot, mask) in condition.slots.items():
                self._both(slot, mask, MEMBER, (quotient.number, each))
        for slot, mask in quotient.fixed:
            for each in quotient.marks:
                self._both(slot, mask, MEMBER, (quotient.number, each))
        for each, slot in quotient.marks.items():
            self._both(slot, 1, MEMBER, (quotient.number, each))

    def _watch_equivalences(self) -> None:
        for number, row in enumerate(self.problem.space.quotients):
            for (a, b), slot in self.layout.choices[row.equivalence].slots.items():
                self._both(slot, row.mask, PAIR, (number, max(a, b)))

    def _watch_trigger(self, trigger: Trigger) -> None:
        for slot, mask in trigger.literals:
            self._both(slot, mask, CHECK, trigger.number)

    def _watch_lines(self, handler: int, number: int) -> None:
        clause = self.problem.space.clauses[number]
        for literal in clause.literals:
            assert isinstance(literal, ValueLiteral)
            choice = self.layout.choices[literal.choice]
            for objects, slot in choice.slots.items():
                if len(objects) == 1:
                    self._watch(slot, literal.mask, handler + 3 + literal.arguments[0], objects[0])
                    continue
                self._watch_line_pair(handler, literal, objects, slot, literal.mask)
                if isinstance(choice.row, EnumRow) and choice.row.converse is not None:
                    mask = (self.layout.domain_of[slot].converse or ())[literal.mask]
                    self._watch_line_pair(handler, literal, objects[::-1], slot, mask)

    def _watch_line_pair(
        self, handler: int, literal: ValueLiteral, objects: tuple[int, ...], slot: int, mask: int
    ) -> None:
        first, second = literal.arguments
        free = 3 - first - second
        pair = objects if first < second else objects[::-1]
        sets = [quantifier.set for i, quantifier in enumerate(self._quantifiers(handler)) if i != free]
        members = self.layout.members.sets
        if all(each in members[name].get((), {}) for each, name in zip(pair, sets)):
            self._watch(slot, mask, handler + free, pair)

    def _quantifiers(self, handler: int) -> tuple[Any, ...]:
        number = self.problem.line_numbers[(handler - LINES) // 6]
        return self.problem.space.clauses[number].quantifiers

    def add(self, ground: Ground) -> None:
        """Watch the constraints of a ground."""
        for entry in ground.entries:
            slots = entry[1:-1]
            lists = {2: self.pairs, 3: self.triples}.get(len(slots), self.wide)
            for slot in slots:
                lists[slot].append(entry)
        for disjunction in ground.disjunctions:
            assert disjunction.number == len(self.disjunctions)
            self.disjunctions.append(disjunction)
            self._watch_disjunction(disjunction)

    def _watch_disjunction(self, disjunction: Disjunction) -> None:
        for slot, mask in disjunction.values:
            self._watch_many(slot, mask, disjunction.number)
        alone = len(disjunction.values) + len(disjunction.others) == 1
        for part in disjunction.others:
            for slot in part.slots:
                self.changed[slot].append((DISJOIN, {disjunction.number: None}))
            if isinstance(part, CounterPart) and not (alone and part.bound is not None):
                self.readers.setdefault(part.counter, {}).setdefault(part, []).append(disjunction.number)

    def settle(self, domains: list[int]) -> None:
        """Forget the watches that cannot matter any more in domains that no candidate exceeds."""
        for lists in (self.pairs, self.triples, self.wide):
            for watches in lists:
                watches[:] = [
                    each for each in watches if not each[0].is_entailed([domains[slot] for slot in each[1:-1]])
                ]
        entailed = {each.number for each in self.disjunctions if each.is_entailed(domains)}
        idle = {
            term.number
            for term in self.problem.counters.terms
            if any(not domains[slot] & mask for slot, mask in term.literals)
        }
        for slot, watches in enumerate(self.emptied):
            for mask in list(watches):
                watches[mask][:] = _without(watches[mask], entailed, idle)
                if not watches[mask] or not domains[slot] & mask or not domains[slot] & ~mask:
                    del watches[mask]
        for watches in self.changed:
            watches[:] = _without(watches, entailed, idle)

    def wake_lists(self) -> list[WakeList]:
        """Return, for each lowering, what to look at again when it wakes."""
        problem = self.problem
        lists = [WakeList() for _ in self.layout.members.lowerings]
        for number, found in enumerate(lists):
            bit = 1 << number
            terms = [term for term in problem.counters.terms if term.need & bit]
            found.terms = [term.number for term in terms]
            found.bare = [term.number for term in terms if not self._waits(term, bit)]
            counters = {counter.number: None for counter in problem.counters.all if counter.need & bit}
            found.counters = list(counters | {term.counter: None for term in terms})
            found.quotients = [
                quotient.number for quotient in problem.quotients if any(need & bit for need in quotient.needs.values())
            ]
            found.triggers = [trigger.number for trigger in problem.triggers if trigger.need & bit]
            found.members = [
                (row, 1 << each, need)
                for where, row in problem.rows.members.items()
                for each, need in self._needs(where).items()
                if need & bit
            ]
            for index, clause in enumerate(problem.line_numbers):
                for role, quantifier in enumerate(problem.space.clauses[clause].quantifiers):
                    for each, need in self._needs((quantifier.set, ())).items():
                        if need & bit:
                            found.lines.append((LINES + 6 * index + 3 + role, each, need))
        return lists

    def _waits(self, term: Term, bit: int) -> bool:
        """Whether a term has a condition on a slot that needs a lowering."""
        return any(self.layout.need_of[slot] & bit for slot, _ in term.literals)

    def _needs(self, where: Where) -> dict[int, int]:
        return self.layout.members.sets[where[0]].get(where[1], {})


def _without(watches: list[tuple[int, Any]], entailed: set[int], idle: set[int]) -> list[tuple[int, Any]]:
    """Return watches without those of entailed disjunctions and of terms that can never count."""
    found: list[tuple[int, Any]] = []
    for handler, argument in watches:
        if handler == DISJOIN:
            argument = {number: None for number in argument if number not in entailed}
            if not argument:
                continue
        if handler != TOUCH or argument not in idle:
            found.append((handler, argument))
    return found
