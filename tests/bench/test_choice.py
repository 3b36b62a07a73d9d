"""`einloom bench SUITE --choice`: all proposals of a case are run, and the chosen one is compared with the best."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from einloom.bench.cases import Case
from einloom.bench.choice import Choice, Tried, mean_ratio, measure_choice
from einloom.cli import main
from einloom.jit.host import host


def _choice(*seconds: float) -> Choice:
    tried = tuple(Tried(f"family {i}", "prim", time, time) for i, time in enumerate(seconds))
    return Choice("case", 100, tried)


def test_the_chosen_one_is_compared_with_the_best() -> None:
    behind, ahead = _choice(3.0, 2.0, 4.0), _choice(1.0, 2.0)
    assert (behind.ratio, behind.best.family, ahead.ratio) == (1.5, "family 1", 1.0)
    assert mean_ratio([behind, ahead]) == pytest.approx(1.5**0.5)


def test_every_proposal_is_run() -> None:
    case = Case.contraction("km,kn->mn", {"k": 96, "m": 80, "n": 112})
    choice = measure_choice(case, host(), 1, 0.0)
    assert choice is not None
    families = {each.family for each in choice.tried}
    assert {"in place", "vector block", "element once", "five loops"} <= families
    assert all(each.seconds > 0 and each.predicted > 0 for each in choice.tried)
    assert choice.tried[0].predicted == min(each.predicted for each in choice.tried)


@pytest.mark.parametrize("equation", ["ab->ba", "ab,b->a", "ab,bc,cd->ad"])
def test_what_is_not_chosen_among_candidates_is_left_out(equation: str) -> None:
    assert measure_choice(Case.contraction(equation, dict.fromkeys("abcd", 70)), host(), 1, 0.0) is None


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "choice.json"
    line = ["bench", "gemm_large", "--cases", "256x256x256", "--choice", "--runs", "1", "--seconds", "0"]
    assert main([*line, "--json", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "of the best" in shown and "256x256x256 AᵀB" in shown
    rows = json.loads(file.read_text())
    assert len(rows) == 3 and all(row["ratio"] >= 1 and len(row["tried"]) > 3 for row in rows)
