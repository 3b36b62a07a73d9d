"""What tuning gains, row by row: searches go on from their records, and Ctrl-C in one of them ends all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from einloom.bench import tuned
from einloom.bench.cases import Case
from einloom.bench.tuned import tuned_case
from einloom.cli.bench_tuned import run_tuned
from einloom.search.records import Records

SMALL, OTHER = (Case.contraction("mk,kn->mn", {"m": m, "n": 40, "k": 24}, f"{m} rows") for m in (32, 48))


def test_a_row_goes_on_from_its_records_and_measures_nothing_twice(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    for evaluations in (3, 5, 5):
        found = tuned_case(SMALL, evaluations, file, 1, 0.001)
        told = [each.schedule for each in Records(file).all() if not each.confirmed]
        assert found.evaluations == len(told) == len(set(told)) == evaluations
        assert found.heuristic in told and found.speedup > 0


def test_ctrl_c_in_a_search_ends_all_rows_and_those_before_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    search = tuned.tune

    def interrupted_in_the_other(equation: str, *shapes: Any, **options: Any) -> Any:
        found = search(equation, *shapes, **options)
        return found if shapes[0][0] == 32 else replace(found, run=replace(found.run, ended="interrupted"))

    monkeypatch.setattr(tuned, "tune", interrupted_in_the_other)
    assert run_tuned([SMALL, OTHER, SMALL], 2, tmp_path, 1, 0.001, "-") == 130
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["name"], row["evaluations"]) == ("32 rows", 2)
