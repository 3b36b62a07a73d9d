"""`Plan`: what is predicted for a contraction on several numbers of workers."""

from __future__ import annotations

from typing import Any

from einloom.frozen import frozen

__all__ = ["Network", "Plan", "PlanRow"]


@frozen
class PlanRow:
    """What is predicted for a number of workers.

    Attributes:
        workers: how many, each with one core.
        seconds: that the contraction takes.
        computing: seconds of these in which the one with most to do computes.
        memory: bytes a worker.
        traffic: bytes over the network, all workers together.
        efficiency: the time of one worker against that of all together.
    """

    workers: int
    seconds: float
    computing: float
    memory: int
    traffic: int
    efficiency: float


@frozen(slots=False)
class Plan:
    """Predictions for several numbers of workers.

    Attributes:
        equation: what is computed.
        flops: its arithmetic.
        cuts: where it is cut, in words.
        slices: how many there are; of arrays in chunks, how many tasks.
        rows: one for each number of workers.
        rechunked: bytes that come into another chunk than the larger part of it; None: nothing is in chunks.
    """

    equation: str
    flops: int
    cuts: str
    slices: int
    rows: tuple[PlanRow, ...]
    rechunked: int | None = None

    def table(self) -> str:
        """Return a line for every number of workers."""
        parts = f"{self.slices:,} slices, {self.cuts}"
        if self.rechunked is not None:
            parts = f"{self.slices:,} tasks, {self.rechunked:,} bytes rechunked"
        lines = [
            f"{self.equation}: {self.flops:,} flop, {parts}",
            f"{'workers':>8} {'seconds':>12} {'computing':>12} {'memory':>16} {'traffic':>18} {'efficiency':>11}",
        ]
        for row in self.rows:
            lines.append(
                f"{row.workers:>8,} {row.seconds:>12.4g} {row.computing:>12.4g} {row.memory:>16,} {row.traffic:>18,}"
                f" {row.efficiency:>11.1%}"
            )
        return "\n".join(lines)

    def plot(self, path: str | None = None) -> Any:
        """Return a figure of time and efficiency over the number of workers.

        Args:
            path: a file to write the figure to.

        Raises:
            UnsupportedTarget: matplotlib is not installed; `pip install 'einloom[plot]'`.
        """
        from einloom.cluster.drawing import draw_plan  # Late: with matplotlib.

        figure = draw_plan(self)
        if path is not None:
            figure.savefig(path)
        return figure

    def __repr__(self) -> str:
        return self.table()


@frozen
class Network:
    """Bytes a second that a worker sends, and seconds of a message without any."""

    bandwidth: float
    latency: float

    def seconds(self, size: float) -> float:
        """Return how long one message takes."""
        return self.latency + size / self.bandwidth
