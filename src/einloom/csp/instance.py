"""`Instance`: the objects of one problem, put into the sets of a space; `freeze` turns it into a `Problem`.

It decides nothing: it holds objects. What can be decided about them is laid out by `layout` when the instance is
    frozen.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from einloom.csp.compile.compiler import Space
    from einloom.csp.engine.problem import Problem

__all__ = ["Addition", "Instance", "Lowering"]


@dataclass(frozen=True, slots=True)
class Addition:
    """`item` becomes a member of `set_name(of)`."""

    set_name: str
    item: Hashable
    name: str | None
    of: tuple[Hashable, ...]


class Lowering:
    """Objects that a trigger adds: numbered when the instance is frozen, asleep until its condition is entailed.

    Args:
        key: names the lowering; triggers that return the same key share one lowering, which wakes when any of them
            fires.

    >>> lowering = Lowering("copy of x")
    >>> lowering.add("Regions", "x.copy")
    >>> lowering
    Lowering('copy of x', 1 addition)
    """

    def __init__(self, key: str) -> None:
        self.key = key
        self.additions: list[Addition] = []

    def add(self, set_name: str, item: Hashable, *, name: str | None = None, of: tuple[Hashable, ...] = ()) -> None:
        """Put `item`, new or known, into a set when this lowering wakes; same meaning as `Instance.add`."""
        self.additions.append(Addition(set_name, item, name, tuple(of)))

    def __repr__(self) -> str:
        count = len(self.additions)
        return f"Lowering({self.key!r}, {count} addition{'' if count == 1 else 's'})"


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
        from einloom.csp.engine.problem import Problem

        return Problem(self)
