"""`Tuned`: what tuning found, as people read it: a table, a plot, and why the best schedule is the best."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from einloom.figures import make_figure
from einloom.frozen import frozen
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.search.search import Ended, Trial
from einloom.space.model.bound import Bound
from einloom.space.on_cpu.rates import CpuRates

__all__ = ["Found", "Tuned", "TunedSchedule", "shown_time"]


@frozen
class TunedSchedule:
    """A schedule that was measured in a fresh process, in turns with others.

    Attributes:
        schedule: in the operation's names.
        time: the median of its turns, in seconds.
        times: of each turn: the least time of its calls.
        interval: holds the median of all possible turns, with about 95 % probability.
        bound: a time that it cannot beat, with the reasons.
    """

    schedule: Schedule
    time: float
    times: tuple[float, ...]
    interval: tuple[float, float]
    bound: Bound


class Timed(Protocol):
    """What was measured again, in turns with others."""

    @property
    def time(self) -> float:
        """The median of its turns, in seconds."""
        ...

    @property
    def interval(self) -> tuple[float, float]:
        """Holds the median of all possible turns, with about 95 % probability."""
        ...


T = TypeVar("T", bound=Timed)


class Found(ABC, Generic[T]):
    """What tuning found, whatever it is that was tuned.

    Attributes:
        run: what the search found, and how it ended.
        best: the fastest; the expert's if nothing was surely faster.
        heuristic: what the expert would take, measured in the same turns.
        finalists: what was measured again, the fastest first.
        expert: who that is.
        shown: what a row of the table says behind the times.
    """

    run: Ended
    best: T
    heuristic: T
    finalists: tuple[T, ...]
    expert: ClassVar[str]
    shown: ClassVar[str]

    @property
    def speedup(self) -> float:
        """How many times as fast as the expert's choice the best is; 1 where either could not be timed again."""
        best, before = self.best.time, self.heuristic.time
        return before / best if isfinite(best) and isfinite(before) else 1.0

    @property
    def history(self) -> Sequence[Trial]:
        """The trials of the search, in order."""
        return self.run.history

    @property
    def gap(self) -> float:
        """How much slower than the best possible the best may still be, by the bound: 0.07 for 7 %."""
        return self.run.gap

    @abstractmethod
    def row(self, each: T) -> str:
        """Return what the table says of one that was measured again, behind its times."""

    def table(self) -> str:
        """Return what was measured again with its times, as text."""
        lines = [f"{'time':>10} {'interval':>21} {self.shown}"]
        for name, each in ((f" ({self.expert})", self.heuristic), *(("", each) for each in self.finalists)):
            span = " to ".join(map(shown_time, each.interval))
            lines.append(f"{shown_time(each.time):>10} {span:>21} {self.row(each)}{name}")
        return "\n".join(lines)

    def plot(self, path: str | Path | None = None) -> Any:
        """Return a figure: times and the best so far against evaluations, and bounds against times.

        It is written to a file if one is named.

        Raises:
            UnsupportedTarget: matplotlib is not installed.
        """
        return _plotted(self.run, path)

    def __repr__(self) -> str:
        count = len(self.history)
        ended = f"{count} evaluation{'s' * (count != 1)}, ended: {self.run.ended}"
        if isfinite(self.best.time):
            said = f"{shown_time(self.best.time)}, {self.speedup:.2f}x the {self.expert}'s speed"
        else:
            said = f"no time to compare: the {self.expert}'s choice stays"
        return f"{said} ({ended})\n{self.table()}"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"


@frozen(slots=False, repr=False)
class Tuned(Found[TunedSchedule]):
    """What tuning an operation found.

    Attributes:
        operation: what is computed.
        run: what the search found, and how it ended.
        best: the fastest schedule; the heuristic's if none was faster.
        heuristic: the heuristic's schedule, measured in the same turns.
        finalists: the schedules of the search that were measured again, the fastest first.
        limits: what was seen of a core where a time beat its bound, so that a rate was raised; None: nothing did.
    """

    operation: Operation
    run: Ended
    best: TunedSchedule
    heuristic: TunedSchedule
    finalists: tuple[TunedSchedule, ...]
    limits: CpuRates | None = None
    expert = "heuristic"
    shown = f"{'bound':>10}  schedule"

    def row(self, each: TunedSchedule) -> str:
        """Return the bound and the schedule."""
        return f"{shown_time(each.bound.seconds):>10}  {each.schedule}"

    def explain(self) -> str:
        """Return why the best is the best: the terms of its bound beside the heuristic's, or the runner-up's."""
        others = [each for each in (self.heuristic, *self.finalists) if each.schedule != self.best.schedule]
        if not others:
            return f"{self.best.schedule}\n{self.best.bound.explain()}"
        other = min(others, key=lambda each: each.time)
        known = sorted({*self.best.bound.terms, *other.bound.terms})
        pairs = [(name, *(each.bound.terms.get(name, 0.0) for each in (self.best, other))) for name in known]
        rows = [("cannot beat", "best", "against")]
        rows += [(name, shown_time(mine), shown_time(theirs)) for name, mine, theirs in pairs if mine or theirs]
        width = max(len(name) for name, _, _ in rows)
        lines = [f"best    {shown_time(self.best.time)}  {self.best.schedule}"]
        lines += [f"against {shown_time(other.time)}  {other.schedule}", ""]
        lines += [f"{name:{width}} {mine:>10} {theirs:>10}" for name, mine, theirs in rows]
        return "\n".join(lines)


def _plotted(run: Ended, path: str | Path | None) -> Any:
    figure = make_figure(10, 4)
    evaluated, bounded = figure.subplots(1, 2)
    right = [trial for trial in run.history if isfinite(trial.outcome.seconds)]
    evaluated.scatter([t.number for t in right], [1e3 * t.outcome.seconds for t in right], s=6, label="evaluated")
    evaluated.step([t.number for t in right], [1e3 * t.best for t in right], where="post", label="best so far")
    evaluated.axhline(1e3 * run.floor, linestyle="--", label="nothing is faster")
    evaluated.set(xlabel="evaluations", ylabel="ms", yscale="log")
    evaluated.legend()
    bounds = [(1e3 * t.outcome.seconds, 1e3 * t.leaf.bound) for t in right if t.leaf.bound > 0]
    bounded.scatter([time for time, _ in bounds], [bound for _, bound in bounds], s=6)
    bounded.axline((1.0, 1.0), (10.0, 10.0), linestyle="--", label="as fast as the bound")
    bounded.set(xlabel="ms", ylabel="bound in ms", xscale="log", yscale="log")
    bounded.legend()
    if path is not None:
        figure.savefig(path)
    return figure


def shown_time(seconds: float) -> str:
    """Return seconds as people read them: `1.5 ms`, and `?` where nothing was timed."""
    if not isfinite(seconds):
        return "?"
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.4g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
