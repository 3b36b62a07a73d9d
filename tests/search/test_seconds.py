"""A budget's seconds: what begins before they end, how processes that start slowly are borne, and what is left out.

The clock and the processes are made up: nothing here takes the time that it tells.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import einloom as el
from einloom.errors import DeviceError
from einloom.jit.host import host
from einloom.search.result import Tuned
from einloom.space.on_cpu.rates import CpuRates

pytestmark = pytest.mark.skipif(not host().has_vectors, reason="nothing is tuned here")


class World:
    """A clock, and processes whose starts and answers take time by it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, start: float, answer: float, probes: float) -> None:
        self.now, self.start, self.answer, self.probes, self.started = 1000.0, start, answer, probes, 0
        clock = SimpleNamespace(monotonic=lambda: self.now)
        for module in ("measure", "search", "tune"):
            monkeypatch.setattr(f"einloom.search.{module}.time", clock)
        monkeypatch.setattr("einloom.search.measure.Process", lambda *_: self)
        monkeypatch.setattr("einloom.tuning.measured_limits", self.limits)

    def limits(self, machine: object) -> CpuRates:
        self.now += self.probes
        return CpuRates(*[1e15] * 6)

    def start_up(self, timeout: float) -> None:
        self.now += self.start
        self.started += 1

    def ask(self, do: str, timeout: float, **request: Any) -> dict[str, Any]:
        if do == "evaluate":
            self.now += min(self.answer, timeout)
            if timeout < self.answer:
                raise DeviceError(f"it took longer than {timeout} s")
        return {"status": "ok", "seconds": self.answer / 5}

    def close(self) -> None:
        pass

    def tune(self, **budget: Any) -> tuple[Tuned, float]:
        """Return what was found, and the seconds that it took."""
        began = self.now
        given: dict[str, Any] = {"dtype": "float32", "records": False, "threads": 1}
        found = el.tune("mk,kn->mn", (16, 16), (16, 16), budget=el.Budget(**budget), **given)
        assert isinstance(found, Tuned)
        return found, self.now - began


@pytest.mark.parametrize(
    ("seconds", "start", "answer"),
    [(1.0, 0.3, 0.05), (3.0, 1.0, 0.05), (3.0, 1.0, 3.0), (3.0, 7.0, 0.05), (5.0, 4.0, 0.4), (10.0, 7.0, 3.0)],
)
def test_a_budget_keeps_its_seconds_but_for_the_start_of_a_process(
    seconds: float, start: float, answer: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(monkeypatch, start, answer, probes=0.4)
    tuned, took = world.tune(seconds=seconds)
    assert took <= seconds + start + 1e-6
    assert bool(tuned.history) == (0.4 + start < seconds), "a short budget evaluates something"
    if not tuned.history:
        assert world.started == 1 and not tuned.heuristic.times


def test_a_long_budget_ends_in_time_and_compares_in_a_fresh_process(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, start=1.0, answer=0.2, probes=0.4)
    tuned, took = world.tune(seconds=12.0)
    assert took <= 12.0 + 1e-6 and world.started >= 2 and len(tuned.heuristic.times) >= 3


def test_finalists_that_take_long_have_the_time_for_their_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, start=1.0, answer=3.0, probes=0.4)
    tuned, took = world.tune(seconds=60.0)
    assert took <= 60.0 + world.start + 1e-6 and len(tuned.heuristic.times) >= 3 and len(tuned.history) >= 5


def test_a_single_evaluation_needs_no_second_process(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, start=1.0, answer=0.05, probes=0.4)
    tuned, _ = world.tune(evaluations=1)
    assert world.started == 1 and len(tuned.heuristic.times) == 9


def test_no_process_starts_where_the_probes_took_all_of_the_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, start=1.0, answer=0.05, probes=4.0)
    tuned, took = world.tune(seconds=3.0)
    assert took == 4.0 and world.started == 0 and tuned.speedup == 1.0
    said, _, row = repr(tuned).splitlines()
    assert said.startswith("no time to compare: the heuristic's choice stays (0 evaluations, ended: ")
    assert row.split()[:4] == ["?", "?", "to", "?"]
