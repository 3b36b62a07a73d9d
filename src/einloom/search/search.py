"""`run_search`: propose, evaluate, learn, until the budget is spent.

>>> Budget(evaluations=200, gap=0.05)
Budget(evaluations=200, seconds=None, gap=0.05)
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from numbers import Real
from random import Random
from typing import Literal, Protocol

from einloom import csp
from einloom.errors import ArgumentError
from einloom.frozen import frozen
from einloom.search.ordering import pruning_order
from einloom.search.strategies import make_strategy
from einloom.search.strategy import PATIENCE, Strategy
from einloom.search.tree import Explorer, Leaf
from einloom.space.partial import SearchSpace

__all__ = ["Budget", "Ended", "Evaluator", "Outcome", "SearchRun", "Trial", "run_search"]


FOREVER = 1e9
"""Seconds, thirty years, from which on they are no end: clocks and what waits for them count no further."""


@frozen
class Budget:
    """When a search ends; whatever comes first.

    Attributes:
        evaluations: after so many leaves.
        seconds: after so long.
        gap: once the best time is proven to be within this share of the best possible: 0.05 for 5 %.
    """

    evaluations: int | None = None
    seconds: float | None = None
    gap: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.seconds, Real) and self.seconds >= FOREVER:
            object.__setattr__(self, "seconds", None)
        if self.evaluations is None and self.seconds is None and self.gap is None:
            raise ArgumentError("a budget without an end\n  Give evaluations, seconds or gap.")
        for name, value in (("evaluations", self.evaluations), ("seconds", self.seconds), ("gap", self.gap)):
            if value is not None and (not isinstance(value, Real) or not value >= 0):
                raise ArgumentError(f"{name} is {value!r:.80}; it is a number from 0 on")
        if self.evaluations is not None and self.evaluations != int(self.evaluations):
            raise ArgumentError(f"evaluations is {self.evaluations!r:.80}; it is a whole number")

    def why_over(self, evaluations: int, elapsed: float) -> str:
        """Return which end is reached after so many evaluations and seconds, "" for none."""
        if self.evaluations is not None and evaluations >= self.evaluations:
            return f"{self.evaluations} evaluations"
        if self.seconds is not None and elapsed >= self.seconds:
            return "out of time"
        return ""

    def left(self, evaluations: int, elapsed: float) -> float:
        """Return about how many seconds are left, as fast as it goes; inf where the budget does not say."""
        seconds = inf if self.seconds is None else self.seconds - elapsed
        if self.evaluations is not None and evaluations:
            seconds = min(seconds, (self.evaluations - evaluations) * elapsed / evaluations)
        return max(seconds, 0.0)

    def end(self) -> float:
        """Return when its seconds end by the monotonic clock, if they begin now; inf where it has none."""
        return inf if self.seconds is None else time.monotonic() + self.seconds

    def until(self, end: float) -> Budget:
        """Return what is left of it if it has seconds, and they end at a time of the monotonic clock."""
        return self if self.seconds is None else replace(self, seconds=max(end - time.monotonic(), 0.0))


DRAWS = 4
"""New proposals for each evaluation; the one that is predicted to be the fastest of all that wait is evaluated."""


@frozen
class Outcome:
    """What came of an evaluation; seconds only if it is `ok`.

    Its status is `ok`, `wrong`, `crash`, `timeout`, `memory`, `refused`, or `late` where the budget's seconds ended it.
    """

    status: str
    seconds: float = inf
    note: str = ""
    times: tuple[float, ...] = ()
    code: str = ""


class Evaluator(Protocol):
    """Evaluates leaves."""

    def evaluate(self, state: csp.State, best: float) -> Outcome:
        """Return what came of the leaf that a state is at; one that is slower than `best` need not be timed well."""
        ...


@frozen
class Trial:
    """One evaluation of a search.

    Attributes:
        number: from 1 on.
        leaf: what was evaluated.
        outcome: what came of it.
        best: the best time so far, with this one.
        floor: nothing that is still open is faster.
        elapsed: seconds since the search began.
    """

    number: int
    leaf: Leaf
    outcome: Outcome
    best: float
    floor: float
    elapsed: float


@frozen
class Ended:
    """What is left of a search that has ended: values, that can be kept and sent.

    Attributes:
        history: its trials, in order.
        ended: why it ended.
        best: the best time, in seconds.
        floor: a time that nothing in the space can beat, as far as is known.
        gap: how much slower than the best possible the best time may still be: 0.07 for 7 %.
    """

    history: tuple[Trial, ...]
    ended: str
    best: float
    floor: float
    gap: float


@dataclass
class SearchRun:
    """A search and what it has found.

    Attributes:
        space: where it searched.
        budget: when it ends.
        history: its trials, in order.
        ended: why it ended.
        raised: the numbers of trials that beat their bounds, so that rates were raised and all was open again.
        known: what was learnt of leaves, in order, trials or not.
        began: by the monotonic clock.
    """

    space: SearchSpace
    explorer: Explorer
    strategy: Strategy
    budget: Budget
    history: list[Trial] = field(default_factory=list[Trial])
    ended: str = ""
    raised: list[int] = field(default_factory=list[int])
    known: list[tuple[Leaf, float]] = field(default_factory=list[tuple[Leaf, float]])
    began: float = field(default_factory=time.monotonic)

    def learn(self, leaf: Leaf, seconds: float) -> None:
        """Note how long a leaf took; inf if it failed."""
        self.explorer.learn(leaf, seconds)
        self.strategy.learn(leaf, seconds)
        self.known.append((leaf, seconds))

    def reopen(self, strategy: Strategy) -> None:
        """Begin anew with what is known: a rate was too low, so what its bounds cut is open again."""
        self.strategy = strategy
        for leaf, seconds in self.known:
            strategy.learn(leaf, seconds)

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.began

    def is_late(self) -> bool:
        """Whether its seconds are spent."""
        return self.budget.seconds is not None and self.elapsed >= self.budget.seconds

    def why_over(self) -> str:
        """Return which end of its budget it has reached, "" for none."""
        ended, gap = self.budget.why_over(len(self.history), self.elapsed), self.budget.gap
        if not ended and gap is not None and self.gap <= gap:
            return f"within {100 * self.gap:.2g} % of the best possible"
        return ended

    @property
    def best(self) -> Trial | None:
        """The trial with the best time."""
        right = [trial for trial in self.history if trial.outcome.status == "ok"]
        return min(right, key=lambda trial: trial.outcome.seconds, default=None)

    @property
    def floor(self) -> float:
        """A time that nothing in the space can beat, as far as is known: the best time once nothing is open."""
        return min(self.strategy.floor, self.explorer.best)

    @property
    def gap(self) -> float:
        """How much slower than the best possible the best time may still be: 0.07 for 7 %; 0 once it is proven."""
        return inf if self.floor <= 0 else self.explorer.best / self.floor - 1

    @property
    def left(self) -> float:
        """About how many seconds are left, as fast as it goes; inf where the budget does not say."""
        return self.budget.left(len(self.history), self.history[-1].elapsed if self.history else 0.0)

    @property
    def result(self) -> Ended:
        """What is left of it once it has ended."""
        return Ended(tuple(self.history), self.ended, self.explorer.best, self.floor, self.gap)

    @property
    def share_cut(self) -> float:
        """The share of the candidates looked at that the bound has cut."""
        return self.explorer.cut_count / max(self.explorer.bound_count, 1)


def run_search(
    space: SearchSpace,
    evaluator: Evaluator,
    budget: Budget,
    strategy: str = "tag",
    seed: int = 0,
    *,
    bounds: bool = True,
    order: Sequence[str] | str | None = None,
    expansion: Literal["lazy", "all"] = "lazy",
    starts: Iterable[csp.Domains] = (),
    known: Iterable[tuple[csp.Domains, float]] = (),
    predict: Callable[[csp.State], float] | None = None,
    proposed: Callable[[csp.State], None] = lambda state: None,
    progress: Callable[[SearchRun], None] = lambda run: None,
) -> SearchRun:
    """Search a space; Ctrl-C ends it with what it has.

    Args:
        space: where to search.
        evaluator: evaluates leaves.
        budget: when to end.
        strategy: a name of `STRATEGIES`.
        seed: the same seed and the same times give the same trials.
        bounds: whether bounds cut and weigh.
        order: groups of decisions, the first ones taken first; None: the space's own; `"pruning"`: those first that
            let the bound cut the most, at the root, of what is no faster than the fastest known leaf, or than twice
            the bound of all.
        expansion: whether trees look at one value of a decision a walk, or, as the paper does, at all of them at once.
        starts: leaves to evaluate first.
        known: leaves with times that were measured before: they are not measured again.
        predict: about how long a leaf will take; only ranks what the strategy proposes, the quicker ones first.
        proposed: is called with every leaf that may be evaluated soon.
        progress: is called after every trial.

    Raises:
        ArgumentError: there is no such strategy.
    """
    known = list(known)
    if order == "pruning":
        order = pruning_order(space, _cut_at_root(space, known), seed)
    explorer = Explorer(space, Random(seed), bounds, order, expansion == "all")
    run = SearchRun(space, explorer, make_strategy(strategy, explorer), budget, began=time.monotonic())
    for domains, seconds in known:
        leaf = explorer.leaf_at(domains)
        run.learn(leaf, seconds)
        explorer.allow(leaf, domains.state(), seconds)
    proposals = _Proposals(run, starts, predict, proposed)
    try:
        while (leaf := proposals.take()) is not None:
            if _evaluate(run, leaf, evaluator):
                run.reopen(make_strategy(strategy, explorer))
                proposals.waiting.clear()
            progress(run)
        run.ended = run.why_over() or _why_nothing(run.strategy)
    except KeyboardInterrupt:
        run.ended = "interrupted"
    return run


class _Proposals:
    """What is to be evaluated: the starts, then what the strategy proposes.

    Where times are predicted, proposals wait, and the quickest of them is taken.

    Args:
        run: its strategy proposes; its best time says what of all that waits nobody needs any more.
        starts: leaves to evaluate first.
        predict: seconds of a leaf; None: nothing waits.
        proposed: is called with every leaf that waits.
    """

    def __init__(
        self,
        run: SearchRun,
        starts: Iterable[csp.Domains],
        predict: Callable[[csp.State], float] | None,
        proposed: Callable[[csp.State], None],
    ) -> None:
        self.run, self.predict, self.proposed = run, predict, proposed
        leaves = dict.fromkeys(run.explorer.leaf_at(domains) for domains in starts)
        self.starts = [leaf for leaf in leaves if leaf.snapshot not in run.strategy.seen]
        for leaf in self.starts:
            proposed(_state_of(run.space, leaf))
        self.waiting: list[tuple[float, int, Leaf]] = []
        self._count = 0

    def take(self) -> Leaf | None:
        """Return the leaf to evaluate next, None if there is none or the budget is spent."""
        if self.run.why_over():
            return None
        if self.starts:
            return self.starts.pop(0)
        if self.predict is None:
            return self.run.strategy.propose(self.run.is_late)
        self._draw(self.predict)
        while self.waiting:
            leaf = heapq.heappop(self.waiting)[-1]
            if leaf.bound < self.run.explorer.best:
                return leaf
        return None

    def _draw(self, predict: Callable[[csp.State], float]) -> None:
        for _ in range(DRAWS):
            leaf = self.run.strategy.propose(self.run.is_late)
            if leaf is None:
                break
            self._count += 1
            state = _state_of(self.run.space, leaf)
            heapq.heappush(self.waiting, (predict(state), self._count, leaf))
            self.proposed(state)


def _cut_at_root(space: SearchSpace, known: Sequence[tuple[csp.Domains, float]]) -> float:
    """Return the time of the fastest known leaf, or twice the bound of all."""
    fastest = min((seconds for _, seconds in known), default=inf)
    return fastest if fastest < inf else 2 * space.model.bound(space.problem.state()).seconds


def _state_of(space: SearchSpace, leaf: Leaf) -> csp.State:
    state = space.problem.state()
    state.load(leaf.snapshot)
    return state


def _why_nothing(strategy: Strategy) -> str:
    if strategy.is_exhausted:
        return "every candidate that could be faster was evaluated"
    return f"no new candidate was found in {PATIENCE} descents"


def _evaluate(run: SearchRun, leaf: Leaf, evaluator: Evaluator) -> bool:
    """Evaluate a leaf; return whether its time beat its bound."""
    state = _state_of(run.space, leaf)
    outcome = evaluator.evaluate(state, run.explorer.best)
    seconds = outcome.seconds if outcome.status == "ok" else inf
    run.learn(leaf, seconds)
    beaten = run.explorer.allow(leaf, state, seconds)
    number = len(run.history) + 1
    run.history.append(Trial(number, leaf, outcome, run.explorer.best, run.strategy.floor, run.elapsed))
    if beaten:
        run.raised.append(number)
    return beaten
