"""Tuning on this host: what is measured, what is remembered, and what candidates that fail do."""

from __future__ import annotations

import copy
import io
import json
import math
import pickle
import subprocess
import sys
import time
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.errors import ArgumentError, DTypeError, ScheduleError, ShapeError
from einloom.ir.operation import Operation
from einloom.ir.text import parse_operation
from einloom.jit.host import host
from einloom.passes.fuse import fuse
from einloom.passes.pipeline import optimize_operation
from einloom.search.claims import compiled_image
from einloom.search.hints import hints
from einloom.search.measure import Measurement, interval, is_faster
from einloom.search.problems import with_plain_names
from einloom.search.process import answer_requests
from einloom.search.records import Record, Records
from einloom.search.result import Tuned, TunedSchedule
from einloom.search.search import Budget, run_search
from einloom.search.tune import tune_operation
from einloom.search.worker import Bench
from einloom.space import Bound, Figure
from einloom.space.on_cpu.given import operation_of_equation
from einloom.space.on_cpu.space import CpuSpace
from einloom.tuning import operation_of
from tests.search.simulation import Simulated

PRODUCT = with_plain_names(operation_of_equation("mk,kn->mn", [(40, 30), (30, 50)], "float32"))
HEURISTIC = optimize_operation(PRODUCT, host())[1]


def test_tune_remembers_what_it_measured_and_measures_nothing_twice(tmp_path: Path) -> None:
    a, b = (np.random.default_rng(seed).random((48, 48), np.float32) for seed in range(2))
    options = {"records": tmp_path, "threads": 1, "strategy": "local"}
    with el.settings(records=tmp_path, threads=1):
        tuned = el.tune("mk,kn->mn", a, b, budget=8, **options)
        assert len(tuned.history) == 8
        assert tuned.best.time <= tuned.heuristic.time
        assert tuned.best.bound.seconds <= min(tuned.best.times)
        assert "(heuristic)" in tuned.table() and "cannot beat" in tuned.explain() + "cannot beat"
        records = list(Records(tmp_path / "records.jsonl").all())
        assert [each.confirmed for each in records] == [False] * 8 + [True]
        assert el.compile("mk,kn->mn", a, b).schedule == tuned.best.schedule
        np.testing.assert_allclose(el.einsum("mk,kn->mn", a, b), a @ b, rtol=1e-5)

        again = el.tune("mk,kn->mn", a, b, budget=4, **options)
        told = [each.schedule for each in Records(tmp_path / "records.jsonl").all() if not each.confirmed]
        assert len(told) == len(set(told)) == 12
        assert again.history[-1].best <= tuned.history[-1].best


KILLED = """
import sys
import einloom as el
el.tune("mk,kn->mn", (48, 40), (40, 56), dtype="float32", budget=500, strategy="local", records=sys.argv[1], threads=1)
"""


def test_a_search_that_is_killed_loses_one_evaluation_and_measures_nothing_twice(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(file)])
    while process.poll() is None and (not file.exists() or file.read_bytes().count(b"\n") < 12):
        time.sleep(0.01)
    process.kill()
    process.wait()
    before = [each.schedule for each in Records(file).all()]
    assert len(before) >= 12
    tuned = el.tune(
        "mk,kn->mn", (48, 40), (40, 56), dtype="float32", budget=6, strategy="local", records=file, threads=1
    )
    told = [each.schedule for each in Records(file).all() if not each.confirmed]
    assert told[: len(before)] == before and len(told) == len(set(told)) == len(before) + 6
    assert tuned.history[-1].best <= min(
        each.seconds for each in Records(file).all() if each.status == "ok" and not each.confirmed
    )


def test_candidates_that_crash_hang_or_are_illegal_end_nothing() -> None:
    space = CpuSpace(PRODUCT, host(), (HEURISTIC,))
    with Measurement(PRODUCT, space, HEURISTIC, seconds=0.001) as measurement:
        assert measurement.time("shared C:1 prim m=B n=A").status == "refused"
        assert measurement.time(str(HEURISTIC)).status == "ok"
        assert measurement._process is not None
        measurement._process._process.kill()
        assert measurement.time(str(HEURISTIC)).status == "crash"
        assert measurement.time(str(HEURISTIC)).status == "ok"
        measurement.timeout = 0.0
        assert measurement.time(str(HEURISTIC)).status == "timeout"
        measurement.timeout = 60.0
        assert measurement.time(str(HEURISTIC)).status == "ok"


def test_what_adds_nothing_is_right_too() -> None:
    """A product with zeros leaves the output as it was, and is compared like any other."""
    bench = Bench(
        parse_operation("gemm first=none last=none\naxis n 64 m\nin0 float32 n=1\nin1 float32\nout float32 n=1"), 1
    )
    assert all(each.elements.all() for each in bench.memories), "a factor of 0 would hide the other one"
    bench.memories[1].elements[:] = 0
    assert bench.prepare("prim m=n") == {"status": "ok"}


def test_sums_of_truth_values_are_compared_where_some_are_true_and_some_are_not() -> None:
    operation = with_plain_names(operation_of_equation("mk,kn->mn", [(40, 30), (30, 50)], "bool"))
    bench = Bench(operation, 1)
    assert bench.prepare(str(optimize_operation(operation, host())[1])) == {"status": "ok"}
    assert bench.expected is not None and 0.3 < bench.expected.mean() < 0.7


def test_wrong_numbers_are_seen() -> None:
    bench = Bench(PRODUCT, 1)
    assert bench.prepare(str(HEURISTIC)) == {"status": "ok"}
    assert bench.evaluate(str(HEURISTIC), 0.0, 1.0)["status"] == "ok"
    assert bench.expected is not None
    bench.expected[-1] += 1
    assert bench.evaluate(str(HEURISTIC), 0.0, 1.0)["status"] == "wrong"


def test_candidates_that_want_more_memory_than_there_is_are_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("einloom.search.worker.free_memory", lambda: 100.0)
    bench = Bench(PRODUCT, 1)
    assert bench.prepare(str(HEURISTIC)) == {"status": "ok"}
    packed = "prim m=B n=A k=C pack in1@0 C B"
    asked = [{"do": "prepare"}, {"do": "evaluate", "schedule": packed, "seconds": 0.0, "hopeless": 1.0}]
    monkeypatch.setattr("sys.stdin", [json.dumps(each) for each in asked])
    answers = io.StringIO()
    answer_requests(answers, lambda request: (bench.evaluate, {"status": "ok"}))
    answer = json.loads(answers.getvalue().splitlines()[-1])
    assert answer["status"] == "memory" and "bytes of scratch, where 100 are free" in answer["note"]


def test_candidates_may_be_compiled_elsewhere() -> None:
    """The image that comes with a schedule is run, in place of one that is made here."""
    bench = Bench(PRODUCT, 1)
    assert bench.prepare(str(HEURISTIC)) == {"status": "ok"}
    own = bench.evaluate(str(HEURISTIC), 0.0, 1.0)

    class Elsewhere:
        """Compiles, and remembers what it was asked for."""

        begun: tuple[str, ...] = ()

        def ahead(self, operation: Operation, schedule: str) -> None:
            self.begun += (schedule,)

        def image(self, operation: Operation, schedule: str) -> bytes | None:
            return compiled_image(operation, schedule, host()).to_bytes()

    compiler = Elsewhere()
    space = CpuSpace(PRODUCT, host(), (HEURISTIC,), 1)
    with Measurement(PRODUCT, space, HEURISTIC, seconds=0.0, compiler=compiler) as measurement:
        told = measurement.compiled(str(HEURISTIC))
        assert bench.evaluate("no schedule", 0.0, 1.0, told["image"])["code"] == own["code"]
        run = run_search(space, measurement, Budget(evaluations=2), "random", proposed=measurement.propose)
        starts = [space.leaf(HEURISTIC).inner]
        run_search(space, measurement, Budget(evaluations=1), starts=starts, proposed=measurement.propose)
    assert run.history and all(trial.outcome.status == "ok" for trial in run.history)
    assert compiler.begun == (str(HEURISTIC),)


def test_the_interpreter_checks_blocks_of_what_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("einloom.search.worker.CHECKED_POINTS", 1000)
    bench = Bench(PRODUCT, 1)
    assert bench.prepare(str(HEURISTIC)) == {"status": "ok"}
    monkeypatch.setattr(Bench, "_run_once", lambda self, executable: self.memories[-1].elements.fill(1.0))
    assert bench.prepare(str(HEURISTIC))["status"] == "wrong"


@pytest.mark.parametrize("ask", [el.tune, el.space.cpu])
def test_an_equation_of_several_operations_is_refused(ask: Any) -> None:
    with pytest.raises(ScheduleError, match="takes 2 operations, not one\n  Give the equation of each"):
        ask("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5))


@pytest.mark.parametrize(
    ("equation", "shapes", "types"),
    [
        ("mk,kn->mn", [(6, 5), (5, 4)], ["float32", "float32"]),
        ("mk,kn->mn", [(6, 5), (5, 4)], ["float32", "float64"]),
        ("mk,kn->mn", [(6, 5), (5, 4)], ["float16", "float32"]),
        ("mk,kn->mn", [(6, 5), (5, 4)], ["float32", "complex64"]),
        ("abc->ca", [(4, 5, 6)], ["complex128"]),
    ],
)
def test_the_operation_of_arrays_is_the_one_that_einsum_runs(
    equation: str, shapes: list[tuple[int, ...]], types: list[str]
) -> None:
    """With strides and types as they lie, or its records were of something else."""
    arrays = [np.ones(shape[::-1], dtype).T for shape, dtype in zip(shapes, types)]
    (step,) = el.compile(equation, *arrays)._plan.steps
    assert operation_of(equation, tuple(arrays), None) == step.operation
    if len(set(types)) == 1:
        assert operation_of_equation(equation, arrays, None) == step.operation
        assert el.space.cpu(equation, *arrays).operation == fuse(step.operation)


def test_products_of_complex_numbers_are_refused_and_sums_are_not() -> None:
    with pytest.raises(DTypeError, match="multiplies complex64, and tuning of that is missing"):
        el.tune("mk,kn->mn", (4, 5), (5, 6), dtype="complex64", budget=0, records=False)
    assert el.tune("mk->k", (4, 5), dtype=np.complex64, budget=1, records=False, threads=1).history


@pytest.mark.parametrize("dtype", ["complex64", np.complex128])
def test_leaves_of_complex_spaces_compute_what_the_interpreter_does(dtype: Any) -> None:
    operation = with_plain_names(operation_of_equation("mk,kn->mn", [(6, 5), (5, 4)], dtype))
    bench = Bench(operation, 1)
    assert bench.prepare(str(optimize_operation(operation, host())[1])) == {"status": "ok"}
    leaves = [CpuSpace(operation, host()).root.complete(seed) for seed in range(8)]
    assert all(bench.evaluate(str(leaf.schedule), 0.0, 1.0)["status"] == "ok" for leaf in leaves)


def test_intervals_are_of_ranks() -> None:
    """The median lies below each end with at most 2.5 % probability; the next rank would promise less."""
    assert interval([float(n) for n in range(100)]) == (39.0, 60.0)
    assert interval([1.0]) == (1.0, 1.0)
    for count in range(6, 50):
        low, high = interval([float(n) for n in range(count)])
        assert low + high == count - 1
        below = [sum(math.comb(count, k) for k in range(rank + 1)) / 2**count for rank in (int(low), int(low) + 1)]
        assert below[0] <= 0.025 < below[1]


def test_faster_is_what_is_faster_in_nearly_every_round() -> None:
    assert is_faster([0.9] * 9, [1.0] * 9)
    assert is_faster([0.9] * 8 + [2.0], [1.0] * 9)
    assert not is_faster([0.9] * 7 + [2.0] * 2, [1.0] * 9), "the interval of the gains holds less than 1"
    assert not is_faster([0.995] * 9, [1.0] * 9), "noise"
    assert not is_faster([], [1.0] * 9) and not is_faster([0.9] * 9, [])


def test_what_was_best_elsewhere_is_tried_early_and_what_does_not_bind_is_not(tmp_path: Path) -> None:
    """Hints: this problem before or elsewhere, then the nearest extents; never other kinds or numbers of threads."""
    records = Records(tmp_path / "records.jsonl")
    larger = with_plain_names(operation_of_equation("mk,kn->mn", [(80, 30), (30, 50)], "float32"))
    double = with_plain_names(operation_of_equation("mk,kn->mn", [(40, 30), (30, 50)], "float64"))
    names = PRODUCT.names
    own = f"seq {names[0]}:8 prim m={names[1]} n={names[0]} k={names[2]}"
    before, near = own.replace(":8", ":4"), own.replace(":8", ":16")
    blank = Record("mine", str(PRODUCT), "this", "avx512", 1, "", confirmed=True)
    records.append(
        [
            replace(blank, schedule=before),
            replace(blank, key="a", operation=str(larger), schedule=near),
            replace(blank, key="b", machine="another", schedule=own),
            replace(blank, key="c", operation=str(double), schedule=own.replace(":8", ":2")),
            replace(blank, key="d", threads=2, schedule=own.replace(":8", ":12")),
            replace(blank, key="e", schedule=own.replace("prim m", "seq q:1 prim m")),
        ]
    )
    assert [str(each) for each in hints(PRODUCT, PRODUCT, records, 1)] == [before, own, near]


def test_a_speedup_is_a_number_whatever_could_not_be_timed() -> None:
    schedule = TunedSchedule(HEURISTIC, inf, (), (inf, inf), Bound(0.0, {}, lambda: Figure("none", 0.0)))
    space = CpuSpace(PRODUCT, host())
    run = run_search(space, Simulated(space), Budget(evaluations=1), "random")
    assert Tuned(PRODUCT, run.result, schedule, schedule, ()).speedup == 1.0
    assert Tuned(PRODUCT, run.result, replace(schedule, time=1.0), schedule, ()).speedup == 1.0


def test_nothing_is_faster_than_a_heuristic_that_could_not_be_timed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("einloom.search.tune.remeasured", lambda _, texts, *__: [[], *([1e-9] for _ in texts[1:])])
    file = tmp_path / "records.jsonl"
    tuned = tune_operation(PRODUCT, host(), Budget(evaluations=3), strategy="local", file=file, seconds=0.001)
    assert tuned.speedup == 1.0 and tuned.best.schedule == tuned.heuristic.schedule
    assert not any(each.confirmed for each in Records(file).all())


def test_results_and_candidates_are_values() -> None:
    """They pickle and copy: schedules, times, bounds with their reasons, trials; a candidate as its decisions."""
    tuned = el.tune("ab,bc->ac", (24, 20), (20, 16), dtype="float32", budget=el.Budget(evaluations=2), progress=False)
    for again in (pickle.loads(pickle.dumps(tuned)), copy.copy(tuned), copy.deepcopy(tuned)):
        assert again.best.schedule == tuned.best.schedule
        assert again.table() == tuned.table()
        assert str(again.best.bound.explain()) == str(tuned.best.bound.explain())
        assert [trial.outcome for trial in again.history] == [trial.outcome for trial in tuned.history]
    candidate = el.space.cpu("mk,kn->mn", (24, 20), (20, 16), dtype="float32").root.complete(1)
    for same in (pickle.loads(pickle.dumps(candidate)), copy.copy(candidate), copy.deepcopy(candidate)):
        assert same == candidate
        assert hash(same) == hash(candidate)
        assert same.schedule == candidate.schedule


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget": 1.5},
        {"budget": "10"},
        {"budget": None},
        {"budget": -1},
        {"seed": "x"},
        {"seed": 1.5},
        {"strategy": []},
        {"progress": "x"},
        {"log": 3},
        {"log": "/dev/null/nowhere/log.gz"},
        {"log": "/dev/full"},
        {"log": "a zero\0"},
        {"strategy": "no such strategy"},
        {"records": "a zero\0.jsonl"},
    ],
)
def test_arguments_that_are_none_are_refused_before_anything_is_measured(wrong: dict[str, Any]) -> None:
    given: dict[str, Any] = {"budget": 0, "records": False, **wrong}
    with pytest.raises(ArgumentError, match=r"budget|evaluations|seed|strategy|progress|log|records"):
        el.tune("ab,bc->ac", (4, 4), (4, 4), **given)


def test_a_budget_is_made_of_numbers() -> None:
    for wrong in ({"seconds": "x"}, {"gap": float("nan")}, {"evaluations": [1]}):
        with pytest.raises(ArgumentError, match="a number from 0 on"):
            el.Budget(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="a whole number"):
        el.Budget(evaluations=2.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("seconds", [float("inf"), 10**400])
def test_seconds_without_end_are_none(seconds: float) -> None:
    assert el.Budget(evaluations=1, seconds=seconds) == el.Budget(evaluations=1)
    with pytest.raises(ArgumentError, match="a budget without an end"):
        el.Budget(seconds=seconds)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Record, ...]:
    """What a search of one evaluation records."""
    file = tmp_path_factory.mktemp("found") / "records.jsonl"
    assert len(el.tune("ab,bc->ac", (4, 4), (4, 4), budget=1, records=file).history) == 1
    return tuple(Records(file).all())


@pytest.mark.parametrize("changes", [{"seconds": 0.0}, {"operation": ""}, {"operation": "\n"}])
def test_records_that_say_nothing_end_no_search(
    changes: dict[str, Any], found: tuple[Record, ...], tmp_path: Path
) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text("".join(replace(each, **changes).line() for each in found))
    assert len(el.tune("ab,bc->ac", (4, 4), (4, 4), budget=1, records=file).history) == 1


def test_where_records_cannot_be_written_the_search_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    tuned = el.tune("ab,bc->ac", (4, 4), (4, 4), budget=1, records="/dev/null/nowhere.jsonl")
    assert len(tuned.history) == 1
    assert "records are not written" in caplog.text
    assert "limits of this machine are not remembered" in caplog.text


@pytest.mark.parametrize("operand", [3, None, (2.5, 3)])
def test_what_is_neither_an_array_nor_a_shape_is_refused(operand: Any) -> None:
    with pytest.raises(el.ShapeError, match="operand 1"):
        el.tune("mk,kn->mn", (4, 5), operand, budget=1, records=False)


def test_operands_beyond_memory_are_an_error_of_shapes() -> None:
    huge = (1 << 20, 1 << 20)
    with pytest.raises(ShapeError, match="find no memory"):
        el.tune("ab,bc->ac", huge, huge, budget=1, dtype="float32", records=False)


def test_a_configuration_says_shapes_and_types_itself() -> None:
    config = el.TensorOperationConfig(
        "float32", "gemm", list("mnk"), ["prim"] * 3, (8, 8, 8), (1, 0, 8), (0, 8, 1), (1, 8, 0)
    )
    with pytest.raises(ArgumentError, match="for equations"):
        el.tune(config, (8, 8), (8, 8), budget=1)
    with pytest.raises(ArgumentError, match="for equations"):
        el.tune(config, budget=1, dtype="float64")
