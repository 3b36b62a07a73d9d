"""Strategies that visit everything the bound lets live: the smallest bound first, or in order."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from math import inf

from einloom import csp
from einloom.search.strategy import Strategy
from einloom.search.tree import Explorer, Leaf, Path

__all__ = ["BoundFirst", "Exhaustive"]

EXPANSIONS = 20
"""Candidates that bound-first expands in a walk, before it dives from the last one to a leaf."""


class BoundFirst(Strategy):
    """Always goes on with the candidate of the smallest bound; with enough time it finds the best leaf."""

    def __init__(self, explorer: Explorer) -> None:
        super().__init__(explorer)
        self._heap: list[tuple[float, int, int, Path]] = [(explorer.root_bound, 0, 0, ())]
        self._count = 0
        self._children: list[tuple[float, int, int, Path]] = []

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing is open whose bound is below the best time."""
        return not self._heap or self._heap[0][0] >= self.explorer.best

    @property
    def floor(self) -> float:
        """The smallest bound of what is still open."""
        return self._heap[0][0] if self._heap else inf

    def _walk(self) -> Leaf | None:
        """Expand some candidates, of equal bounds the deepest first; then go down, as bounds may grow for long."""
        explorer, state = self.explorer, self.explorer.state
        expanded = 0
        while not self.is_exhausted and (expanded < EXPANSIONS or self._children):
            bound, _, _, path = self._next(dives=expanded >= EXPANSIONS)
            expanded += 1
            state.push()
            for slot, mask in path:
                state.restrict(slot, mask)
            slot = explorer.next_slot()
            leaf = explorer.leaf(bound) if slot < 0 else None
            if leaf is None:
                self._expand(slot, path, bound)
            state.pop()
            if leaf is not None:
                self._children = []
                return leaf
        return None

    def _next(self, dives: bool) -> tuple[float, int, int, Path]:
        """Take the smallest candidate, of all or of those that the last one was expanded to."""
        if not dives:
            return heapq.heappop(self._heap)
        found = min(self._children)
        self._heap.remove(found)
        heapq.heapify(self._heap)
        return found

    def _expand(self, slot: int, path: Path, above: float) -> None:
        state = self.explorer.state
        self._children = []
        for mask in csp.single_values(state.domains[slot]):
            state.push()
            bound = self.explorer.enter(slot, mask)
            state.pop()
            if bound is not None:
                self._count += 1
                child = (max(bound, above), -len(path), self._count, (*path, (slot, mask)))
                self._children.append(child)
                heapq.heappush(self._heap, child)


class Exhaustive(Strategy):
    """Depth first through every leaf that the bound lets live."""

    def __init__(self, explorer: Explorer) -> None:
        super().__init__(explorer)
        self._leaves = self._below(explorer.root_bound)
        self._is_done = False

    @property
    def is_exhausted(self) -> bool:
        """Whether all were visited."""
        return self._is_done

    @property
    def floor(self) -> float:
        """The smallest bound of what is still open: nothing is once all were visited."""
        return inf if self._is_done else self.explorer.root_bound

    def propose(self, is_late: Callable[[], bool] = lambda: False) -> Leaf | None:
        """Return the next leaf; the state stays where it is in between."""
        for leaf in self._leaves:
            if leaf.snapshot not in self.seen:
                self.seen.add(leaf.snapshot)
                return leaf
        self._is_done = True
        return None

    def _walk(self) -> Leaf | None:
        return next(self._leaves, None)

    def _below(self, bound: float) -> Iterator[Leaf]:
        explorer, state = self.explorer, self.explorer.state
        slot = explorer.next_slot()
        if slot < 0:
            yield explorer.leaf(bound)
            return
        for mask in csp.single_values(state.domains[slot]):
            state.push()
            found = explorer.enter(slot, mask)
            if found is not None:
                yield from self._below(found)
            state.pop()
