"""`Candidate`: an immutable vector of domains, read and restricted by name. Decisions commute."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from einloom.csp.problem import Problem
    from einloom.csp.state import State

__all__ = ["Candidate", "Reason"]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a value is gone, or why nothing is left.

    Attributes:
        constraint: text of the constraint that removed it, with its objects.
        decisions: the decisions that it followed from, as `(name, values)`.
        chain: what each constraint removed on the way, in order, one line each.
    """

    constraint: str
    decisions: tuple[tuple[str, tuple[str | int, ...]], ...]
    chain: tuple[str, ...]


class Candidate:
    """A partially specified implementation: one domain for each decision."""

    problem: Problem
    decisions: tuple[tuple[str, tuple[str | int, ...]], ...]

    def domain(self, name: str) -> tuple[str | int, ...]:
        """Return the values that a decision still has, or `(low, high)` of a counter."""
        raise NotImplementedError

    @property
    def open(self) -> dict[str, tuple[str | int, ...]]:
        """The decisions that exist, are exposed and are undecided, with their values."""
        raise NotImplementedError

    @property
    def is_leaf(self) -> bool:
        """Whether nothing is open."""
        raise NotImplementedError

    def restrict(self, name: str, values: str | int | Iterable[str | int]) -> Candidate:
        """Return the candidate that keeps only these values (or aliases) of a decision.

        Raises:
            DeadEnd: nothing is left; its `conflict` is a `Reason`.
        """
        raise NotImplementedError

    def apply(self, decisions: Mapping[str, str | int | Iterable[str | int]]) -> Candidate:
        """Return the candidate with several decisions restricted."""
        raise NotImplementedError

    def why(self, name: str, value: str | int) -> Reason | None:
        """Say which constraint and which decisions took a value away; None if it is still there."""
        raise NotImplementedError

    def objects(self, set_name: str, *of: Hashable) -> tuple[Hashable, ...]:
        """Return the objects that are surely members of a set here; of a quotient, its sure representatives."""
        raise NotImplementedError

    def maybe(self, set_name: str, *of: Hashable) -> tuple[Hashable, ...]:
        """Return the objects that may yet become members of a quotient."""
        raise NotImplementedError

    def snapshot(self) -> bytes:
        """Return the domains as bytes."""
        raise NotImplementedError

    def state(self) -> State:
        """Return a new mutable state that starts here."""
        raise NotImplementedError
