"""`Run`: who computed what, and when, in a contraction that several processes shared.

>>> run = Run((Event("a", "0:4", 0.0, 2.0), Event("b", "4:8", 0.5, 1.5)), 0.0, 2.0)
>>> run.workers, run.efficiency
(('a', 'b'), 0.75)
"""

from __future__ import annotations

from typing import Any

from einloom.frozen import frozen

__all__ = ["Event", "Run"]


@frozen
class Event:
    """What a worker did between two times, in seconds since 1970.

    Attributes:
        who: address of a worker of Dask, or `"rank 3"`.
        what: slices, as `"start:stop"`; `"kept start:stop"` where a checkpoint had them.
        begin, end: when.
    """

    who: str
    what: str
    begin: float
    end: float


@frozen(slots=False)
class Run:
    """One call: what everybody did, and the times between which the call lasted."""

    events: tuple[Event, ...]
    begin: float
    end: float

    @property
    def seconds(self) -> float:
        """How long the call took."""
        return self.end - self.begin

    @property
    def workers(self) -> tuple[str, ...]:
        """Everybody who did something, in the order of their first work."""
        return tuple(dict.fromkeys(event.who for event in self.events))

    @property
    def computed(self) -> int:
        """How many units were computed, those that a checkpoint had not counted."""
        return sum(not event.what.startswith("kept") for event in self.events)

    @property
    def efficiency(self) -> float:
        """The part of the call that workers were computing, on average."""
        busy = sum(event.end - event.begin for event in self.events)
        return busy / max(self.seconds * len(self.workers), 1e-9)

    def table(self) -> str:
        """Return a line for every worker: how many units it computed, and how long."""
        lines = [f"{'worker':<32} {'units':>7} {'seconds':>9} {'busy':>6}"]
        for who in self.workers:
            own = [event for event in self.events if event.who == who]
            busy = sum(event.end - event.begin for event in own)
            lines.append(f"{who:<32} {len(own):>7,} {busy:>9.3f} {busy / max(self.seconds, 1e-9):>6.0%}")
        return "\n".join([*lines, f"{self.seconds:.3f} s in all, {self.efficiency:.0%} of it computing"])

    def plot(self, path: str | None = None) -> Any:
        """Return a figure of who did what when: a row for every worker.

        Args:
            path: a file to write the figure to.

        Raises:
            UnsupportedTarget: matplotlib is not installed; `pip install 'einloom[plot]'`.
        """
        from einloom.cluster.drawing import draw_run  # Late: with matplotlib.

        figure = draw_run(self)
        if path is not None:
            figure.savefig(path)
        return figure
