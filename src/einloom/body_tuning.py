"""`tune_body`: a faster loop string for a traced body, on tensors at hand. `einloom.tune(body, A, B, …)` calls it.

Strings are what `LoopStrings` counts: every loop as often as its block sizes allow, in every order, one run of loops
side by side in parallel. What the loops compute may depend on their order, which nobody but the body's author knows:
so a string counts only where it writes, on these tensors, the same bits as the string that was given. Bodies are
functions of this process, where candidates run as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from random import Random
from typing import Any

import numpy as np

from einloom.errors import ArgumentError, EinloomError
from einloom.frozen import frozen
from einloom.ir.loop_string import LETTERS
from einloom.jit.timing import timed_calls
from einloom.loops.generate import LoopStrings
from einloom.search.measure import interval, is_faster, median
from einloom.search.result import Found
from einloom.search.search import Budget, Ended, Outcome, Trial
from einloom.search.tree import Leaf
from einloom.threaded_loop import ThreadedLoop
from einloom.traced_body import TracedBody

__all__ = ["STRATEGIES", "BodyRun", "TunedLoop", "TunedString", "tune_body"]

STRATEGIES = ("local", "random")

PATIENCE = 300
"""Strings in a row that are known, or refused, after which a search gives up."""

FINALISTS, ROUNDS = 3, 9
"""Strings that are measured again at the end, and turns of each of them."""

SECONDS = 0.02
"""How long a string is timed."""

HOPELESS = 3.0
"""How many times the best time a first call may take to be repeated."""


@frozen
class TunedString:
    """A string that was measured in turns with others: its median, each turn, and an interval that holds the median."""

    string: str
    time: float
    times: tuple[float, ...]
    interval: tuple[float, float]


@frozen(slots=False, repr=False)
class TunedLoop(Found[TunedString]):
    """What tuning a traced body found.

    Attributes:
        body: the best string's: call it as the one that was given.
        run: what the search found, and how it ended.
        best: the fastest string; the given one if none was surely faster.
        heuristic: the given string.
        finalists: the strings that were measured again, the fastest first.
    """

    body: TracedBody
    run: Ended
    best: TunedString
    heuristic: TunedString
    finalists: tuple[TunedString, ...]
    expert, shown = "given string", " string"

    def row(self, each: TunedString) -> str:
        """Return the string."""
        return f" {each.string}"

    def explain(self) -> str:
        """Return the loops of the best string, as a nest."""
        return str(self.body.loops)


@dataclass
class BodyRun:
    """A search among strings: what `progress=` is called with.

    Attributes:
        budget: when it ends.
        history: its trials, in order; a leaf's snapshot is the string.
        began: by the monotonic clock.
    """

    budget: Budget
    history: list[Trial] = field(default_factory=list[Trial])
    began: float = field(default_factory=time.monotonic)

    @property
    def floor(self) -> float:
        """Nothing bounds a body's time."""
        return 0.0

    @property
    def share_cut(self) -> float:
        """So nothing is cut."""
        return 0.0

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.began

    @property
    def left(self) -> float:
        """About how many seconds are left; inf where the budget does not say."""
        return self.budget.left(len(self.history), self.elapsed)

    @property
    def ended(self) -> str:
        """Which end of its budget it has reached, "" for none."""
        return self.budget.why_over(len(self.history), self.elapsed)

    def add(self, string: str, outcome: Outcome) -> None:
        """Note what came of a string."""
        seconds = outcome.seconds if outcome.status == "ok" else inf
        best = min(self.history[-1].best if self.history else inf, seconds)
        leaf = Leaf(string.encode(), (), bound=0.0)
        self.history.append(Trial(len(self.history) + 1, leaf, outcome, best, 0.0, self.elapsed))


def tune_body(
    body: TracedBody,
    tensors: Sequence[Any],
    budget: Budget,
    strategy: str = "local",
    seed: int = 0,
    progress: Callable[[BodyRun], None] = lambda run: None,
) -> TunedLoop:
    """Return the fastest string that a search found; Ctrl-C ends it with what it has.

    Args:
        body: what the loops do.
        tensors: in the order in which the body names them. They are left as they are: copies are written.
        budget: when to end.
        strategy: `"local"`, neighbours of the best string beside random ones, or `"random"`.
        seed: of the strings that are drawn.
        progress: is called after every evaluation.

    Raises:
        ArgumentError: a tensor is missing, the budget knows no other end than a gap, or there is no such strategy.
    """
    if strategy not in STRATEGIES:
        raise ArgumentError(f"a body has no strategy {strategy!r:.80}\n  known: {', '.join(STRATEGIES)}")
    if budget.evaluations is None and budget.seconds is None:
        raise ArgumentError("nothing bounds a body's time, so no gap ends its search\n  Give evaluations or seconds.")
    bench = _Bench(body, tensors)
    run, given = BodyRun(budget), str(body.loops.string)
    drawn = _Strings(body, Random(seed), strategy)
    ended, string = "", given
    try:
        while string is not None and not run.ended:
            run.add(string, outcome := bench.evaluate(string, run.history[-1].best if run.history else inf))
            drawn.learn(string, outcome)
            progress(run)
            string = drawn.next(bench)
        ended = run.ended or f"no new string was found in {PATIENCE} draws"
    except KeyboardInterrupt:
        ended = "interrupted"
    return _result(bench, run, given, ended)


def _result(bench: _Bench, run: BodyRun, given: str, ended: str) -> TunedLoop:
    """Measure the best strings again in turns with the given one, and choose."""
    right = sorted((trial.outcome.seconds, trial.leaf.snapshot.decode()) for trial in run.history)
    strings = list(dict.fromkeys([given, *(string for seconds, string in right[:FINALISTS] if seconds < inf)]))
    times: list[list[float]] = [[] for _ in strings]
    for turn in range(ROUNDS):
        for place in range(len(strings)):
            each = (place + turn) % len(strings)
            times[each].append(bench.evaluate(strings[each], inf).seconds)
    own, *others = (TunedString(s, median(t), tuple(t), interval(t)) for s, t in zip(strings, times))
    best = min((each for each in others if is_faster(each.times, own.times)), key=lambda each: each.time, default=own)
    best_time = run.history[-1].best if run.history else own.time
    found = Ended(tuple(run.history), ended, best_time, 0.0, inf)
    return TunedLoop(bench.body(best.string), found, best, own, tuple(sorted(others, key=lambda each: each.time)))


class _Strings:
    """Draws strings that were not drawn before, and that the body takes."""

    def __init__(self, body: TracedBody, random: Random, strategy: str) -> None:
        self.random, self.is_local = random, strategy == "local"
        self.most = [1 + len(spec.block_sizes) for spec in body.loops.specs]
        self.seen = set[str]()
        self.best = inf, ""

    def learn(self, string: str, outcome: Outcome) -> None:
        """Hear what came of a string."""
        self.seen.add(string)
        if outcome.status == "ok":
            self.best = min(self.best, (outcome.seconds, string))

    def next(self, bench: _Bench) -> str | None:
        """Return a string that has a body, None if none was found."""
        for turn in range(PATIENCE):
            string = self._neighbour(self.best[1]) if self.is_local and turn % 2 else self._drawn()
            if string and string not in self.seen:
                self.seen.add(string)
                if bench.takes(string):
                    return string
        return None

    def _drawn(self) -> str:
        """A random string: of every loop a number of levels first."""
        levels = [self.random.randrange(most) for most in self.most]
        strings = LoopStrings(",".join(f"{letter}_{count}_M" for letter, count in zip(LETTERS, levels)))
        return strings[self.random.randrange(strings.total)]

    def _neighbour(self, string: str) -> str:
        """A string in which two letters have changed places, or one has become parallel or ceased to be."""
        letters = list(string) if string.isalpha() else list(self._drawn())  # Grids and clauses are left alone.
        first, second = (self.random.randrange(len(letters)) for _ in range(2))
        if first == second:
            letters[first] = letters[first].swapcase()
        letters[first], letters[second] = letters[second], letters[first]
        return "".join(letters)


class _Bench:
    """A body with its tensors, and what they hold after it: the given string's result."""

    def __init__(self, body: TracedBody, tensors: Sequence[Any]) -> None:
        if len(tensors) != len(body.names):
            names = ", ".join(body.names)
            raise ArgumentError(f"{len(tensors)} tensors for a body of {len(body.names)}\n  Give {names}, in order.")
        self.given = body
        self.before = {name: np.asarray(tensor) for name, tensor in zip(body.names, tensors)}
        self.tensors = {name: array.copy(order="K") for name, array in self.before.items()}
        body(**self.tensors)
        self.expected = {name: array.copy() for name, array in self.tensors.items()}

    def body(self, string: str) -> TracedBody:
        """Return the body in a string's loops.

        Raises:
            ScheduleError: the string is not legal for it.
        """
        loops = self.given.loops
        if string == str(loops.string):
            return self.given
        return ThreadedLoop(loops.specs, string, loops.threads).body(self.given.function)

    def takes(self, string: str) -> bool:
        """Whether the body can be compiled in a string's loops: it has no race there."""
        try:
            self.body(string).nest(**self.tensors)
        except EinloomError:
            return False
        return True

    def evaluate(self, string: str, best: float) -> Outcome:
        """Run a string on what the tensors held before, compare, and time it."""
        body = self.body(string)
        for name, array in self.before.items():
            self.tensors[name][...] = array
        begin = time.perf_counter()
        body(**self.tensors)
        first = time.perf_counter() - begin
        if any(not _are_same(self.tensors[name], self.expected[name]) for name in self.tensors):
            return Outcome("wrong", note="it writes something else than the given string")
        if first > 2 * HOPELESS * best:
            return Outcome("ok", first)
        return Outcome("ok", min(timed_calls(lambda: body(**self.tensors), SECONDS, HOPELESS * best)))


def _are_same(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> bool:
    return found.tobytes() == expected.tobytes()
