"""What a record claims: it counts as long as both codes that it compares are those that are generated."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest

import einloom as el
from einloom.cli import main
from einloom.ir.nest import Nest
from einloom.machine import Machine
from einloom.search import claims
from einloom.search.problems import recorded_schedule
from einloom.search.records import Record, Records
from einloom.targets.image import Image, image_of
from tests.search.test_records import PRODUCT, record

SHAPES = (40, 30), (30, 50)


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile whatever is asked for: tests here change what compiling gives."""
    monkeypatch.setattr(claims, "code_store", lambda: None)
    claims._digests.clear()  # pyright: ignore[reportPrivateUsage]


def emit_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all programs be longer by a byte from now on."""

    def other(nest: Nest, machine: Machine) -> Image:
        image = image_of(nest, machine)
        return replace(image, code=image.code + b"\x90")

    monkeypatch.setattr("einloom.targets.image.image_of", other)
    claims._digests.clear()  # pyright: ignore[reportPrivateUsage]
    el.clear_cache()


@pytest.mark.parametrize("missing", [{"code": ""}, {"heuristic_code": ""}, {"heuristic_code": "0"}, {"code": "0"}])
def test_a_record_about_other_code_is_not_used_and_the_log_says_so(
    missing: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, told = tmp_path / "records.jsonl", record()
    Records(file).append([told])
    assert str(recorded_schedule(PRODUCT, el.jit.host(), 1, file)) == "seq m:16 prim m=n n=m k=k"
    Records(file).append([replace(told, **missing)])
    assert recorded_schedule(PRODUCT, el.jit.host(), 1, file) is not None, "the one before it still holds"
    Records(file).clear()
    Records(file).append([replace(told, **missing)])
    with caplog.at_level(logging.INFO, "einloom"):
        assert recorded_schedule(PRODUCT, el.jit.host(), 1, file) is None
    assert "other code" in caplog.text


def test_what_was_tuned_is_not_used_once_the_emitter_changes_and_is_where_tuning_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "records.jsonl"
    with el.settings(records=file, threads=1):
        el.tune("mk,kn->mn", *SHAPES, budget=2, dtype="float32", records=file)
        confirmed = [each for each in Records(file).all() if each.confirmed]
        assert [bool(each.code and each.heuristic_code and each.compiler) for each in confirmed] == [True]
        Records(file).append([told := record()])
        assert _used().startswith("seq x:16 prim")
        emit_otherwise(monkeypatch)
        assert not _used().startswith("seq x:16 prim")
        monkeypatch.setattr("einloom.search.tune.package_digest", lambda: "another")
        el.tune("mk,kn->mn", *SHAPES, budget=3, dtype="float32", records=file, threads=1)
    found = [each for each in Records(file).all() if each.compiler == "another"]
    assert told.schedule in [each.schedule for each in found], "it is measured again, early"


def _used() -> str:
    return str(el.compile("xy,yz->xz", *SHAPES, dtype="float32").schedule)


def test_times_of_another_einloom_are_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def evaluated() -> list[str]:
        el.tune("mk,kn->mn", *SHAPES, budget=1, dtype="float32", records=tmp_path, threads=1)
        trials = [each for each in Records(tmp_path / "records.jsonl").all() if not each.confirmed]
        return [each.schedule for each in trials]

    first = evaluated()
    monkeypatch.setattr("einloom.search.tune.package_digest", lambda: "another")
    assert evaluated() == first * 2
    assert len(set(evaluated())) == 2, "by the same einloom nothing is measured twice"


@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "float32"])
def test_tuning_competes_with_the_code_that_expressions_run(dtype: str, tmp_path: Path) -> None:
    """Also where types are narrow enough for matrix tiles, which a process has to ask for."""
    shapes = (64, 64), (64, 64)
    tuned = el.tune("mk,kn->mn", *shapes, budget=1, dtype=dtype, records=False, threads=1)
    with el.settings(records=False, threads=1):
        assert tuned.heuristic.schedule == el.compile("mk,kn->mn", *shapes, dtype=dtype).schedule


def test_all_digests_of_a_record_are_texts() -> None:
    told = record()
    assert Record.parse(told.line()) == told
    assert Record.parse(replace(told, heuristic_code=3).line()) is None  # type: ignore[arg-type]


def test_the_command_line_says_which_records_are_not_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, told = tmp_path / "records.jsonl", record()
    elsewhere = replace(told, key="0123", machine="another")
    Records(file).append([told, replace(told, heuristic_code="0"), elsewhere])
    command = ["records", "--records", str(file)]
    assert main([*command, "list"]) == 0
    mine, other = capsys.readouterr().out.splitlines()
    assert "not used" not in mine and "not used: measured on another machine" in other
    assert main([*command, "show", told.key[:6]]) == 0
    assert json.loads(capsys.readouterr().out) | {"used": True, "heuristic_code": told.heuristic_code} == (
        told.to_json() | {"used": True, "times": [], "decisions": {}}
    )
    Records(file).clear()
    Records(file).append([replace(told, heuristic_code="0")])
    assert main([*command, "show", told.key[:6]]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert not shown["used"] and "other code" in shown["why"]


def test_the_list_compares_medians_and_merging_tells_what_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A heuristic's own schedule is 1.00x of itself, though its least time is below its median."""
    file = tmp_path / "records.jsonl"
    Records(file).append([record(times=(3e-5, 4e-5, 5e-5), seconds=3e-5, heuristic=4e-5)])
    assert main(["records", "--records", str(file), "list"]) == 0
    assert "1.00x" in capsys.readouterr().out
    assert main(["records", "--records", str(file), "merge", str(tmp_path / "none.jsonl")]) == 2
    assert "none.jsonl" in capsys.readouterr().err


def test_the_list_says_what_a_search_that_was_cut_short_has_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such a problem counts as no tuned one: nothing of it is exported, or used."""
    file, told = tmp_path / "records.jsonl", record()
    command = ["records", "--records", str(file)]
    assert main([*command, "list"]) == main([*command, "clear"]) == 0
    assert capsys.readouterr().out == f"no records in {file}\n" * 2
    slower = replace(told, confirmed=False, seconds=4e-5)
    Records(file).append([slower, replace(slower, seconds=3e-5), replace(slower, status="crash", seconds=0.0)])
    assert main([*command, "list"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert "0.03 ms  3 records" in line and "cut short" in line
    assert main([*command, "export", str(tmp_path / "other.jsonl")]) == 0
    assert "0 records" in capsys.readouterr().out
    Records(file).append([told])
    assert main([*command, "list"]) == 0
    assert "cut short" not in capsys.readouterr().out
    assert main([*command, "clear"]) == 0
    assert capsys.readouterr().out == f"4 records deleted in {file}\n" and not file.exists()


def test_an_export_is_a_new_file_and_a_merge_takes_each_record_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    Records(tmp_path / "mine.jsonl").append([record()])
    other = tmp_path / "other.jsonl"
    export = ["records", "--records", "~/mine.jsonl", "export", str(other)]
    assert main(export) == 0 and "1 records" in capsys.readouterr().out
    kept = other.read_bytes()
    assert main(export) == 2 and "exists already" in capsys.readouterr().err
    assert other.read_bytes() == kept
    assert main(["records", "--records", str(tmp_path / "third.jsonl"), "merge", str(other), str(other)]) == 0
    assert "1 records added" in capsys.readouterr().out


def test_tune_says_where_extents_go(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "mk,kn->mn", "96x96"]) == 2
    assert "--sizes" in capsys.readouterr().err
