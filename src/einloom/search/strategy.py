"""`Strategy`: which leaf to evaluate next. It is given an `Explorer`, and hears how long what it proposed took."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from einloom.search.tree import Explorer, Leaf

__all__ = ["PATIENCE", "Strategy"]

PATIENCE = 300
"""Descents in a row that find nothing new, after which a strategy gives up."""


class Strategy(ABC):
    """Chooses leaves."""

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self.seen: set[bytes] = set()
        self.misses = 0

    def propose(self, is_late: Callable[[], bool] = lambda: False) -> Leaf | None:
        """Return a leaf that was not proposed before; None if there is none left, none was found, or it is late."""
        self.misses = 0
        while self.misses < PATIENCE and not self.is_exhausted and not is_late():
            self.explorer.state.push()
            leaf = self._walk()
            self.explorer.state.pop()
            if leaf is not None and leaf.snapshot not in self.seen:
                self.seen.add(leaf.snapshot)
                return leaf
            self._miss()
        return None

    def _miss(self) -> None:
        """Hear that the last walk found nothing new."""
        self.misses += 1

    def learn(self, leaf: Leaf, seconds: float) -> None:
        """Hear how long a leaf took, proposed or not, after the explorer did; inf if it failed."""
        self.seen.add(leaf.snapshot)

    @property
    def is_exhausted(self) -> bool:
        """Whether every leaf that the bound lets live was proposed."""
        return False

    @property
    def floor(self) -> float:
        """The smallest bound of what is still open: nothing that was not evaluated is faster."""
        return self.explorer.root_bound

    @abstractmethod
    def _walk(self) -> Leaf | None:
        """Go down from the root, and return a leaf; None at a dead end."""
