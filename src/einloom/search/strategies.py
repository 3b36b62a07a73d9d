"""Strategies: which leaf to evaluate next. All are given an `Explorer`, and hear how long what they proposed took.

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

import heapq
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import inf, log, sqrt

from einloom import csp
from einloom.errors import ArgumentError
from einloom.search.tree import Explorer, Leaf, Path

__all__ = ["STRATEGIES", "Strategy", "make_strategy", "tag_score"]

PATIENCE = 300
"""Descents in a row that find nothing new, after which a strategy gives up."""

EXPANSIONS = 20
"""Candidates that bound-first expands in a walk."""

TOP, DELTA, EXPLORATION = 10, 1.0, sqrt(2)
"""Constants of TAG and UCT: how many best leaves count, how sure a bound on luck is, how much little is known."""


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


class Random(Strategy):
    """Uniform random descents."""

    def _walk(self) -> Leaf | None:
        bound = self.explorer.descend(weighted=False)
        return None if bound is None else self.explorer.leaf(bound)


class Local(Strategy):
    """Leaves beside the best one; random ones as long as there is none."""

    def _walk(self) -> Leaf | None:
        explorer = self.explorer
        changes = 1
        while explorer.random.random() < 0.5:
            changes += 1
        bound = explorer.adapt(explorer.best_path, changes) if explorer.best_path else explorer.descend()
        if bound is None or explorer.bound() >= explorer.best:
            return None
        return explorer.leaf(bound)


# ---- trees -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Node:
    """A candidate in a tree of decisions.

    Attributes:
        bound: of the candidate.
        slot: the decision that is taken here; -1 at a leaf, None as long as nobody has come further.
        fresh: values that nobody has tried.
        children: candidates by value; what died is taken out.
        visits, times: leaves that were evaluated below.
    """

    bound: float
    slot: int | None = None
    fresh: list[int] = field(default_factory=list[int])
    children: dict[int, Node] = field(default_factory=dict[int, "Node"])
    visits: int = 0
    times: list[float] = field(default_factory=list[float])

    @property
    def is_dead(self) -> bool:
        """Whether nothing below it is left."""
        return self.slot is not None and not self.fresh and not self.children

    def floor(self, best: float) -> float:
        """The smallest bound of what is open at or below this candidate."""
        if self.slot is None or self.fresh:
            return self.bound
        return min((child.floor(best) for child in self.children.values() if child.bound < best), default=inf)


def tag_score(node: Node, child: Node) -> float:
    """Return TAG's score of a branch: the upper end of what its share of the best leaves may be.

    With n leaves below the node, n_i below the child, s of the node's best ones among them and a = ln(2 n k / delta),
    it is (s + a + sqrt(a (2 s + a))) / n_i.
    """
    worst = sorted(node.times)[:TOP][-1] if node.times else inf
    s = sum(time <= worst for time in child.times)
    a = max(0.0, log(2 * max(node.visits, 1) * TOP / DELTA))
    return (s + a + sqrt(a * (2 * s + a))) / child.visits


def uct_score(node: Node, child: Node) -> float:
    """Return UCT's score of a branch: its mean speed beside the best, and a term for how little it is known."""
    best = min(node.times, default=1.0)
    mean = sum(best / time for time in child.times) / child.visits if child.visits else 0.0
    return mean + EXPLORATION * sqrt(log(max(node.visits, 1)) / child.visits)


def least_visited(node: Node, child: Node) -> float:
    """Return a score that is the highest for the branch that was visited least."""
    return -child.visits


class TreeSearch(Strategy):
    """Grows a tree by one candidate a walk: known branches by their scores, then a random way down.

    Every other walk ends beside the best leaf instead: it keeps as many of its decisions as still hold.

    Args:
        explorer: what to work with.
        score: of a branch at a node; the highest is taken, fresh branches first.
    """

    def __init__(self, explorer: Explorer, score: Callable[[Node, Node], float]) -> None:
        super().__init__(explorer)
        self.score = score
        self.root = Node(explorer.root_bound)
        self._walks = 0
        self._walked: list[Node] = []

    @property
    def is_exhausted(self) -> bool:
        """Whether every branch has died."""
        return self.root.is_dead

    @property
    def floor(self) -> float:
        """The smallest bound of what is still open."""
        return self.root.floor(self.explorer.best)

    def learn(self, leaf: Leaf, seconds: float) -> None:
        """Hear how long a leaf took, and note it along its path as far as the tree has grown."""
        super().learn(leaf, seconds)
        node: Node | None = self.root
        for _, mask in (*leaf.path, (-1, 0)):
            node.visits += 1
            if seconds < inf:
                node.times.append(seconds)
            node = node.children.get(mask)
            if node is None:
                return

    def _walk(self) -> Leaf | None:
        self._walks += 1
        path = self._walked = [self.root]
        masks = list[int]()
        while True:
            node = path[-1]
            if node.slot is None:
                self._open(node)
            if node.slot == -1:
                leaf = self.explorer.leaf(node.bound)
                self._bury(path, masks)
                return leaf
            chosen = self._enter_child(node)
            if chosen is None:
                self._bury(path, masks)
                return None
            masks.append(chosen[0])
            path.append(node.children[chosen[0]])
            if chosen[1]:
                return self._roll_out()

    def _miss(self) -> None:
        """Count the walk as a visit, so that branches where little is left to find lose their turn."""
        super()._miss()
        for node in self._walked:
            node.visits += 1

    def _open(self, node: Node) -> None:
        node.slot = self.explorer.next_slot()
        if node.slot >= 0:
            node.fresh = csp.single_values(self.explorer.state.domains[node.slot])

    def _enter_child(self, node: Node) -> tuple[int, bool] | None:
        """Take a branch of a node; return its value and whether it is new, None if all have died."""
        explorer, slot = self.explorer, node.slot
        assert slot is not None
        while node.fresh or node.children:
            is_new = bool(node.fresh)
            mask = self._draw_fresh(node, slot) if is_new else self._best_child(node)
            explorer.state.push()
            bound = explorer.enter(slot, mask)
            if bound is None:
                explorer.state.pop()
                node.children.pop(mask, None)
                continue
            explorer.state.drop()
            if is_new:
                node.children[mask] = Node(max(bound, node.bound))
            return mask, is_new
        return None

    def _draw_fresh(self, node: Node, slot: int) -> int:
        """Draw a value that was not tried: by experience with it elsewhere."""
        weights = self.explorer.experience.weights(slot, node.fresh)
        (place,) = self.explorer.random.choices(range(len(node.fresh)), weights)
        return node.fresh.pop(place)

    def _best_child(self, node: Node) -> int:
        unvisited = [mask for mask, child in node.children.items() if not child.visits]
        if unvisited:
            return self.explorer.random.choice(unvisited)
        return max(node.children, key=lambda mask: self.score(node, node.children[mask]))

    def _roll_out(self) -> Leaf | None:
        explorer = self.explorer
        beside = self._walks % 2 == 0 and explorer.best_path
        bound = explorer.adapt(explorer.best_path, 0) if beside else explorer.descend()
        if bound is None or explorer.bound() >= explorer.best:
            return None
        return explorer.leaf(bound)

    @staticmethod
    def _bury(path: list[Node], masks: list[int]) -> None:
        """Take a candidate out of which nothing more can come, and those above it that die with it."""
        path[-1].fresh, path[-1].children = [], {}
        for node, mask in zip(reversed(path[:-1]), reversed(masks)):
            if not node.children[mask].is_dead:
                return
            del node.children[mask]


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


class BoundFirst(Strategy):
    """Always goes on with the candidate of the smallest bound; with enough time it finds the best leaf."""

    def __init__(self, explorer: Explorer) -> None:
        super().__init__(explorer)
        self._heap: list[tuple[float, int, int, Path]] = [(explorer.root_bound, 0, 0, ())]
        self._count = 0

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing is open whose bound is below the best time."""
        return not self._heap or self._heap[0][0] >= self.explorer.best

    @property
    def floor(self) -> float:
        """The smallest bound of what is still open."""
        return self._heap[0][0] if self._heap else inf

    def _walk(self) -> Leaf | None:
        """Expand some candidates, or until the smallest bound is a leaf's; of equal bounds the deepest first."""
        explorer, state = self.explorer, self.explorer.state
        for _ in range(EXPANSIONS):
            if self.is_exhausted:
                break
            bound, _, _, path = heapq.heappop(self._heap)
            state.push()
            for slot, mask in path:
                state.restrict(slot, mask)
            slot = explorer.next_slot()
            leaf = explorer.leaf(bound) if slot < 0 else None
            if leaf is None:
                self._expand(slot, path, bound)
            state.pop()
            if leaf is not None:
                return leaf
        return None

    def _expand(self, slot: int, path: Path, above: float) -> None:
        state = self.explorer.state
        for mask in csp.single_values(state.domains[slot]):
            state.push()
            bound = self.explorer.enter(slot, mask)
            state.pop()
            if bound is not None:
                self._count += 1
                heapq.heappush(self._heap, (max(bound, above), -len(path), self._count, (*path, (slot, mask))))


class Exhaustive(Strategy):
    """Depth first through every leaf that the bound lets live."""

    def __init__(self, explorer: Explorer) -> None:
        super().__init__(explorer)
        self._leaves = self._below()
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

    def _below(self) -> Iterator[Leaf]:
        explorer, state = self.explorer, self.explorer.state
        slot = explorer.next_slot()
        if slot < 0:
            yield explorer.leaf()
            return
        for mask in csp.single_values(state.domains[slot]):
            state.push()
            if explorer.enter(slot, mask) is not None:
                yield from self._below()
            state.pop()


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


def make_strategy(name: str, explorer: Explorer) -> Strategy:
    """Return the strategy of a name.

    Raises:
        ArgumentError: there is none.
    """
    if name not in STRATEGIES:
        raise ArgumentError(f"there is no strategy called {name!r}\n  known: {', '.join(STRATEGIES)}")
    return STRATEGIES[name](explorer)
