"""`TunedKernel`: what tuning on a GPU found, as people read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from einloom.search.result import plotted, shown_time, times_as_fast
from einloom.search.search import SearchRun, Trial
from einloom.space.candidate import Candidate, Space
from einloom.space.model.bound import Bound

__all__ = ["TunedKernel", "TunedLeaf"]


@dataclass(frozen=True)
class TunedLeaf:
    """A leaf that was measured in a fresh process, in turns with others.

    Attributes:
        leaf: of the space.
        time: the median of its turns, in seconds.
        times: of each turn: the least time of its runs on the device.
        interval: holds the median of all possible turns, with about 95 % probability.
    """

    leaf: Candidate
    time: float
    times: tuple[float, ...]
    interval: tuple[float, float]

    @property
    def schedule(self) -> str:
        """The kernel's loops as text."""
        return self.leaf.show()

    @property
    def bound(self) -> Bound:
        """A time that it cannot beat on a device of the space's rates."""
        return self.leaf.bound()

    def __str__(self) -> str:
        launch = self.leaf.launch()
        grid, block = (" x ".join(str(each.extent) for each in levels) for levels in (launch.grid, launch.block))
        return f"{grid or 1} blocks of {block or 1} threads, {launch.shared_bytes} bytes shared"


@dataclass(frozen=True)
class TunedKernel:
    """What tuning a kernel found.

    Attributes:
        space: where was searched.
        run: the search.
        best: the fastest leaf; the expert's if none was faster.
        heuristic: the expert's leaf, measured in the same turns.
        finalists: the leaves of the search that were measured again, the fastest first.
    """

    space: Space
    run: SearchRun
    best: TunedLeaf
    heuristic: TunedLeaf
    finalists: tuple[TunedLeaf, ...]

    @property
    def speedup(self) -> float:
        """How many times as fast as the expert's leaf the best one is; 1 where either could not be timed again."""
        return times_as_fast(self.best.time, self.heuristic.time)

    @property
    def history(self) -> Sequence[Trial]:
        """The trials of the search, in order."""
        return self.run.history

    @property
    def gap(self) -> float:
        """How much slower than the best possible the best may still be, by the bound: 0.07 for 7 %."""
        return self.run.gap

    def table(self) -> str:
        """Return the measured leaves with their times, as text."""
        lines = [f"{'time':>10} {'interval':>21}  leaf"]
        for each in (self.heuristic, *self.finalists):
            span = " to ".join(map(shown_time, each.interval))
            mark = " (expert)" if each is self.heuristic else ""
            lines.append(f"{shown_time(each.time):>10} {span:>21}  {each}{mark}")
        return "\n".join(lines)

    def explain(self) -> str:
        """Return why the best cannot be faster: its bound as a tree of figures."""
        return f"{self.best}\n{self.best.bound.explain()}"

    def plot(self, path: str | Path | None = None) -> Any:
        """Return a figure of times and the best so far against evaluations; write it to a file if one is named."""
        return plotted(self.run.result, path)

    def __repr__(self) -> str:
        ended = f"{len(self.history)} evaluations, ended by {self.run.ended}"
        return f"{shown_time(self.best.time)}, {self.speedup:.2f}x the expert's speed ({ended})\n{self.table()}"
