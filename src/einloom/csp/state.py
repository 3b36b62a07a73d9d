"""`State`: a mutable vector of domains with propagation and undo, for searches. People use `Candidate`."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["State"]


class State:
    """The domains of one candidate in place.

    Attributes:
        domains: one mask for each slot; do not write.
        alive: bit mask of the lowerings that fired.
    """

    domains: list[int]
    alive: int

    def push(self) -> None:
        """Remember this state, for `pop`."""
        raise NotImplementedError

    def pop(self) -> None:
        """Return to the state of the last `push`."""
        raise NotImplementedError

    def restrict(self, slot: int, mask: int) -> bool:
        """Keep only the values of `mask` in a slot and propagate. False is a dead end: `pop`, or drop the state."""
        raise NotImplementedError

    def restrict_name(self, name: str, *values: str | int) -> bool:
        """Restrict by name, in either direction; see `restrict`."""
        raise NotImplementedError

    def open(self) -> list[int]:
        """Return the slots that are alive, exposed and undecided, in order."""
        raise NotImplementedError

    def next_open(self, slots: Sequence[int]) -> int:
        """Return the first slot of `slots` that is alive and undecided; -1 if there is none."""
        raise NotImplementedError

    @property
    def is_leaf(self) -> bool:
        """Whether nothing is open."""
        raise NotImplementedError

    def snapshot(self) -> bytes:
        """Return the domains as bytes."""
        raise NotImplementedError

    def load(self, snapshot: bytes) -> None:
        """Become the state of a snapshot."""
        raise NotImplementedError

    def low(self, counter: str) -> int:
        """Return the smallest value that a counter may have, by name."""
        raise NotImplementedError

    def high(self, counter: str) -> int | None:
        """Return the largest value that a counter may have; None if it is not bounded."""
        raise NotImplementedError
