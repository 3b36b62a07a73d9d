"""`Instance`: the objects of one problem, put into the sets of a space; `freeze` turns it into a `Problem`.

It decides nothing: it holds objects. What can be decided about them is laid out when the instance is frozen.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from einloom.csp.compile.compiler import Space
from einloom.csp.layout.additions import Addition
from einloom.csp.problem import Problem

__all__ = ["Instance"]


class Instance:
    """Collects the objects of one problem.

    Args:
        space: a compiled space.
        host: the names that quoted expressions may use beyond their variables and pure builtins.
    """

    def __init__(self, space: Space, host: Mapping[str, Any] | None = None) -> None:
        self.space = space
        self.host = dict(host or {})
        self.additions: list[Addition] = []

    def add(self, set_name: str, item: Hashable, *, name: str | None = None, of: tuple[Hashable, ...] = ()) -> None:
        """Put an object into a set, and into all its supersets. The order of first appearance numbers the objects.

        Args:
            item: any hashable object.
            name: its name in decisions, the same in every set; default: the set's `name` key, `item.name`, or
                `str(item)`.
            of: the objects that a parametric set belongs to.
        """
        self.additions.append(Addition(set_name, item, name, tuple(of)))

    def freeze(self) -> Problem:
        """Evaluate iterators, universes and triggers, number every object that can ever exist, and return the problem.

        Raises:
            SpaceError: no such set, another number of owners, two objects of one name, or a host expression that
                fails or gives something of the wrong type; the message holds its place.
        """
        return Problem(self.space, self.additions, self.host)
