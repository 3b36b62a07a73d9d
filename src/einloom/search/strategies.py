"""The strategies by name: which leaf to evaluate next.

| name | chooses |
| --- | --- |
| `tag` | branches with many of the best leaves, and those that are little known (the paper, section 5.2) |
| `uct` | branches with a high mean, and those that are little known |
| `round_robin` | the branch that was visited least |
| `bound_first` | the candidate with the smallest bound |
| `random` | uniformly |
| `weighted_random` | by the bound, p ~ max(T - b, 0) |
| `local` | beside the best leaf |
| `exhaustive` | every leaf that the bound lets live, in order |
"""

from __future__ import annotations

from collections.abc import Callable

from einloom.errors import ArgumentError
from einloom.search.descents import Local, Random, WeightedRandom
from einloom.search.strategy import Strategy
from einloom.search.sweeps import BoundFirst, Exhaustive
from einloom.search.tree import Explorer
from einloom.search.tree_search import TreeSearch, least_visited, tag_score, uct_score

__all__ = ["STRATEGIES", "check_strategy", "make_strategy"]

STRATEGIES: dict[str, Callable[[Explorer], Strategy]] = {
    "tag": lambda explorer: TreeSearch(explorer, tag_score),
    "uct": lambda explorer: TreeSearch(explorer, uct_score),
    "round_robin": lambda explorer: TreeSearch(explorer, least_visited),
    "bound_first": BoundFirst,
    "random": Random,
    "weighted_random": WeightedRandom,
    "local": Local,
    "exhaustive": Exhaustive,
}
"""By name; `tag` is what searches take."""


def check_strategy(name: object) -> str:
    """Return the name of a strategy.

    Raises:
        ArgumentError: it is none.
    """
    if not isinstance(name, str) or name not in STRATEGIES:
        raise ArgumentError(f"there is no strategy called {name!r:.80}\n  known: {', '.join(STRATEGIES)}")
    return name


def make_strategy(name: object, explorer: Explorer) -> Strategy:
    """Return the strategy of a name.

    Raises:
        ArgumentError: there is none.
    """
    return STRATEGIES[check_strategy(name)](explorer)
