"""What is put into sets: by an `Instance` at once, by a `Extension` when its trigger fires."""

from __future__ import annotations

from collections.abc import Hashable

from einloom.frozen import frozen

__all__ = ["Addition", "Extension"]


@frozen
class Addition:
    """`item` becomes a member of `set_name(of)`."""

    set_name: str
    item: Hashable
    name: str | None
    of: tuple[Hashable, ...]


class Extension:
    """Objects that a trigger adds: numbered when the instance is frozen, asleep until its condition is entailed.

    Args:
        key: names the extension; triggers that return the same key share one extension, which wakes when any of them
            fires.

    >>> extension = Extension("copy of x")
    >>> extension.add("Regions", "x.copy")
    >>> extension
    Extension('copy of x', 1 addition)
    """

    def __init__(self, key: str) -> None:
        self.key = key
        self.additions: list[Addition] = []

    def add(self, set_name: str, item: Hashable, *, name: str | None = None, of: tuple[Hashable, ...] = ()) -> None:
        """Put `item`, new or known, into a set when this extension wakes; same meaning as `Instance.add`."""
        self.additions.append(Addition(set_name, item, name, tuple(of)))

    def __repr__(self) -> str:
        count = len(self.additions)
        return f"Extension({self.key!r}, {count} addition{'' if count == 1 else 's'})"
