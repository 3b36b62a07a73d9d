"""Calls of compiled host expressions for one instance, with messages that say where the expression stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from einloom.csp.compile.compiler import Space
from einloom.csp.compile.host import HostNames
from einloom.csp.compile.rows import HostCall
from einloom.csp.language.source import SpaceError

__all__ = ["Hosts"]


class Hosts:
    """Evaluates the host expressions of a space over the items of an instance.

    Args:
        items: the object of each number; the list may grow later.
    """

    def __init__(self, space: Space, names: Mapping[str, Any], items: Sequence[Any]) -> None:
        self.space = space
        self.names = HostNames(dict(names))
        self.items = items

    def call(self, call: HostCall, objects: Sequence[int]) -> Any:
        """Return the value of an expression for the objects that stand for a row's variables."""
        items = self.items
        return self.apply(call, [items[objects[argument]] for argument in call.arguments])

    def apply(self, call: HostCall, items: Sequence[Any]) -> Any:
        """Return the value of an expression for the items of its own variables.

        Raises:
            SpaceError: the expression raised; the message holds its place and the exception.
        """
        try:
            return self.space.hosts[call.host](self.names, *items)
        except SpaceError as error:
            raise SpaceError(f"{self.space.places[call.host]}: {error.reason}") from None
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            raise SpaceError(f"{self.space.places[call.host]}: the quoted expression failed: {what}") from error

    def place(self, call: HostCall) -> str:
        """Return where an expression stands."""
        return self.space.places[call.host]
