"""`SearchSpace` and `PartialImplementation`: what spaces of every target, and the candidates in them, have in common.

A candidate is an immutable vector of domains. Restricting one decision narrows the others; decisions commute, so two
candidates reached in different orders are equal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from random import Random
from typing import Any, Protocol, Self

from einloom import csp
from einloom.errors import ArgumentError, DeadEnd, ScheduleError
from einloom.frozen import frozen
from einloom.once import cached_property
from einloom.space.descent import decision_slots
from einloom.space.model.bound import Bound
from einloom.space.summary import as_html, as_text

__all__ = ["Model", "PartialImplementation", "SearchSpace", "Values"]

Values = str | int | Iterable[str | int]
PATIENCE = 10
"""How long `complete` tries, in seconds."""


class Model(Protocol):
    """Bounds the time of every implementation below a candidate."""

    def bound(self, view: csp.State, cut: float = inf, above: Bound | None = None) -> Bound:
        """Return the bound of a candidate; above `cut` seconds any number of the term that exceeds it will do."""
        ...

    def allowing(self, view: csp.State, seconds: float) -> Model:
        """Return the model whose rates are raised so far that a time which was measured does not beat its bound."""
        ...


class SearchSpace(ABC):
    """All implementations of something on some target: a constraint problem, an order of its decisions, a model.

    Attributes:
        order: groups of choices, in the order in which searches take decisions.
    """

    order: tuple[str, ...]

    @property
    @abstractmethod
    def name(self) -> str:
        """What is implemented."""

    @cached_property
    @abstractmethod
    def problem(self) -> csp.Problem:
        """The constraint problem behind the space."""

    @cached_property
    @abstractmethod
    def model(self) -> Model:
        """What bounds the times of this space's candidates."""

    @cached_property
    @abstractmethod
    def digest(self) -> str:
        """A hash of what is implemented, the target's limits and the text of the constraints."""

    @cached_property
    @abstractmethod
    def root(self) -> PartialImplementation:
        """The candidate that holds every implementation."""

    @cached_property
    def _slots(self) -> dict[tuple[str, ...], tuple[int, ...]]:
        return {}

    def slots(self, order: Sequence[str] | str | None = None) -> tuple[int, ...]:
        """Return the engine's slots of all decisions in an order of groups; None is the space's own order.

        Raises:
            ScheduleError: a group names no choice.
        """
        named = order.split(",") if isinstance(order, str) else order
        groups = self.order if named is None else tuple(group.strip() for group in named)
        if groups not in self._slots:
            self._slots[groups] = decision_slots(self.problem, groups, self.weight)
        return self._slots[groups]

    def weight(self, variable: csp.Variable) -> float:
        """Return how much depends on a decision: within its group, those with more are taken first."""
        return 0.0

    def decided(self, state: csp.State | csp.Domains) -> dict[str, str | int]:
        """Return the decisions that have one value, by name: of a state of the engine, or of a vector of domains."""
        domains, asleep = state.domains, state.asleep
        return {
            name: values[domains[slot].bit_length() - 1]
            for name, slot, values, needed in self.features
            if not needed & asleep and not domains[slot] & (domains[slot] - 1)
        }

    @cached_property
    def features(self) -> list[tuple[str, int, tuple[str | int, ...], int]]:
        """What features are made of: of each decision name, slot, values, and the extensions that it needs."""
        bits = {key: 1 << position for position, key in enumerate(self.problem.extensions)}
        return [
            (each.name, each.slot, each.values, sum(bits[key] for key in each.extensions))
            for each in self.problem.variables
        ]


@frozen(slots=False, eq=False)
class PartialImplementation:
    """A partially specified implementation.

    Attributes:
        space: where it belongs.
        inner: the engine's vector of domains.
    """

    space: SearchSpace
    inner: csp.Domains

    @property
    def open(self) -> dict[str, tuple[str | int, ...]]:
        """The decisions that are not taken yet, with the values that are left."""
        return self.inner.open

    @property
    def is_leaf(self) -> bool:
        """Whether every decision is taken: one implementation."""
        return self.inner.is_leaf

    @property
    def decisions(self) -> dict[str, tuple[str | int, ...]]:
        """The decisions that led here from the root; the others followed."""
        names, found = self.space.problem.names, dict[str, tuple[str | int, ...]]()
        for name, values in self.inner.decisions:
            if name in found:
                variable = names.variable(name)
                values = names.values(variable, names.mask(variable, found[name]) & names.mask(variable, values))
            found[name] = values
        return found

    @cached_property
    def assignment(self) -> dict[str, str | int]:
        """Every decision that has one value, by name."""
        return self.space.decided(self.inner)

    def domain(self, name: str) -> tuple[str | int | None, ...]:
        """Return the values that a decision still has; of a counter, `(low, high)`, high None if it has no limit."""
        return self.inner.domain(name)

    def restrict(self, name: str, values: Values) -> Self:
        """Return the candidate that keeps only some values of one decision.

        Raises:
            DeadEnd: nothing is left; the message names the constraint and the decisions.
        """
        return replace(self, inner=self.inner.restrict(name, _listed(name, values)))

    def apply(self, expert: Mapping[str, Values]) -> Self:
        """Return the candidate in which an expert's decisions are fixed, by name; their order does not matter.

        Raises:
            DeadEnd: nothing is left; the message names the constraint and the decisions.
            ScheduleError: `expert` is no mapping.
        """
        decisions: Any = expert
        if not isinstance(decisions, Mapping):
            raise ScheduleError(f"decisions are {decisions!r}\n  Give a mapping of their names to values.")
        state, taken = self.inner.state(), list(self.inner.decisions)
        for name, given in expert.items():
            values = _listed(name, given)
            if not state.restrict_name(name, *values):
                given_all = {each: _listed(each, some) for each, some in expert.items()}
                return replace(self, inner=self.inner.apply(given_all))
            taken.append((name, values))
        return replace(self, inner=csp.Domains(self.space.problem, state.snapshot(), tuple(taken)))

    def why(self, name: str, value: str | int) -> csp.Reason | None:
        """Say which constraint and which decisions took a value away; None if it is still there."""
        return self.inner.why(name, value)

    def complete(self, seed: int | Random = 0) -> Self:
        """Return a leaf below this candidate, by random decisions: uniform until they meet dead ends (`csp.complete`).

        Raises:
            ArgumentError: the seed is none.
            DeadEnd: there is none, or none was found in `PATIENCE` seconds.
        """
        random = seed if isinstance(seed, Random) else _random(seed)
        problem, state = self.space.problem, self.inner.state()
        path: list[tuple[int, int]] = []
        if not csp.complete(state, random, self.space.slots(), path, seconds=PATIENCE):
            raise DeadEnd(f"random descents from this candidate met dead ends for {PATIENCE} s\n  Undo a decision.")
        taken = [(problem.describe(slot).name, self._values(slot, mask)) for slot, mask in path]
        return replace(self, inner=csp.Domains(problem, state.snapshot(), (*self.inner.decisions, *taken)))

    def _values(self, slot: int, mask: int) -> tuple[str | int, ...]:
        values = self.space.problem.describe(slot).values
        return tuple(value for position, value in enumerate(values) if mask >> position & 1)

    def bound(self, above: Bound | None = None) -> Bound:
        """Return a time that no implementation below this candidate can beat, with its reasons.

        Args:
            above: the bound of a candidate that this one was narrowed from: it holds here too.

        Raises:
            ScheduleError: the device has no rates.
        """
        return self.space.model.bound(self.inner.state(), above=above)

    def features(self) -> tuple[float, ...]:
        """Return a vector whose length depends on the space alone: for every value of every decision how likely it is.

        A value that is taken is 1, one that is gone 0, and n that are left are 1/n each. Decisions about objects that
        do not exist are 0.
        """
        state, found = self.inner.state(), list[float]()
        for _, slot, values, needed in self.space.features:
            mask = state.domains[slot] if needed & state.alive == needed else 0
            share = 1 / mask.bit_count() if mask else 0.0
            found += [share if mask >> place & 1 else 0.0 for place in range(len(values))]
        return tuple(found)

    def check_is_leaf(self) -> None:
        """Refuse to go on where decisions are still open.

        Raises:
            ScheduleError: they are.
        """
        if not self.is_leaf:
            raise ScheduleError(
                f"{len(self.open)} decisions are open, so this is no single implementation\n  Restrict them."
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartialImplementation):
            return NotImplemented
        return self.space == other.space and self.inner.snapshot() == other.inner.snapshot()

    def __hash__(self) -> int:
        return hash((self.space, self.inner.snapshot()))

    def __reduce__(self) -> tuple[Any, ...]:
        return _decided, (self.space, self.decisions)

    def __copy__(self) -> Self:
        return self  # As of all values.

    @property
    def _headline(self) -> str:
        return f"{self.space.name}: {len(self.decisions)} decisions taken, {len(self.open)} open"

    def __repr__(self) -> str:
        return as_text(self._headline, self.open)

    def _repr_html_(self) -> str:
        return as_html(self._headline, self.open)


def _decided(space: SearchSpace, decisions: Mapping[str, Values]) -> PartialImplementation:
    """Return the candidate of a space that was pickled as these decisions."""
    return space.root.apply(decisions)


def _listed(name: str, given: Values) -> tuple[str | int, ...]:
    """Return one value or several as a tuple.

    Raises:
        ScheduleError: there is none, or it is neither text nor a whole number.
    """
    several: Any = given
    try:
        values: tuple[Any, ...] = (several,) if isinstance(several, str | int) else tuple(several)
    except TypeError:
        values = ()
    if not values or not all(isinstance(each, str | int) for each in values):
        raise ScheduleError(f"{name} = {given!r}\n  Give a value, or a list of values, as texts or whole numbers.")
    return values


def _random(seed: Any) -> Random:
    """Return the source of numbers that a seed begins.

    Raises:
        ArgumentError: nothing begins with it.
    """
    try:
        return Random(seed)
    except TypeError:
        raise ArgumentError(f"seed is {seed!r:.80}\n  Give a whole number, or a random.Random.") from None
