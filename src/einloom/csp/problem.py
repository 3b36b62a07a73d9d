"""`Problem`: a frozen instance, with one variable for each choice and tuple of distinct objects.

It holds what all candidates share and answers by name. Each stands in `Domains`, or in a `State` for searches.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from einloom.csp.compile.compiler import Space
from einloom.csp.domains import Domains
from einloom.csp.engine.explain import dead_end
from einloom.csp.engine.state import State
from einloom.csp.engine.tables import Tables
from einloom.csp.layout.additions import Addition, Extension
from einloom.csp.layout.names import Variable
from einloom.once import cached_property

__all__ = ["Problem"]


class Problem:
    """A frozen instance of a space: immutable for its users, shared by all its candidates.

    Attributes:
        space: the compiled space.
        tables: what its states share.
        members, layout, counters: its objects, slots and counters.
        names: what people call them.
        exposed: slots that are decisions, in order.
    """

    def __init__(self, space: Space, additions: Iterable[Addition], host: Mapping[str, Any]) -> None:
        self.space = space
        self.tables = tables = Tables(space, additions, host)
        self.members, self.layout, self.counters, self.names = (
            tables.members,
            tables.layout,
            tables.counters,
            tables.names,
        )
        self.exposed = self.layout.exposed

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All decisions, with those of objects that sleep, in slot order."""
        return self.names.variables

    def describe(self, slot: int) -> Variable:
        """Return the variable of a slot, in the stored direction."""
        return self.names.describe(slot)

    def variable(self, name: str) -> Variable:
        """Return the variable of that name, in either direction, with any spaces.

        Raises:
            UnknownChoice: there is none; the message lists near names.
        """
        return self.names.variable(name)

    @property
    def extensions(self) -> dict[str, Extension]:
        """All extensions that can ever wake, by key."""
        return {each.key: each for each in self.members.extensions}

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
    def root(self) -> Domains:
        """The unconstrained candidate, propagated.

        Raises:
            DeadEnd: the constraints alone leave no implementation.
        """
        return Domains(self, self.state().snapshot(), ())

    def state(self) -> State:
        """Return a new mutable state at the root; the first one propagates it.

        Raises:
            DeadEnd: the constraints alone leave no implementation.
        """
        state = State(self.tables)
        if self.tables.root is None:
            if not state.start():
                raise dead_end(state, None)
            self.tables.complete(((state.domains, state.rows, state.numbers), state.trail))
            return State(self.tables)
        return state

    def load(self, snapshot: bytes) -> Domains:
        """Return the candidate that `Domains.snapshot` or `State.snapshot` described.

        Raises:
            ValueError: it is not a snapshot of this problem.
        """
        self.layout.parse(snapshot)
        return Domains(self, snapshot, ())
