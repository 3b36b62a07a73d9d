"""`Domains`: an immutable vector of domains, read and restricted by name. Decisions commute.

It holds bytes and the decisions that led to it; a `State` does the work. Two candidates of a problem are equal when
their domains are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from einloom.csp.engine.explain import Decisions, Reason, dead_end, explain_removal
from einloom.csp.engine.state import State

if TYPE_CHECKING:
    from einloom.csp.problem import Problem

__all__ = ["Domains"]

Values = str | int | Iterable[str | int]


class Domains:
    """The domains of a candidate, a partially specified implementation: one for each decision.

    Attributes:
        problem: the problem that it belongs to.
        decisions: the decisions since the root, as `(name, values)`; `(name, (low, high))` for a counter.
    """

    __slots__ = ("_bytes", "decisions", "problem")

    def __init__(self, problem: Problem, snapshot: bytes, decisions: Decisions) -> None:
        self.problem = problem
        self._bytes = snapshot
        self.decisions = decisions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Domains):
            return NotImplemented
        return self.problem is other.problem and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __repr__(self) -> str:
        count = len(self.open)
        state = "leaf" if not count else f"{count} open decision{'' if count == 1 else 's'}"
        return f"<candidate of {self.problem.space.name}: {state}, {len(self.decisions)} taken>"

    def domain(self, name: str) -> tuple[str | int | None, ...]:
        """Return the values that a decision still has, or `(low, high)` of a counter, high None if it is not bounded.

        Raises:
            UnknownChoice: there is no such decision.
        """
        if self.problem.names.is_counter(name):
            state = self.state()
            return state.low(name), state.high(name)
        variable = self.problem.variable(name)
        return self.problem.names.values(variable, self.domains[variable.slot])

    @property
    def open(self) -> dict[str, tuple[str | int, ...]]:
        """The decisions that exist, are exposed and are undecided, with their values."""
        domains, layout = self.domains, self.problem.layout
        return {layout.name(slot): layout.domain_of[slot].select(domains[slot]) for slot in self._open(domains)}

    @property
    def is_leaf(self) -> bool:
        """Whether nothing is open."""
        return next(self._open(self.domains), None) is None

    def _open(self, domains: list[int]) -> Iterator[int]:
        needs, asleep = self.problem.layout.need_of, self.asleep
        for slot in self.problem.exposed:
            if domains[slot] & (domains[slot] - 1) and not needs[slot] & asleep:
                yield slot

    @property
    def domains(self) -> list[int]:
        """The values that are left of each decision, as bits, by slots of the engine."""
        return self.problem.layout.parse(self._bytes)[0]

    @property
    def asleep(self) -> int:
        """The extensions that did not fire, as bits."""
        return self.problem.layout.parse(self._bytes)[1]

    @property
    def alive(self) -> tuple[str, ...]:
        """Keys of the extensions that fired."""
        asleep = self.asleep
        return tuple(each.key for i, each in enumerate(self.problem.members.extensions) if not asleep >> i & 1)

    def restrict(self, name: str, values: Values) -> Domains:
        """Return the candidate that keeps only these values (or aliases) of a decision.

        Raises:
            DeadEnd: nothing is left; its `conflict` is a `Reason`.
            UnknownChoice: there is no such decision or value.
        """
        wanted = (values,) if isinstance(values, (str, int)) else tuple(values)
        variable = self.problem.variable(name)
        mask = self.problem.names.mask(variable, wanted)
        state = self.state()
        if not state.restrict(variable.slot, mask):
            raise dead_end(self._replayed(name, mask, variable.slot), (name, wanted))
        return Domains(self.problem, state.snapshot(), (*self.decisions, (name, wanted)))

    def restrict_counter(self, name: str, low: int | None = None, high: int | None = None) -> Domains:
        """Return the candidate whose counter stays between `low` and `high`, each None for no bound.

        Raises:
            DeadEnd: nothing is left.
            UnknownChoice: there is no such counter.
        """
        state = self.state()
        if not state.limit(self.problem.names.counter(name), low, high):
            replayed = self._replayed()
            replayed.limit(self.problem.names.counter(name), low, high)
            raise dead_end(replayed, (name, (low, high)))
        return Domains(self.problem, state.snapshot(), (*self.decisions, (name, (low, high))))

    def apply(self, decisions: Mapping[str, Values]) -> Domains:
        """Return the candidate with several decisions restricted.

        Raises:
            DeadEnd: nothing is left.
        """
        found = self
        for name, values in decisions.items():
            found = found.restrict(name, values)
        return found

    def why(self, name: str, value: str | int) -> Reason | None:
        """Say which constraint and which decisions took a value away; None if it is still there."""
        variable = self.problem.variable(name)
        mask = self.problem.names.mask(variable, (value,))
        if self.domains[variable.slot] & mask:
            return None
        return explain_removal(self._replayed(), variable.slot, mask)

    def _replayed(self, name: str = "", mask: int = 0, slot: int = -1) -> State:
        """Return a state whose trail holds the decisions of this candidate one by one, then one more."""
        state = self.problem.state()
        for decision, values in self.decisions:
            if self.problem.names.is_counter(decision):
                state.limit(self.problem.names.counter(decision), *values)
                continue
            variable = self.problem.variable(decision)
            state.restrict(variable.slot, self.problem.names.mask(variable, values))
        if slot >= 0:
            state.restrict(slot, mask)
        return state

    def objects(self, set_name: str, *of: Hashable) -> tuple[Hashable, ...]:
        """Return the objects that are surely members of a set here; of a quotient, its sure representatives."""
        return self._members(set_name, of, sure=True)

    def maybe(self, set_name: str, *of: Hashable) -> tuple[Hashable, ...]:
        """Return the objects that may yet become members of a quotient."""
        return self._members(set_name, of, sure=False)

    def _members(self, set_name: str, of: tuple[Hashable, ...], sure: bool) -> tuple[Hashable, ...]:
        members, (domains, asleep, _) = self.problem.members, self.problem.layout.parse(self._bytes)
        owners = tuple(members.numbers[each] for each in of)
        row = members.rows[set_name]
        marks = {}
        if row.quotient:
            assert row.superset is not None
            marks = self.problem.layout.choices[row.quotient].slots
            above = tuple(owners[position] for position in row.superset[1])
            found = members.sets[row.superset[0]].get(above, {})
        else:
            found = members.sets[set_name].get(owners, {})
        awake = sorted(number for number, need in found.items() if not need & asleep)
        if row.quotient:
            wanted = 2 if sure else 3
            awake = [number for number in awake if domains[marks[*owners, number]] == wanted]
        elif not sure:
            awake = []
        return tuple(members.items[number] for number in awake)

    def snapshot(self) -> bytes:
        """Return the domains as bytes."""
        return self._bytes

    def state(self) -> State:
        """Return a new mutable state that starts here."""
        state = self.problem.state()
        state.load(self._bytes)
        return state
