"""Rounds in which finalists of a search are compared."""

from __future__ import annotations

from math import inf
from types import SimpleNamespace
from typing import Any

import pytest

from einloom import csp
from einloom.errors import DeviceError
from einloom.search.measure import Timing, remeasured
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


def test_slow_finalists_have_three_rounds():
    """What compares them is no search of its own: a few seconds a turn were minutes more than was asked for."""
    assert remeasured(Counted(), ["a", "bc"], 9) == [[1] * 9, [2] * 9]
    assert remeasured(Counted(), ["a", "bc"], 9, seconds=-1) == [[1] * 3, [2] * 3]


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
