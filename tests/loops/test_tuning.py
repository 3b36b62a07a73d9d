"""Tuning of loop strings: strategies, budgets, records, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import einloom as el
from einloom.cli import main
from einloom.loop_tuning import BlockedProduct, tune_loops
from einloom.loops.generate import LoopStrings

PRODUCT = BlockedProduct(64, 48, 96, 16, 8, 16, 2)
STRINGS = "a_0_K,b_1_M,c_0_N"


@pytest.mark.parametrize("strategy", ["exhaustive", "random", "best-first"])
def test_every_strategy_measures_legal_strings_once(strategy) -> None:
    everything = list(LoopStrings(STRINGS))
    seen: list[int] = []
    trials = tune_loops(
        PRODUCT,
        STRINGS,
        strategy=strategy,
        evaluations=8,
        threads=2,
        progress=lambda number, best: seen.append(number),
    )
    assert seen == list(range(1, 9))
    names = [trial.string for trial in trials]
    assert len(set(names)) == 8 and set(names) <= set(everything)
    times = [trial.seconds or 0.0 for trial in trials]
    assert all(trial.status == "ok" for trial in trials) and times == sorted(times)
    if strategy == "exhaustive":
        assert set(names) == set(everything[:8])
    if strategy == "best-first":
        least = sorted(PRODUCT.predicted(string, 2) for string in everything)
        assert sorted(trial.predicted or 0.0 for trial in trials) == least[:8]


def test_a_budget_of_time_and_strings_that_run_out() -> None:
    assert tune_loops(PRODUCT, STRINGS, strategy="random", seconds=-1.0, threads=1) == []
    trials = tune_loops(PRODUCT, "a_0_K,b_0_M,c_0_N", strategy="exhaustive", evaluations=10**6, threads=1)
    assert len(trials) == LoopStrings("a_0_K,b_0_M,c_0_N").total


def test_what_was_recorded_is_not_measured_again(tmp_path: Path) -> None:
    record = tmp_path / "loops.jsonl"
    first = tune_loops(PRODUCT, STRINGS, strategy="exhaustive", evaluations=5, threads=1, record=record)
    again = tune_loops(PRODUCT, STRINGS, strategy="exhaustive", evaluations=7, threads=1, record=record)
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert len(lines) == 7 and lines[0]["product"]["m"] == 64
    assert {trial.string: trial for trial in first}.items() <= {trial.string: trial for trial in again}.items()
    tune_loops(PRODUCT, STRINGS, strategy="exhaustive", evaluations=1, threads=2, record=record)
    assert len(record.read_text().splitlines()) == 8


def test_what_cannot_be_tuned() -> None:
    with pytest.raises(el.ArgumentError, match="do not divide"):
        BlockedProduct(64, 48, 96, 5)
    with pytest.raises(el.ArgumentError, match="strategy 'best'"):
        tune_loops(PRODUCT, strategy="best")  # pyright: ignore[reportArgumentType]
    with pytest.raises(el.ScheduleError, match="specifies no loops"):
        tune_loops(PRODUCT, "abc")
    for loops in ("a_0_K", "a_0_K,b_0_M,c_0_N,d_0_M"):
        with pytest.raises(el.ArgumentError, match="a = K, b = M, c = N"):
            tune_loops(PRODUCT, loops)


@pytest.mark.parametrize("strategy", ["exhaustive", "random"])
def test_more_strings_than_an_index_may_count(strategy) -> None:
    specification = "a_20_K,b_20_M,c_20_N"
    assert LoopStrings(specification).total > 2**63
    (trial,) = tune_loops(PRODUCT, specification, strategy=strategy, evaluations=1, threads=1)
    assert trial.status == "ok" and len(trial.string) == 63


@pytest.mark.parametrize("line", ["garbage", '{"product": {"m"', "[1]", '{"a": 1}', "3"])
def test_damaged_lines_of_a_record_are_passed_over(tmp_path: Path, line: str) -> None:
    record = tmp_path / "loops.jsonl"
    record.write_text(line + "\n")
    first = tune_loops(PRODUCT, STRINGS, strategy="exhaustive", evaluations=1, threads=1, record=record)
    again = tune_loops(PRODUCT, STRINGS, strategy="exhaustive", evaluations=1, threads=1, record=record)
    assert first == again and len(record.read_text().splitlines()) == 2


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["tune-loops", "64", "48", "96", "--blocks", "16", "8", "16", "--evaluations", "3", "--threads", "1"]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "3 strings measured" in out and "GFLOP/s" in out and "predicted" in out
    assert main([*command, "--blocks", "7", "8", "16"]) == 2
