"""`Problem`: a frozen instance, with one variable for each choice and tuple of distinct objects.

It holds what all candidates share: slots, propagators and who watches which slot. Domains live in `State` and
    `Candidate`.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any

from einloom.csp.candidate import Candidate, dead_end
from einloom.csp.compile.lines import line_clauses
from einloom.csp.compile.rows import EnumRow, QuotientRow, ValueLiteral
from einloom.csp.engine.bitrows import BitRows, Where
from einloom.csp.engine.counters import ASLEEP, FIRST, INFINITE, LIMITS, Counters
from einloom.csp.engine.ground import Ground, Grounder, Source
from einloom.csp.engine.layout import Layout
from einloom.csp.engine.linebinding import make_zone
from einloom.csp.engine.lowering import make_triggers
from einloom.csp.engine.members import Members
from einloom.csp.engine.propagation import Dead
from einloom.csp.engine.quotients import make_quotients
from einloom.csp.engine.relation import make_relations
from einloom.csp.engine.state import State
from einloom.csp.engine.truth import Table
from einloom.csp.engine.watching import LINES, Watching
from einloom.csp.language.source import UnknownChoice

if TYPE_CHECKING:
    from einloom.csp.instance import Instance, Lowering

__all__ = ["Problem", "Variable"]

Lists = tuple[list[int], list[int], list[Any], list[tuple[int, int, Any]]]


@dataclass(frozen=True, slots=True)
class Variable:
    """One decision.

    Attributes:
        name: the choice applied to its objects' names, `"order(a, b)"`, in the direction that was asked for.
        choice: the choice's name.
        objects: names of the objects.
        values: names (or integers) of the values; bit i of a mask of `slot` is `values[i]`.
        slot: index into `State.domains`.
        flipped: whether the slot stores the other direction, so that masks must pass through the converse.
        lowerings: keys of the lowerings that must have fired before it exists; empty for the root's.
    """

    name: str
    choice: str
    objects: tuple[str, ...]
    values: tuple[str, ...] | tuple[int, ...]
    slot: int
    flipped: bool = False
    lowerings: tuple[str, ...] = ()


class Problem:
    """A frozen instance of a space: immutable for its users, shared by all its candidates.

    Attributes:
        space: the compiled space.
        layout: the slots.
        exposed: slots that are decisions, in order.
    """

    def __init__(self, instance: Instance) -> None:
        self.space = space = instance.space
        self.members = Members(instance)
        self.layout = Layout(self.members)
        self.exposed = [slot for slot in range(len(self.layout.full)) if slot not in self.layout.hidden]
        self.line_numbers = tuple(line_clauses(space.clauses))
        self.rows = BitRows(self.layout, *self._watched())
        self.relations = make_relations(self.layout, self.rows)
        self.counters = Counters(self.layout)
        self.quotients = make_quotients(self.layout, self.rows)
        self.triggers = make_triggers(self.layout)
        self.watching = Watching(self)
        self.waking = self.watching.wake_lists()
        grounded = [(i, row) for i, row in enumerate(space.clauses) if i not in self.line_numbers]
        self._grounder = Grounder(self.layout, self.rows, grounded, self.counters.numbers)
        self._grounds: dict[int, Ground] = {}
        self._zones: dict[tuple[int, int], Any] = {}
        self._slot_tables: dict[str, list[int]] = {}

    def _watched(self) -> tuple[set[str], set[Where]]:
        """Return the choices and the sets that relations, lines and quotients read as rows."""
        space, members = self.space, self.members
        choices: set[str] = set()
        sets: set[Where] = set()
        for relation in space.relations:
            choices.add(relation.choice)
            for context, _ in members.tuples(relation.context):
                sets.add((relation.members.set, tuple(context[owner] for owner in relation.members.owners)))
        for number in self.line_numbers:
            clause = space.clauses[number]
            choices |= {each.choice for each in clause.literals if isinstance(each, ValueLiteral)}
            sets |= {(quantifier.set, ()) for quantifier in clause.quantifiers}
        for quotient in space.quotients:
            choices |= _choices_of_quotient(quotient)
        return choices, sets

    # -- for people ---------------------------------------------------------------------------------------------------

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """All decisions, with those of objects that sleep, in slot order."""
        return tuple(self.describe(slot) for slot in self.exposed)

    def describe(self, slot: int, flipped: bool = False) -> Variable:
        """Return the variable of a slot, in the stored or in the other direction."""
        layout, names = self.layout, self.members.names
        objects = layout.objects_of[slot]
        if flipped:
            objects = (*objects[:-2], objects[-1], objects[-2])
        inside = tuple(names[number] for number in objects)
        choice = layout.choice_of[slot].row.name
        need = layout.need_of[slot]
        keys = tuple(each.key for i, each in enumerate(self.members.lowerings) if need >> i & 1)
        values = layout.domain_of[slot].values
        return Variable(f"{choice}({', '.join(inside)})", choice, inside, values, slot, flipped, keys)

    def variable(self, name: str) -> Variable:
        """Return the variable of that name, in either direction, with any spaces.

        Raises:
            UnknownChoice: there is none; the message lists near names.
        """
        choice, objects = self._parse(name)
        if choice in self.layout.choices and objects is not None:
            try:
                return self.describe(*self.layout.find(choice, objects))
            except (KeyError, IndexError):
                pass
        near = get_close_matches(name, [each.name for each in self.variables], 3, 0.5)
        raise UnknownChoice(f"there is no choice {name!r}" + (f"; near names: {'; '.join(near)}" if near else ""))

    def counter(self, name: str) -> int:
        """Return the number of a counter by its name, as in `"threads()"`.

        Raises:
            UnknownChoice: there is none.
        """
        choice, objects = self._parse(name)
        known = self.counters.numbers.get(choice, {})
        if objects is None or objects not in known:
            names = [self.counters.name(each.number) for each in self.counters.all]
            near = get_close_matches(name, names, 3, 0.5)
            raise UnknownChoice(f"there is no counter {name!r}" + (f"; near names: {'; '.join(near)}" if near else ""))
        return known[objects]

    def is_counter(self, name: str) -> bool:
        """Whether a name is that of a counter."""
        return self._parse(name)[0] in self.counters.numbers

    def _parse(self, name: str) -> tuple[str, tuple[int, ...] | None]:
        match = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*", name)
        if match is None:
            return name, None
        inside = [part.strip() for part in match.group(2).split(",")] if match.group(2).strip() else []
        numbers = [self.members.by_name.get(part, -1) for part in inside]
        return match.group(1), None if -1 in numbers else tuple(numbers)

    def mask(self, variable: Variable, values: Iterable[str | int]) -> int:
        """Return values or aliases of a variable as a mask of its slot.

        Raises:
            UnknownChoice: it has no such value.
        """
        row = self.layout.choices[variable.choice].row
        known: dict[Any, int] = {value: 1 << i for i, value in enumerate(variable.values)}
        if isinstance(row, EnumRow):
            known |= row.masks
        mask = 0
        for value in values:
            if value not in known:
                raise UnknownChoice(f"{variable.name} has no value {value!r}; it has {', '.join(map(str, known))}")
            mask |= known[value]
        return self.turn(variable, mask)

    def turn(self, variable: Variable, mask: int) -> int:
        """Return a mask of a variable as seen in its slot, or back."""
        converse = self.layout.domain_of[variable.slot].converse
        return converse[mask] if variable.flipped and converse else mask

    @property
    def lowerings(self) -> dict[str, Lowering]:
        """All lowerings that can ever wake, by key."""
        return {each.key: each for each in self.members.lowerings}

    def objects(self, set_name: str, *of: Hashable) -> tuple[Hashable, ...]:
        """Return the members that a set has at the root, in frozen order."""
        return self.root.objects(set_name, *of)

    def name(self, item: Hashable) -> str:
        """Return the name of an object."""
        return self.members.names[self.members.numbers[item]]

    def object(self, name: str) -> Hashable:
        """Return the object of a name."""
        return self.members.items[self.members.by_name[name]]

    @cached_property
    def root(self) -> Candidate:
        """The unconstrained candidate, propagated.

        Raises:
            DeadEnd: the constraints alone leave no implementation.
        """
        return Candidate(self, self.state().snapshot(), ())

    def state(self) -> State:
        """Return a new mutable state at the root.

        Raises:
            DeadEnd: the constraints alone leave no implementation.
        """
        self.root_lists  # noqa: B018 - propagates the root first
        return State(self)

    @cached_property
    def root_lists(self) -> Lists:
        """Domains, rows, numbers and trail of the root's fixpoint.

        Raises:
            DeadEnd: the constraints alone leave no implementation.
        """
        state = State(self)
        try:
            state.start()
        except Dead:
            raise dead_end(state, None) from None
        self.watching.settle(state.domains)
        return state.domains, state.rows, state.numbers, state.trail

    def load(self, snapshot: bytes) -> Candidate:
        """Return the candidate that `Candidate.snapshot` or `State.snapshot` described.

        Raises:
            ValueError: it is not a snapshot of this problem.
        """
        self.layout.parse(snapshot)
        return Candidate(self, snapshot, ())

    # -- for propagators ----------------------------------------------------------------------------------------------

    def first_lists(self) -> Lists:
        """Return new lists for a state: the root's, or, while the root is made, those of full domains."""
        if "root_lists" in self.__dict__:
            domains, rows, numbers, trail = self.root_lists
            return domains.copy(), rows.copy(), numbers.copy(), trail.copy()
        domains, numbers = list(self.layout.full), self._fresh_numbers()
        return domains, self.rows.fill(domains, numbers[ASLEEP]), numbers, []

    def _fresh_numbers(self) -> list[Any]:
        """Return the numbers of a state in which everything sleeps."""
        numbers: list[Any] = [0] * (FIRST + 5 * len(self.counters.all) + 2 * len(self.counters.terms))
        numbers[ASLEEP] = (1 << len(self.members.lowerings)) - 1
        numbers[LIMITS] = ()
        for counter in self.counters.all:
            numbers[counter.at : counter.at + 5] = [0, 0, INFINITE, -INFINITE, None]
        return numbers

    def ground(self, need: int) -> Ground:
        """Return the constraints of the objects that need exactly these lowerings, grounded on first use."""
        if need not in self._grounds:
            root = self.__dict__.get("root_lists")
            found = self._grounds[need] = self._grounder.ground(need, root[0] if root else self.layout.full)
            self.watching.add(found)
        return self._grounds[need]

    def single_table(self, source: Source, slots: tuple[int, ...]) -> Table:
        """Return the truth table over some slots of one clause for some objects."""
        return self._grounder.single_table(source, slots)

    @cached_property
    def most_needs(self) -> int:
        """How many lowerings a tuple of objects can need at most."""
        members = self.members
        most = {
            name: max((need.bit_count() for each in sets.values() for need in each.values()), default=0)
            for name, sets in members.sets.items()
        }
        space = self.space
        rows: Sequence[Any] = (*space.clauses, *space.triggers)
        return max(
            1,
            max((sum(most[each.set] for each in row.quantifiers) for row in rows), default=1),
            max((sum(most[each.set] for each in row.parameters) for row in (*space.enums, *space.integers)), default=1),
        )

    @cached_property
    def root_lines(self) -> list[tuple[int, int]]:
        """The line functions to run at the root: one for each clause and object of its first set."""
        return [
            (LINES + 6 * index + 3, each)
            for index, number in enumerate(self.line_numbers)
            for each, need in self.members.sets[self.space.clauses[number].quantifiers[0].set].get((), {}).items()
            if not need
        ]

    @cached_property
    def started(self) -> dict[int, set[int]]:
        """For each need, the slots of relations in which even a fully open pair restricts something."""
        found: dict[int, set[int]] = {}
        for relation in self.relations:
            if not relation.is_idle_when_open:
                for slot in set(relation.slots) - {-1}:
                    found.setdefault(self.layout.need_of[slot], set()).add(slot)
        return found

    def slot_table(self, name: str) -> list[int]:
        """Return the slots of a choice by object, or by `first * objects + second`; -1 where there is none."""
        if name not in self._slot_tables:
            count = self.rows.objects
            choice = self.layout.choices[name]
            table = [-1] * (count if len(choice.row.parameters) == 1 else count * count)
            for objects, slot in choice.slots.items():
                if len(objects) == 1:
                    table[objects[0]] = slot
                else:
                    table[objects[0] * count + objects[1]] = slot
                    if choice.symmetric:
                        table[objects[1] * count + objects[0]] = slot
            self._slot_tables[name] = table
        return self._slot_tables[name]

    def zone(self, number: int, role: int) -> Any:
        """Return the zone function of a line clause; see `linebinding`."""
        if (number, role) not in self._zones:
            self._zones[number, role] = make_zone(self, number, role)
        return self._zones[number, role]


def _choices_of_quotient(row: QuotientRow) -> set[str]:
    marks = {row.representative} if len(row.parameters) <= 1 else set()
    return marks | {row.equivalence, *(each.choice for each in row.literals if isinstance(each, ValueLiteral))}
