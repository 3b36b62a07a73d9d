"""Contestants in processes of their own: figures arrive, failures end their part alone, nothing hangs."""

from __future__ import annotations

import json

import pytest

from einloom.bench.cases import Case, Ceiling
from einloom.bench.contestant import contestant_process
from einloom.bench.measure import Options, measure_case
from einloom.bench.peers.contestants import PEERS, Contestant
from einloom.bench.report import is_good, make_report
from einloom.errors import DeviceError
from einloom.machine import AVX2

TINY = Case.contraction("ab->ba", {"a": 3, "b": 4})
OPTIONS = Options(runs=2, seconds=0.0, target="interpreter", timeout=60)


def test_two_contestants_in_their_own_processes() -> None:
    told: list[str] = []
    row = measure_case(TINY, [PEERS["numpy"]], OPTIONS, AVX2, told.append)
    checks = [f"{name} computes and is checked" for name in ("einloom", "numpy")]
    assert told == ["2 processes start", *checks, "round 1 of 2", "round 2 of 2"]
    assert row.ours.usable
    assert row.best("numpy").usable
    assert len(row.ours.seconds) == len(row.best("numpy").seconds) == 2
    assert {ceiling: len(rates) for ceiling, rates in row.ceilings.items()} == {Ceiling.COPY: 4}
    assert row.ours.elements == 12
    assert row.ours.compile_seconds is not None
    report = json.loads(json.dumps(make_report("tiny", [row], [PEERS["numpy"]], [], OPTIONS, AVX2)))
    assert is_good(report)
    assert report["peers"]["numpy"]
    assert report["rows"][0]["peers"]["numpy"]["ratio"] > 0
    assert report["rows"][0]["share"] > 0


def test_a_contestant_that_dies_ends_its_own_part_only() -> None:
    row = measure_case(TINY, [Contestant("nobody", "nobody"), PEERS["numpy"]], OPTIONS, AVX2)
    assert "nobody ended with code 1: ModuleNotFoundError" in row.best("nobody").problem
    assert row.ratio("nobody") is None
    assert row.ours.usable
    assert row.best("numpy").usable


def test_what_einloom_cannot_do_is_a_problem_not_a_crash() -> None:
    kernel = Case("2x3x4", "km,nk->nm", {"m": 2, "n": 3, "k": 4}, kind="kernel")
    row = measure_case(kernel, [], OPTIONS, AVX2)
    assert row.ours.problem.startswith("no kernel on target 'interpreter'")
    assert not is_good(make_report("tiny", [row], [], [], OPTIONS, AVX2))


def test_answers_are_json_and_prints_of_libraries_stay_out_of_them() -> None:
    with contestant_process("numpy") as process:
        assert process.start_up()["contestant"] == "numpy"
        request = {"case": TINY.to_json(), "threads": 1, "target": "cpu"}
        assert process.ask("prepare", **request)["right"] is True
        assert process.ask("measure", seconds=0.0)["seconds"] > 0
        assert process.ask("copy", seconds=0.0)["rate"] > 0
        assert "KeyError" in process.ask("nonsense")["problem"]
        broken = {**request["case"], "equation": "ab->bc"}
        assert "problem" in process.ask("prepare", case=broken, threads=1, target="cpu")


def test_a_contestant_that_takes_too_long_is_ended() -> None:
    with contestant_process("numpy") as process:
        process.start_up()
        process.ask("prepare", case=TINY.to_json(), threads=1, target="cpu")
        with pytest.raises(DeviceError, match=r"numpy took longer than 0 s"):
            process.ask("measure", timeout=0.2, seconds=60.0)


def test_a_dead_process_says_its_last_words() -> None:
    with contestant_process("numpy") as process:
        process.start_up()
        process._process.kill()
        with pytest.raises(DeviceError, match="numpy ended with code -9"):
            process.ask("copy", seconds=0.0)
