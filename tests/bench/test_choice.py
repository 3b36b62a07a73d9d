"""`einloom bench SUITE --choice`: all proposals of a case are run, and the chosen one is compared with the best."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from einloom.bench.cases import Case
from einloom.bench.choice import Choice, Tried, _beside_the_chosen, _rounds, mean_ratio, measure_choice
from einloom.cli import main
from einloom.jit.host import host


def _choice(*seconds: float) -> Choice:
    tried = tuple(Tried(f"family {i}", "prim", time, time) for i, time in enumerate(seconds))
    return Choice("case", 100, 1, tried)


class _Machine:
    """Turns of proposals on a machine whose clock is slower by some ratio from some turn on."""

    def __init__(self, seconds: list[float], slower: dict[int, float]) -> None:
        self.seconds, self.slower = seconds, slower
        self.clock, self.turns = 1.0, list[int]()

    def turn(self, index: int) -> float:
        self.clock = self.slower.get(len(self.turns), self.clock)
        self.turns.append(index)
        return self.seconds[index] * self.clock


def test_each_proposal_runs_between_two_turns_of_the_chosen_one() -> None:
    machine = _Machine([3.0, 2.0, 4.0], {})
    assert _beside_the_chosen(machine.turn, 3, 2) == pytest.approx([3.0, 2.0, 4.0])
    assert machine.turns == [0, 1, 0, 2, 0, 1, 0, 2, 0]


@pytest.mark.parametrize("step", range(21))
def test_a_step_of_the_clock_fakes_nothing(step: int) -> None:
    machine = _Machine([3.0, 2.9, 3.1], {step: 1.2})
    chosen, ahead, behind = _beside_the_chosen(machine.turn, 3, 5)
    assert (ahead / chosen, behind / chosen) == pytest.approx((2.9 / 3, 3.1 / 3))


def test_turns_that_the_clock_missed_do_not_count() -> None:
    machine = _Machine([3.0, 2.0], {1: 0.0, 2: 1.0, 8: 0.0, 9: 1.0})
    assert _beside_the_chosen(machine.turn, 2, 5) == pytest.approx([3.0, 2.0])


def test_hopeless_proposals_have_one_turn() -> None:
    machine = _Machine([1.0, 1.6, 1.4], {})
    assert _beside_the_chosen(machine.turn, 3, 3) == pytest.approx([1.0, 1.6, 1.4])
    assert (machine.turns.count(1), machine.turns.count(2)) == (1, 3)


def test_short_calls_take_more_rounds() -> None:
    assert (_rounds(1e-5, 5, 0.05), _rounds(0.02, 5, 0.05), _rounds(0.3, 5, 0.05)) == (50, 10, 5)
    assert _rounds(1e-5, 1, 0.0) == 1


def test_the_chosen_one_is_compared_with_the_best() -> None:
    behind, ahead = _choice(3.0, 2.0, 4.0), _choice(1.0, 2.0)
    assert (behind.ratio, behind.best.family, ahead.ratio) == (1.5, "family 1", 1.0)
    assert mean_ratio([behind, ahead]) == pytest.approx(1.5**0.5)


def test_every_proposal_is_run() -> None:
    case = Case.contraction("km,kn->mn", {"k": 96, "m": 80, "n": 112})
    choice = measure_choice(case, host(), 1, 0.0)
    assert choice is not None
    families = {each.family for each in choice.tried}
    assert {"in place", "vector block, element in place", "element once"} <= families
    assert all(each.seconds > 0 and each.predicted > 0 for each in choice.tried)
    assert choice.tried[0].predicted == min(each.predicted for each in choice.tried)


def _missing_every_other_call() -> Iterator[float]:
    now = 0.0
    for call in count():
        yield now
        now += 0.001 * (call % 2 == 0)
        yield now


def test_a_turn_lasts_until_the_clock_has_seen_some_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("einloom.bench.choice.time.thread_time", partial(next, _missing_every_other_call()))
    choice = measure_choice(Case.contraction("km,kn->mn", {"k": 96, "m": 80, "n": 112}), host(), 1, 0.0)
    assert choice is not None
    assert [each.seconds for each in choice.tried] == pytest.approx([0.001] * len(choice.tried))


@pytest.mark.parametrize("equation", ["ab->ba", "ab,b->a", "ab,bc,cd->ad"])
def test_what_is_not_chosen_among_candidates_is_left_out(equation: str) -> None:
    assert measure_choice(Case.contraction(equation, dict.fromkeys("abcd", 70)), host(), 1, 0.0) is None


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "choice.json"
    line = ["bench", "gemm_large", "--cases", "256x256x256", "--choice", "--runs", "1", "--seconds", "0"]
    assert main([*line, "--json", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "of the best" in shown and "256x256x256 AᵀB" in shown and "the median ratio of 1 round\n" in shown
    rows = json.loads(file.read_text())
    assert len(rows) == 3 and all(row["ratio"] >= 1 and row["rounds"] == 1 and len(row["tried"]) > 3 for row in rows)
