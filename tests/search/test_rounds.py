"""Rounds in which finalists of a search are compared."""

from __future__ import annotations

import gc
from math import inf
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from einloom import csp
from einloom.errors import DeviceError
from einloom.jit.timing import timed_calls, undisturbed
from einloom.search.measure import Timing, is_faster, remeasured
from einloom.search.search import Outcome


class Counted(Timing):
    """Times everything at once, and counts."""

    def __init__(self) -> None:
        super().__init__("", "text", 1, 0.0, 0.0)

    def text(self, state: csp.State) -> str:
        return ""

    def prepared(self) -> dict[str, Any]:
        return {}

    def time(self, text: str, best: float = 0.0) -> Outcome:
        return Outcome("ok", len(text))

    def restart(self) -> float:
        self.close()
        return 0.0


def test_slow_finalists_have_three_rounds():
    """What compares them is no search of its own: a few seconds a turn were minutes more than was asked for."""
    assert remeasured(Counted(), ["a", "bc"], 9) == [[1] * 9, [2] * 9]
    assert remeasured(Counted(), ["a", "bc"], 9, seconds=1e-9) == [[1] * 3, [2] * 3]


def test_nothing_is_compared_where_no_time_is_left():
    assert remeasured(Counted(), ["a", "bc"], 9, seconds=0.0) == [[], []]


def test_what_is_compared_with_nothing_needs_no_fresh_process():
    placed = Placed(0, 1.0)
    assert len(remeasured(placed, ["other"], 9)[0]) == 9 and placed.processes == 1


@pytest.mark.parametrize(("late", "rounds"), [(5, 0), (7, 3), (8, 3)])
def test_a_round_that_the_end_cuts_does_not_count(late: int, rounds: int):
    class Late(Counted):
        count = 0

        def time(self, text: str, best: float = 0.0) -> Outcome:
            self.count += 1
            return Outcome("late") if self.count == late else super().time(text, best)

    assert remeasured(Late(), ["a", "bc"], 9) == [[1] * rounds, [2] * rounds]


def test_no_round_begins_that_would_end_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    class Slow(Counted):
        def time(self, text: str, best: float = 0.0) -> Outcome:
            nonlocal now
            now += 1
            return super().time(text, best)

    monkeypatch.setattr("einloom.search.measure.time", SimpleNamespace(monotonic=lambda: now))
    assert remeasured(Slow(), ["a", "bc"], 9, seconds=9) == [[1] * 4, [2] * 4]
    assert now == 8


class Placed(Counted):
    """Times of two schedules with noise, of which a part stays the same as long as the process does."""

    def __init__(self, seed: int, gain: float) -> None:
        super().__init__()
        self.random, self.gain, self.processes = Random(seed), gain, 0
        self.close()

    def close(self) -> None:
        self.processes += 1
        self.placed = {each: self.random.gauss(1.0, 0.05) for each in ("heuristic", "other")}

    def time(self, text: str, best: float = 0.0) -> Outcome:
        worth = self.gain if text == "other" else 1.0
        return Outcome("ok", self.placed[text] * self.random.gauss(1.0, 0.01) / worth)


def wins(gain: float) -> int:
    """How many of 200 schedules of a gain take the heuristic's place."""
    runs = [remeasured(Placed(seed, gain), ["heuristic", "other"], 9) for seed in range(200)]
    return sum(is_faster(other, own) for own, other in runs)


def test_what_one_process_favours_wins_nothing() -> None:
    """In one process alone, 96 of the equal ones and 44 of the slower ones would win."""
    assert wins(1 / 1.05) <= 10
    assert wins(1.0) <= 30
    assert wins(1.2) >= 190


def test_each_three_rounds_have_a_process_of_their_own() -> None:
    placed = Placed(0, 1.0)
    remeasured(placed, ["heuristic", "other"], 9)
    assert placed.processes == 1 + 3


def test_what_is_faster_on_huge_pages_alone_wins_nothing() -> None:
    """Whether a caller's arrays lie on them is chance."""

    class OnPages(Counted):
        def time(self, text: str, best: float = 0.0) -> Outcome:
            return Outcome("ok", 0.6 if text == "both" else 0.5 if self.huge_pages and text == "huge" else 1.0)

    heuristic, both, huge = remeasured(OnPages(), ["heuristic", "both", "huge"], 9)
    assert is_faster(both, heuristic) and not is_faster(huge, heuristic)


def test_processes_are_told_which_pages_to_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    told = list[bool]()

    class Started(Exception):
        pass

    def process(name: str, code: str, threads: int, variables: dict[str, str]) -> None:
        told.append(variables.get("NUMPY_MADVISE_HUGEPAGE") != "0")
        raise Started

    monkeypatch.setattr("einloom.search.measure.Process", process)
    timing = Counted()
    for timing.huge_pages in (True, False):
        with pytest.raises(Started):
            timing.start()
    assert told == [True, False]


@pytest.mark.parametrize(("end", "status"), [(inf, "timeout"), (0.0, "late")])
def test_what_a_budget_ended_is_no_timeout_of_the_candidate(end: float, status: str) -> None:
    class Hung(Timing):
        text, prepared = Counted.text, Counted.prepared

        def _worker(self) -> Any:
            def ask(*_: object, **__: object) -> None:
                raise DeviceError("it took longer than 1 s")

            return SimpleNamespace(ask=ask)

    hung = Hung("", "text", 1, 0.0, 5.0)
    hung.end = end
    assert hung.time("a").status == status


def test_times_that_no_call_can_have_taken_do_not_count() -> None:
    assert undisturbed([1.0]) == 1.0
    assert undisturbed([0.0, 1.0]) == 1.0
    assert undisturbed([1.0, 1.1, 0.4, 1.2]) == 1.0
    assert undisturbed([5.0, 1.0, 0.0, 1.1, 0.9]) == 0.9
    assert undisturbed([0.0, 0.0]) == 0.0


def test_timing_leaves_the_collector_as_it_was() -> None:
    assert gc.isenabled()
    timed_calls(lambda: None, 0.0)
    assert gc.isenabled()
    gc.disable()
    try:
        timed_calls(lambda: None, 0.0)
        assert not gc.isenabled()
    finally:
        gc.enable()
