"""Disjunctions that no truth table holds: they have too many rows, or conditions on counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from einloom.csp.engine.counters import ASLEEP
from einloom.csp.engine.truth import OPERATORS, Table

if TYPE_CHECKING:
    from einloom.csp.engine.layout import Domain
    from einloom.csp.engine.state import State

__all__ = ["CounterPart", "Disjunction", "PairPart", "Part", "ValuePart"]


@dataclass(frozen=True, slots=True)
class ValuePart:
    """The slot has a value of `mask`."""

    slot: int
    mask: int


@dataclass(frozen=True, slots=True)
class PairPart:
    """The values of two slots stand in a relation, given as a truth table."""

    left: int
    right: int
    table: Table

    @property
    def slots(self) -> tuple[int, ...]:
        """The slots that it reads."""
        return (self.left, self.right)

    def possible(self, state: State) -> bool:
        """Whether it can still hold."""
        masks = state.domains[self.left], state.domains[self.right]
        narrowed = self.table[masks]
        return not narrowed or bool(narrowed[0])

    def enforce(self, state: State, reason: Any) -> None:
        """Make it hold, as far as single values can tell."""
        narrowed = self.table[state.domains[self.left], state.domains[self.right]]
        if narrowed:
            state.narrow(self.left, narrowed[0], reason)
            state.narrow(self.right, narrowed[1], reason)


@dataclass(frozen=True, slots=True)
class CounterPart:
    """A counter against a constant `bound`, or against the integer choice of `slot` if `bound` is None."""

    counter: int
    operator: str
    bound: int | None
    slot: int
    domain: Domain | None

    @property
    def slots(self) -> tuple[int, ...]:
        """The slots that it reads."""
        return () if self.slot < 0 else (self.slot,)

    def possible(self, state: State) -> bool:
        """Whether it can still hold."""
        low, high = state.range(self.counter)
        if self.bound is not None:
            return _meets(self.operator, low, high, self.bound)
        return any(_meets(self.operator, low, high, value) for value in self._values(state))

    def _values(self, state: State) -> tuple[int, ...]:
        if self.bound is not None:
            return (self.bound,)
        assert self.domain is not None
        return tuple(int(value) for value in self.domain.select(state.domains[self.slot]))

    def enforce(self, state: State, reason: Any) -> None:
        """Make it hold: narrow the counter's range, and the integer choice to values that the range allows."""
        low, high = state.range(self.counter)
        if self.domain is not None:
            results = state.counting.results(self.counter) if self.operator == "==" else None
            keep = 0
            for i, value in enumerate(self.domain.values):
                if _meets(self.operator, low, high, int(value)) and (results is None or value in results):
                    keep |= 1 << i
            state.narrow(self.slot, keep, reason)
        values = self._values(state)
        least, most = min(values), max(values)
        if self.operator in ("==", "<="):
            state.cap(self.counter, most, reason)
        elif self.operator == "<":
            state.cap(self.counter, most - 1, reason)
        if self.operator in ("==", ">="):
            state.floor(self.counter, least, reason)
        elif self.operator == ">":
            state.floor(self.counter, least + 1, reason)
        if self.operator == "==":
            state.admit(self.counter, values, reason)


def _meets(operator: str, low: int, high: float, value: int) -> bool:
    """Whether some number of low..high stands in the relation to `value`."""
    if operator == "==":
        return low <= value <= high
    return OPERATORS[operator](low if operator in ("<", "<=") else high, value)


Part = ValuePart | PairPart | CounterPart


class Disjunction:
    """One of some parts holds, for the objects of `source`, once the lowerings of `need` are awake.

    Attributes:
        number: its place among all disjunctions of the problem.
        values: the parts on single slots, which are quick to look at.
        others: the other parts.
    """

    __slots__ = ("need", "number", "others", "source", "values")

    def __init__(self, parts: Sequence[Part], need: int, source: tuple[int, tuple[int, ...]]) -> None:
        self.number = -1
        self.need = need
        self.source = source
        self.values = tuple((part.slot, part.mask) for part in parts if isinstance(part, ValuePart))
        self.others = tuple(part for part in parts if not isinstance(part, ValuePart))

    def is_entailed(self, domains: Sequence[int]) -> bool:
        """Whether one of the parts on single slots holds whatever the domains' values."""
        return any(not domains[slot] & ~mask for slot, mask in self.values)

    @property
    def slots(self) -> tuple[int, ...]:
        """The slots that it reads, without those of counters."""
        return (*(slot for slot, _ in self.values), *(slot for part in self.others for slot in part.slots))

    def propagate(self, state: State) -> None:
        """Enforce the last part that can hold."""
        if self.need & state.numbers[ASLEEP]:
            return
        domains, slot, keep = state.domains, -1, 0
        for each, mask in self.values:
            if domains[each] & mask:
                if slot >= 0:
                    return
                slot, keep = each, mask
        last = None
        for part in self.others:
            if part.possible(state):
                if slot >= 0 or last is not None:
                    return
                last = part
        if slot >= 0:
            state.narrow(slot, keep, self)
        elif last is not None:
            last.enforce(state, self)
        else:
            state.die(self)
