"""Disjunctions that no truth table holds: they have too many rows, or literals on counters.

Unit propagation: while two literals can still hold there is nothing to do; the last one that can is enforced. Every
false literal queues the disjunction. (Two watched literals would look at fewer, but they move, and moving watches
would have to be undone; copying them with the state costs more than they save here.)
"""

from __future__ import annotations

from collections.abc import Sequence

from einloom.csp.layout.names import Names
from einloom.csp.propagators.counter import Bound
from einloom.csp.propagators.counting import Counting
from einloom.csp.propagators.propagator import Change, Explanation, extension_slots
from einloom.csp.propagators.store import ASLEEP, Store
from einloom.csp.propagators.table import Source, Table, sentence
from einloom.csp.propagators.watches import Watches
from einloom.frozen import frozen

__all__ = ["Comparison", "Disjunction", "Disjunctions"]


@frozen
class Comparison:
    """The values of two slots stand in a relation, given as a truth table."""

    left: int
    right: int
    table: Table

    @property
    def slots(self) -> tuple[int, ...]:
        """The slots that it reads."""
        return (self.left, self.right)

    def possible(self, store: Store) -> bool:
        """Whether it can still hold."""
        narrowed = self.table[store.domains[self.left], store.domains[self.right]]
        return not narrowed or bool(narrowed[0])


class Disjunction:
    """One of some literals holds, for the objects of `source`, once the extensions of `need` are awake.

    Attributes:
        number: its place among all disjunctions of the problem, once it has one.
        literals: `(slot, mask)`, which are quick to look at.
        others: the other literals.
    """

    __slots__ = ("literals", "need", "number", "others", "source")

    def __init__(
        self,
        literals: Sequence[tuple[int, int]],
        others: Sequence[Comparison | Bound],
        need: int,
        source: Source,
    ) -> None:
        self.number = -1
        self.literals = tuple(literals)
        self.others = tuple(others)
        self.need = need
        self.source = source

    def watch(self, watches: Watches) -> None:
        """Wake when a literal becomes false, and when a slot of another literal, or its counter, changes."""
        watches.disjunction(self.number, self.literals, [slot for part in self.others for slot in part.slots])
        alone = len(self.literals) + len(self.others) == 1
        for part in self.others:
            if isinstance(part, Bound):
                part.counter.limits.append(self)
                # A constant bound that stands alone is set once and for all: later ranges tell it nothing new.
                if not (alone and part.value is not None):
                    part.counter.readers.setdefault(part, []).append(self.number)

    def is_entailed(self, domains: Sequence[int]) -> bool:
        """Whether one of the literals on single slots is true."""
        return any(not domains[slot] & ~mask for slot, mask in self.literals)

    @property
    def slots(self) -> tuple[int, ...]:
        """The slots that it reads, without those of counters."""
        return (*(slot for slot, _ in self.literals), *(slot for part in self.others for slot in part.slots))

    def explain(self, change: Change, names: Names) -> Explanation:
        """Name the clause; counters read what their terms read."""
        counted = [slot for part in self.others if isinstance(part, Bound) for slot in part.counter.slots]
        return sentence(names, [self.source]), (*self.slots, *counted, *extension_slots(self.need))


class Disjunctions:
    """The disjunctions of one state.

    Attributes:
        pending: those with a literal that has become false.
    """

    def __init__(
        self, store: Store, disjunctions: Sequence[Disjunction], counting: Counting, pending: dict[int, None]
    ) -> None:
        self.store = store
        self.all = disjunctions
        self.counting = counting
        self.pending = pending

    def propagate(self) -> None:
        """Propagate pending disjunctions until a slot changes."""
        domains, pending, queue, every = self.store.domains, self.pending, self.store.queue, self.all
        while pending and not queue:
            disjunction = every[pending.popitem()[0]]
            possible = 0
            for slot, mask in disjunction.literals:
                if domains[slot] & mask:
                    possible += 1
                    if possible > 1:
                        break
            else:
                self._enforce_last(disjunction)

    def _enforce_last(self, disjunction: Disjunction) -> None:
        """Enforce the last literal that can hold; one at most is a mask of a slot."""
        store, last = self.store, None
        if disjunction.need & store.numbers[ASLEEP]:
            return
        for literal in disjunction.literals:
            if store.domains[literal[0]] & literal[1]:
                last = literal
        for part in disjunction.others:
            if part.possible(store):
                if last is not None:
                    return
                last = part
        if last is None:
            store.fail(disjunction)
        elif isinstance(last, Bound):
            self.counting.enforce(last, disjunction)
        elif isinstance(last, Comparison):
            narrowed = last.table[store.domains[last.left], store.domains[last.right]]
            for slot, mask in zip(last.slots, narrowed):
                store.narrow(slot, mask, disjunction)
        else:
            store.narrow(*last, disjunction)
