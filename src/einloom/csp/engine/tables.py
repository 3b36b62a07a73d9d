"""`Tables`: everything about one problem that its states share: slots, constraints, and who is woken by what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from einloom.csp.compile.compiler import Space
from einloom.csp.compile.lines import line_clauses
from einloom.csp.compile.rows import ValueLiteral
from einloom.csp.engine.grounding import Ground, Grounder
from einloom.csp.layout.additions import Addition
from einloom.csp.layout.bitrows import BitRows, Where
from einloom.csp.layout.members import Members
from einloom.csp.layout.names import Names
from einloom.csp.layout.slots import Layout
from einloom.csp.propagators.counter import Counters
from einloom.csp.propagators.line import Line
from einloom.csp.propagators.path import make_paths
from einloom.csp.propagators.propagator import Constraint
from einloom.csp.propagators.quotient import make_quotients, rows_read, watch_equivalences
from einloom.csp.propagators.store import ASLEEP, FIRST, LIMITS, Lists, Store, Trail
from einloom.csp.propagators.trigger import make_triggers
from einloom.csp.propagators.watches import Watches

__all__ = ["Tables"]


class Tables:
    """The tables of one problem; complete, and never changed again, once the root has been propagated.

    Attributes:
        members, layout, names, rows: its objects, slots, their names, and where domains lie as rows of bits.
        counters, quotients, triggers, paths, lines: its constraints, but for those that grounding makes.
        watches: who is woken by what.
        posted_with: for each extension, the masks of those for which there is something to post, with it among them.
        joins: for each extension, `(row, bit, need)` of the members that watched sets gain.
        restless: for each need, the slots of paths in which even a fully open pair restricts something.
        root: lists and trail of the root's fixpoint, once it is known.
    """

    def __init__(self, space: Space, additions: Iterable[Addition], host: Mapping[str, Any]) -> None:
        self.space = space
        self.members = members = Members(space, additions, host)
        self.layout = layout = Layout(members)
        by_line = {number: space.clauses[number] for number in line_clauses(space.clauses)}
        self.rows = BitRows(layout, *self._read_as_rows(set(by_line)))
        self.paths = make_paths(layout, self.rows)
        self.lines = [Line(layout, self.rows, row, space.lines[number]) for number, row in by_line.items()]
        self.counters = Counters(layout)
        self.quotients = make_quotients(layout, self.rows)
        self.triggers = make_triggers(layout)
        self.names = Names(layout, self.counters.numbers)
        self.watches = self._watches()
        others = [row for number, row in enumerate(space.clauses) if number not in by_line]
        self._grounder = Grounder(layout, self.rows, others, self.counters)
        self._grounds: dict[int, Ground] = {}
        self.disjunctions = self._grounder.disjunctions
        needs = sorted({*self._grounder.needs, *(need for path in self.paths for need in path.restless)})
        extensions = range(len(members.extensions))
        self.posted_with = [[need for need in needs if need >> number & 1] for number in extensions]
        self.joins = [self.rows.joining(number) for number in extensions]
        self.restless = {need: [slot for path in self.paths for slot in path.restless.get(need, ())] for need in needs}
        self.root: tuple[Lists, Trail] | None = None

    def _read_as_rows(self, by_line: set[int]) -> tuple[set[str], set[Where]]:
        """Return the choices and the sets that paths, lines and quotients read as rows of bits."""
        space, members = self.space, self.members
        choices = {relation.choice for relation in space.relations}
        sets: set[Where] = {
            (relation.members.set, tuple(context[owner] for owner in relation.members.owners))
            for relation in space.relations
            for context, _ in members.tuples(relation.context)
        }
        for number in by_line:
            clause = space.clauses[number]
            choices |= {each.choice for each in clause.literals if isinstance(each, ValueLiteral)}
            sets |= {(quantifier.set, ()) for quantifier in clause.quantifiers}
        return choices.union(*map(rows_read, space.quotients)), sets

    def _watches(self) -> Watches:
        """Return the watch lists. The order of paths and lines numbers their functions; see `functions`."""
        watches = Watches(self.layout.full, len(self.members.extensions))
        constraints: tuple[Constraint, ...] = (*self.paths, *self.counters.all, *self.quotients, *self.lines)
        for constraint in (*constraints, *self.triggers):
            constraint.watch(watches)
        for number, row in enumerate(self.space.quotients):
            watch_equivalences(self.layout, number, row, watches)
        return watches

    def functions(self, store: Store) -> list[Callable[[Any], None]]:
        """Return what paths and lines do when woken, bound to a store, by number from `FUNCTIONS` on."""
        return [function for each in (*self.paths, *self.lines) for function in each.bind(store)]

    def start(self) -> tuple[Lists, Trail]:
        """Return what a state starts with: the root or, while that is made, full domains with all extensions asleep."""
        if self.root is not None:
            return self.root
        numbers: list[Any] = [0] * FIRST
        numbers[ASLEEP] = (1 << len(self.members.extensions)) - 1
        numbers[LIMITS] = ()
        domains = list(self.layout.full)
        return (domains, self.rows.fill(domains, numbers[ASLEEP]), numbers + self.counters.fresh()), []

    def ground(self, need: int) -> Ground:
        """Return the constraints of the objects that need exactly these extensions."""
        if need not in self._grounds:
            found = self._grounder.ground(need, self.layout.full if self.root is None else self.root[0][0])
            self._grounds[need] = found
            for constraint in (*found.tables, *found.disjunctions):
                constraint.watch(self.watches)
        return self._grounds[need]

    def complete(self, root: tuple[Lists, Trail]) -> None:
        """Take the root's fixpoint: forget what can never matter below it, and ground what sleeps there."""
        self.root, domains = root, root[0][0]
        for need in self._grounder.needs:
            self.ground(need)
        entailed = {each.number for each in self.disjunctions if each.is_entailed(domains)}
        self.watches.forget(domains, entailed, self.counters.idle(domains))
