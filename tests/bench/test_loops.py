"""The benchmark of the samples of loops: its cases are samples, and a turn gives figures of right results."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from einloom.bench.loops import LoopCase, load_loop_cases, measure_loops, sample_folder
from einloom.cli import main
from einloom.errors import ScheduleError

TINY = LoopCase("tiny", "gemm_forward", ("aCBc", "64", "64", "64", "16", "16", "16", "2", "1"), narrow=False)


def test_cases_are_of_every_sample_in_both_precisions() -> None:
    cases = load_loop_cases()
    assert len({case.name for case in cases}) == len(cases)
    samples = {path.stem for path in sample_folder().glob("*.py") if "def build(" in path.read_text()}
    assert (
        {case.sample for case in cases if case.narrow} == {case.sample for case in cases if not case.narrow} == samples
    )
    assert sum(case.sample == "conv_fwd" and not case.narrow for case in cases) == 23  # ResNet-50's, each once
    with pytest.raises(ScheduleError, match="no case of loops contains 'nothing'"):
        load_loop_cases("nothing")


def test_a_turn() -> None:
    row = measure_loops(TINY, ["einloom"], threads=1, runs=2, seconds=0.001)
    assert row.problem == "" and len(row.seconds["einloom"]) == 2 and row.ratio is None
    assert row.flops == 2 * 64**3 and 0 < row.error < 1e-5 and row.rate < 1.5 * row.peak


def test_what_fails_is_said() -> None:
    broken = LoopCase("broken", "gemm_forward", ("Acb", *TINY.arguments[1:]), narrow=False)
    assert "a race" in measure_loops(broken, ["einloom"], threads=2, runs=1, seconds=0.001).problem


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("einloom.cli.bench_loops.load_loop_cases", lambda substring: [replace(TINY, narrow=True)])
    assert main(["bench", "loops", "--cases", "tiny", "--runs", "1", "--seconds", "0.001", "--json", "-"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["name"] == "tiny" and row["flops"] == 2 * 64**3 and 1e-5 < row["error"] < 2**-6
