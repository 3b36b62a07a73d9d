"""`GpuModel`: the lower bound of a candidate of a GPU space, cheap terms first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from einloom import csp
from einloom.space.backbone import Backbone
from einloom.space.device import GpuDevice
from einloom.space.model.bound import Bound
from einloom.space.model.counts import Counts, read_counts
from einloom.space.model.figure import Figure
from einloom.space.model.latency import Latency
from einloom.space.model.resources import Resources
from einloom.space.model.rows import View
from einloom.space.model.tables import Tables
from einloom.space.rates import GpuRates

__all__ = ["GpuModel"]


class GpuModel:
    """Bounds the time of every implementation below a candidate.

    Args:
        problem: the constraint problem of the space.
        backbone: the kernel.
        device: the limits of the GPU.
        rates: what it can do at best.
    """

    def __init__(self, problem: csp.Problem, backbone: Backbone, device: GpuDevice, rates: GpuRates) -> None:
        tables = Tables(problem, backbone, device)
        self._made_of = problem, backbone, device
        self.rates = rates
        self._tables = tables
        self._resources = Resources(tables, device, rates)
        self._latency = Latency(tables, rates)

    def bound(self, view: View, cut: float = inf, above: Bound | None = None) -> Bound:
        """Return the bound of a candidate.

        Args:
            view: the candidate, as the engine holds it.
            cut: seconds from which on a bound is as good as any larger one: latencies are only looked at below it.
            above: the bound of a candidate higher up, which holds here too.
        """
        counts, domains = read_counts(self._tables, view), tuple(view.domains)
        terms = self._resources.terms(counts, domains)
        if max(terms.values()) < cut:
            terms |= self._latency.terms(counts, domains)
        return Bound(max(terms.values()), terms, lambda: self._figure(counts, domains, "latency" in terms)).under(above)

    def registers(self, view: View) -> float:
        """Return the registers of a thread that occupancy is bounded with: no leaf below a candidate takes fewer."""
        return read_counts(self._tables, view).registers

    def allowing(self, view: View, seconds: float) -> GpuModel:
        """Return the model of a device that is so much faster that a time which was measured does not beat its bound.

        Which of the rates was too low is not known, so the clock and the memory become faster.
        """
        ratio = max(self.bound(view).seconds / seconds, 1.0)
        rates = replace(
            self.rates, clock=ratio * self.rates.clock, memory_bandwidth=ratio * self.rates.memory_bandwidth
        )
        return GpuModel(*self._made_of, rates)

    def _figure(self, counts: Counts, domains: Sequence[int], with_latency: bool) -> Figure:
        parts = list(self._resources.figures(counts, domains))
        if with_latency:
            parts += self._latency.figures(counts, domains)
        return Figure.largest("seconds", parts)
