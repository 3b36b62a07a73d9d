"""Strategies that remember nothing but the best leaves: random descents, and leaves beside the best ones."""

from __future__ import annotations

from math import inf

from einloom import csp
from einloom.search.strategy import Strategy
from einloom.search.tree import Leaf

__all__ = ["Local", "Random", "WeightedRandom"]


class Random(Strategy):
    """Uniform random descents."""

    def _walk(self) -> Leaf | None:
        bound = self.explorer.descend(weighted=False)
        return None if bound is None else self.explorer.leaf(bound)


class Local(Strategy):
    """Leaves beside the best ones; random ones as long as there is none."""

    def _walk(self) -> Leaf | None:
        explorer = self.explorer
        if explorer.leaders:
            return explorer.beside()
        bound = explorer.descend()
        return None if bound is None else explorer.leaf(bound)


class WeightedRandom(Strategy):
    """Random descents whose values are drawn with p ~ max(T - b, 0): T is the best time so far, b the bound."""

    def _walk(self) -> Leaf | None:
        explorer, state, bound = self.explorer, self.explorer.state, 0.0
        while (slot := explorer.next_slot()) >= 0:
            live: list[tuple[int, float]] = []
            for mask in csp.single_values(state.domains[slot]):
                state.push()
                found = explorer.enter(slot, mask)
                state.pop()
                if found is not None:
                    live.append((mask, found))
            if not live:
                return None
            weights = [1 / (b + 1e-12) if explorer.best == inf else explorer.best - b for _, b in live]
            ((mask, bound),) = explorer.random.choices(live, weights)
            state.restrict(slot, mask)
        return explorer.leaf(bound)
