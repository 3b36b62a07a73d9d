"""Rounds in which finalists of a search are compared."""

from __future__ import annotations

from typing import Any

from einloom import csp
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
