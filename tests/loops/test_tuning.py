"""Tuning of loop strings: strategies, budgets, records, and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.cli import main
from einloom.errors import ArgumentError
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


def blocked_product(string: str, threads: int | None = 2):
    """A product of blocks with its tensors, and what it should write."""
    loop = el.ThreadedLoop(
        [el.LoopSpec(0, 4, 2, (4,)), el.LoopSpec(0, 3, 1), el.LoopSpec(0, 4, 1, (2,))], string, threads
    )

    @loop.body
    def product(a: Any, b: Any, c: Any, A: Any, B: Any, C: Any) -> None:
        with el.when(a == 0):
            el.tpp.zero(C[c, b])
        el.tpp.brgemm(A[b, a], B[c, a], C[c, b], batch=2)

    rng = np.random.default_rng(0)
    first, second = (rng.standard_normal((n, 4, 8, 8), np.float32) for n in (3, 4))
    return product, [first, second, np.full((4, 3, 8, 8), 7, np.float32)], np.einsum("makl,cank->cmnl", first, second)


@pytest.mark.parametrize("strategy", [None, "random"])
def test_a_traced_body_is_tuned_on_its_tensors(strategy: str | None) -> None:
    """Each string once, the given one first; what was given stays as it was, and what was found computes the same."""
    body, tensors, expected = blocked_product("acb")
    before = [each.copy() for each in tensors]
    seen: list[int] = []
    tuned = el.tune(body, *tensors, budget=8, strategy=strategy, progress=lambda run: seen.append(len(run.history)))
    assert all(np.array_equal(mine, old) for mine, old in zip(tensors, before))
    strings = [trial.leaf.snapshot.decode() for trial in tuned.history]
    assert strings[0] == "acb" and len(set(strings)) == len(strings) == 8 and seen == list(range(1, 9))
    again = el.tune(body, *tensors, budget=8, strategy="random").history
    if strategy == "random":
        assert [trial.leaf.snapshot.decode() for trial in again] == strings
    assert {trial.outcome.status for trial in tuned.history} == {"ok"}
    assert "(given string)" in tuned.table() and "loop" not in repr(tuned) and "for a0" in tuned.explain()
    tuned.body(A=tensors[0], B=tensors[1], C=tensors[2])
    np.testing.assert_allclose(tensors[2], expected, atol=1e-4)


def test_a_string_that_changes_what_a_body_writes_is_none() -> None:
    """Each row is made of the one before it: loops in another order write something else, and that is seen."""
    loop = el.ThreadedLoop([el.LoopSpec(0, 6, 1, (3,)), el.LoopSpec(0, 4, 1, (2,))], "ab", 1)

    @loop.body
    def running(a: Any, b: Any, X: Any, Y: Any) -> None:
        el.tpp.add(Y[b], X[a], Y[b])
        el.tpp.mul(Y[b], X[a], Y[b])

    rng = np.random.default_rng(1)
    tensors = rng.standard_normal((6, 8, 8), np.float32), rng.standard_normal((4, 8, 8), np.float32)
    tuned = el.tune(running, *tensors, budget=12)
    assert all(trial.outcome.status == "ok" for trial in tuned.history), "per row of Y the order is kept"

    @loop.body
    def mixed(a: Any, b: Any, X: Any, Y: Any, Z: Any) -> None:
        el.tpp.add(Z, X[a], Z)
        el.tpp.mul(Z, Y[b], Z)

    tuned = el.tune(mixed, *tensors, np.ones((8, 8), np.float32), budget=6)
    assert {trial.outcome.status for trial in tuned.history} == {"ok", "wrong"}
    right = {trial.leaf.snapshot.decode() for trial in tuned.history if trial.outcome.status == "ok"}
    assert tuned.best.string in right and {each.string for each in tuned.finalists} <= right


def test_how_a_body_cannot_be_tuned() -> None:
    body, tensors, _ = blocked_product("acb")
    wrong: list[tuple[list[Any], dict[str, Any], str]] = [
        (tensors[:2], {}, "2 tensors for a body of 3"),
        (tensors, {"strategy": "tag"}, "no strategy 'tag'"),
        (tensors, {"records": "x"}, "are for operations"),
        (tensors, {"threads": 2}, "are for operations"),
        (tensors, {"budget": el.Budget(gap=0.1)}, "no gap ends its search"),
    ]
    for given, options, message in wrong:
        with pytest.raises(ArgumentError, match=message):
            el.tune(body, *given, **options)
