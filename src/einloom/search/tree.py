"""`Explorer`: what every strategy works with: a space's decisions in order, the bound as a cut, what was learnt so far.

A candidate is cut when its bound says that nothing below it is faster than the best time so far. Everything else that
is learnt may only rank what the bound lets live.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log
from random import Random

from einloom import csp
from einloom.frozen import frozen
from einloom.space.partial import SearchSpace

__all__ = ["Experience", "Explorer", "Leaf", "Path"]

PREFERRED = (4, 2, 1)
"""How often neighbours of the best leaf, of the second and of the third are looked at."""

DEAD_ENDS = 40
"""How many decisions a random descent takes back before it gives up."""

Path = tuple[tuple[int, int], ...]
"""Decisions in the order of the space: slots and single-value masks."""


@frozen
class Leaf:
    """A complete candidate: its domains as bytes, the decisions that a tree takes on the way to it, and its bound."""

    snapshot: bytes
    path: Path
    bound: float


class Experience:
    """How fast leaves with each value of each decision were: shared by all branches of a tree."""

    def __init__(self) -> None:
        self._sums: dict[tuple[int, int], tuple[float, int]] = {}

    def learn(self, path: Path, seconds: float) -> None:
        """Note the time of a leaf with all its decisions."""
        for decision in path:
            total, count = self._sums.get(decision, (0.0, 0))
            self._sums[decision] = total + log(seconds), count + 1

    def weights(self, slot: int, masks: Sequence[int]) -> list[float]:
        """Return how much a value is preferred: the geometric mean of its leaves' times, against the best value's."""
        known = [self._sums.get((slot, mask)) for mask in masks]
        means = [each[0] / each[1] for each in known if each is not None]
        if not means:
            return [1.0] * len(masks)
        best = min(means)
        return [1.0 if each is None else 2.718 ** (2 * (best - each[0] / each[1])) for each in known]


class Explorer:
    """The state of one search.

    Args:
        space: where to search.
        random: all randomness.
        bounds: whether to cut and to weigh by bounds.
        order: groups of decisions; None: the space's own order.
        expands_all: whether trees look at all values of a decision at once, as the paper does, or at one a walk.

    Attributes:
        best: the best time so far.
        leaders: times and decisions of the best leaves, the fastest first.
        model: what bounds times; its rates rise when a time beats its bound.
        cut_count, bound_count: how many candidates were cut, of how many whose bounds were asked.
    """

    def __init__(
        self,
        space: SearchSpace,
        random: Random,
        bounds: bool = True,
        order: Sequence[str] | str | None = None,
        expands_all: bool = False,
    ) -> None:
        self.space, self.random, self.bounds, self.expands_all = space, random, bounds, expands_all
        self.slots = space.slots(order)
        self.state = space.problem.state()
        self.best = inf
        self.leaders: list[tuple[float, Path]] = []
        self.experience = Experience()
        self.cut_count = self.bound_count = 0
        self.model = space.model
        self.root_bound = self.model.bound(self.state).seconds if bounds else 0.0

    def learn(self, leaf: Leaf, seconds: float) -> None:
        """Note the measured time of a leaf; inf for one that failed."""
        if seconds == inf:
            return
        self.experience.learn(leaf.path, seconds)
        self.leaders = sorted([*self.leaders, (seconds, leaf.path)])[: len(PREFERRED)]
        self.best = self.leaders[0][0]

    def bound(self) -> float:
        """Return the bound of the state as it is, 0 without bounds."""
        if not self.bounds:
            return 0.0
        self.bound_count += 1
        return self.model.bound(self.state, self.best).seconds

    def allow(self, leaf: Leaf, state: csp.State, seconds: float) -> bool:
        """Raise the rates that a time shows to be too low, and go back to the root; False if it beats no bound.

        Rates were no higher when the leaf was found, so its bound now is at most what it was then.
        """
        if not self.bounds or seconds >= leaf.bound or seconds >= self.model.bound(state).seconds:
            return False
        self.model = self.model.allowing(state, seconds)
        self.state = self.space.problem.state()
        self.root_bound = self.model.bound(self.state).seconds
        return True

    def enter(self, slot: int, mask: int) -> float | None:
        """Take a decision; return the bound, or None where propagation or the bound leaves nothing: undo it then."""
        if not self.state.restrict(slot, mask):
            return None
        bound = self.bound()
        if bound >= self.best:
            self.cut_count += 1
            return None
        return bound

    def next_slot(self) -> int:
        """Return the next open decision, -1 at a leaf."""
        return self.state.next_open(self.slots)

    def leaf(self, bound: float) -> Leaf:
        """Return the state, which has nothing open, as a leaf with the path that a tree takes to it, and its bound."""
        domains = tuple(self.state.domains)
        return Leaf(self.state.snapshot(), self._path(domains), bound)

    def leaf_at(self, domains: csp.Domains) -> Leaf:
        """Return domains that have nothing open as a leaf."""
        self.state.push()
        self.state.load(domains.snapshot())
        leaf = self.leaf(self.model.bound(self.state).seconds if self.bounds else 0.0)
        self.state.pop()
        return leaf

    def _path(self, domains: Sequence[int]) -> Path:
        state, path = self.space.problem.state(), list[tuple[int, int]]()
        while (slot := state.next_open(self.slots)) >= 0:
            path.append((slot, domains[slot]))
            state.restrict(slot, domains[slot])
        return tuple(path)

    # ---- ways down --------------------------------------------------------------------------------------------------

    def descend(self, weighted: bool = True) -> float | None:
        """Go down to a leaf by random decisions that the bound lets live, and return the leaf's bound.

        None, and back, after too many dead ends, or at a leaf that the bound cuts.

        Args:
            weighted: whether values that led to fast leaves are drawn more often.
        """
        frames: list[tuple[int, list[int]]] = []  # decisions on the way, each with the values that are left to try
        failures, slot = 0, self.next_slot()
        bound = self.bound() if slot < 0 else 0.0
        if bound >= self.best:
            return None
        while slot >= 0:
            frames.append((slot, self._shuffled(slot, weighted)))
            self.state.push()
            while (found := self._enter_next(*frames[-1])) is None:
                frames.pop()
                self.state.pop()
                failures += 1
                if not frames or failures > DEAD_ENDS:
                    for _ in frames:
                        self.state.pop()
                    return None
                self.state.pop()
                self.state.push()
            bound, slot = found, self.next_slot()
        for _ in frames:
            self.state.drop()
        return bound

    def _shuffled(self, slot: int, weighted: bool) -> list[int]:
        """Return the values of a decision in random order."""
        masks = csp.single_values(self.state.domains[slot])
        weights = self.experience.weights(slot, masks) if weighted else [1.0] * len(masks)
        keys = [self.random.random() ** (1 / weight) for weight in weights]
        return [mask for _, mask in sorted(zip(keys, masks))]

    def _enter_next(self, slot: int, masks: list[int]) -> float | None:
        """Take the last of the values that lives, out of those that are left; None if there is none."""
        while masks:
            self.state.push()
            bound = self.enter(slot, masks.pop())
            if bound is not None:
                self.state.drop()
                return bound
            self.state.pop()
        return None

    def adapt(self, path: Path, changes: int = 1) -> float | None:
        """Go down to a leaf beside a known one: some other values first, then as many of its decisions as still hold.

        None at a dead end.
        """
        known = list(path)
        self.random.shuffle(known)
        for slot, mask in known[:changes]:
            others = [value for value in csp.single_values(self.state.domains[slot]) if value != mask]
            if others:
                self._try(slot, *self.random.choices(others, self.experience.weights(slot, others)))
        for slot, mask in known[changes:]:
            domain = self.state.domains[slot]
            if domain & mask and domain != mask:
                self._try(slot, mask)
        return self.descend()

    def beside(self) -> Leaf | None:
        """Return a leaf beside one of the best: other values of one decision or a few; None at a dead end."""
        changes = 1
        while self.random.random() < 0.5:
            changes += 1
        ((_, path),) = self.random.choices(self.leaders, PREFERRED[: len(self.leaders)])
        bound = self.adapt(path, changes)
        return None if bound is None else self.leaf(bound)

    def _try(self, slot: int, mask: int) -> None:
        self.state.push()
        if self.state.restrict(slot, mask):
            self.state.drop()
        else:
            self.state.pop()
