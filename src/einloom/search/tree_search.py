"""Strategies that grow a tree of decisions and go where its branches score best: TAG, UCT, round robin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, log, sqrt

from einloom import csp
from einloom.search.strategy import Strategy
from einloom.search.tree import Explorer, Leaf

__all__ = ["Node", "TreeSearch", "least_visited", "tag_score", "uct_score"]

TOP, DELTA, EXPLORATION = 10, 1.0, sqrt(2)
"""Constants of TAG and UCT: how many best leaves count, how sure a bound on luck is, how much little is known."""

GROWS = 4
"""Of so many walks one grows the tree; where every second one did, simulated searches of contractions found less."""


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

    But for every fourth one, walks go to a neighbour of one of the best leaves instead.

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
        self._walked = []
        if self._walks % GROWS and self.explorer.leaders:
            return self.explorer.beside()
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
        if node.slot < 0:
            return
        node.fresh = csp.single_values(self.explorer.state.domains[node.slot])
        if self.explorer.expands_all:
            self._expand(node, node.slot)

    def _expand(self, node: Node, slot: int) -> None:
        """Make a child of every value that lives: what is cut at once is no branch that draws walks."""
        for mask in node.fresh:
            self.explorer.state.push()
            bound = self.explorer.enter(slot, mask)
            self.explorer.state.pop()
            if bound is not None:
                node.children[mask] = Node(max(bound, node.bound))
        node.fresh = []

    def _enter_child(self, node: Node) -> tuple[int, bool] | None:
        """Take a branch of a node; return its value and whether it is new, None if all have died."""
        explorer, slot = self.explorer, node.slot
        assert slot is not None
        while node.fresh or node.children:
            mask = self._draw_fresh(node, slot) if node.fresh else self._best_child(node)
            is_new = mask not in node.children or (explorer.expands_all and not node.children[mask].visits)
            explorer.state.push()
            bound = explorer.enter(slot, mask)
            if bound is None:
                explorer.state.pop()
                node.children.pop(mask, None)
                continue
            explorer.state.drop()
            if mask not in node.children:
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
        bound = self.explorer.descend()
        return None if bound is None else self.explorer.leaf(bound)

    @staticmethod
    def _bury(path: list[Node], masks: list[int]) -> None:
        """Take a candidate out of which nothing more can come, and those above it that die with it."""
        path[-1].fresh, path[-1].children = [], {}
        for node, mask in zip(reversed(path[:-1]), reversed(masks)):
            if not node.children[mask].is_dead:
                return
            del node.children[mask]
