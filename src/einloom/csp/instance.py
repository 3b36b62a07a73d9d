"""`Instance`: the objects of one problem, put into the sets of a space; `freeze` turns it into a `Problem`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from einloom.csp.compiler import Space
    from einloom.csp.problem import Problem

__all__ = ["Instance", "Lowering"]


class Lowering:
    """Objects that a trigger adds: named and numbered when the instance is frozen, asleep until its condition is entailed.

    Args:
        key: names the lowering; two triggers that return the same key share one lowering, which wakes when either fires.
    """

    def __init__(self, key: str) -> None:
        self.key = key

    def add(self, set_name: str, item: Hashable, *, name: str | None = None, of: tuple[Hashable, ...] = ()) -> None:
        """Put `item`, new or known, into a set when this lowering wakes; same meaning as `Instance.add`."""
        raise NotImplementedError


class Instance:
    """Collects the objects of one problem.

    Args:
        space: a compiled space.
        host: the names that quoted expressions may use beyond their variables and pure builtins.
    """

    def __init__(self, space: Space, host: Mapping[str, Any] | None = None) -> None:
        self.space = space
        self.host = dict(host or {})

    def add(self, set_name: str, item: Hashable, *, name: str | None = None, of: tuple[Hashable, ...] = ()) -> None:
        """Put an object into a set, and into all its supersets.

        Args:
            item: any hashable object.
            name: its name in decisions, the same in every set; default `item.name`.
            of: the objects that a parametric set belongs to.

        Raises:
            SpaceError: no such set, another number of owners, or a name that another object has.
        """
        raise NotImplementedError

    def freeze(self) -> Problem:
        """Evaluate iterators, universes and triggers, number every object that can ever exist, and return the problem.

        Raises:
            SpaceError: a host expression fails or gives something of the wrong type; the message holds its place.
        """
        raise NotImplementedError
