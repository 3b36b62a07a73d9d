"""`Problem`: a frozen instance, with one variable for each choice and tuple of distinct objects."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from einloom.csp.candidate import Candidate
    from einloom.csp.instance import Lowering
    from einloom.csp.state import State

__all__ = ["Problem", "Variable"]


@dataclass(frozen=True, slots=True)
class Variable:
    """One decision.

    Attributes:
        name: the choice applied to its objects' names, `"order(a, b)"`, in the stored direction.
        choice: the choice's name.
        objects: names of the objects.
        values: names (or integers) of the values; bit i of a mask is `values[i]`.
        slot: index into `State.domains`.
        lowering: key of the lowerings that must have fired before it exists; empty for the root's.
    """

    name: str
    choice: str
    objects: tuple[str, ...]
    values: tuple[str, ...] | tuple[int, ...]
    slot: int
    lowerings: tuple[str, ...] = ()


class Problem:
    """A frozen instance of a space: immutable, shared by all its candidates."""

    variables: tuple[Variable, ...]
    lowerings: dict[str, Lowering]

    def variable(self, name: str) -> Variable:
        """Return the variable of that name, in either direction, with any spaces.

        Raises:
            UnknownChoice: there is none; the message lists near names.
        """
        raise NotImplementedError

    def objects(self, set_name: str, *of: Hashable) -> tuple[Hashable, ...]:
        """Return the members that a set has at the root, in frozen order."""
        raise NotImplementedError

    @property
    def root(self) -> Candidate:
        """The unconstrained candidate, propagated.

        Raises:
            DeadEnd: the constraints alone leave no implementation.
        """
        raise NotImplementedError

    def state(self) -> State:
        """Return a new mutable state at the root."""
        raise NotImplementedError

    def load(self, snapshot: bytes) -> Candidate:
        """Return the candidate that `Candidate.snapshot` or `State.snapshot` described."""
        raise NotImplementedError
