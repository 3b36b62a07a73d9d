"""Records: many processes, killed ones, lines that are none, and what is looked up."""

from __future__ import annotations

import logging
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import einloom as el
from einloom.cli import main
from einloom.dtypes import BFLOAT16
from einloom.errors import ArgumentError, EinloomError, ScheduleError
from einloom.ir.configuration import TensorOperationConfig
from einloom.ir.text import parse_operation
from einloom.jit.host import host
from einloom.passes.pipeline import optimize_operation
from einloom.search.claims import code_digest
from einloom.search.problems import recorded_schedule, renamed, with_plain_names
from einloom.search.records import Record, Records, chosen_file, kept, problem_key, readable_file, records_at
from einloom.search.replay import rebuilt
from einloom.space.on_cpu.given import operation_of_equation
from einloom.space.on_cpu.space import CpuSpace

PRODUCT = operation_of_equation("mk,kn->mn", [(40, 30), (30, 50)], "float32")
PLAIN = str(with_plain_names(PRODUCT))
SCHEDULE = "seq A:16 prim m=B n=A k=C"
DEEP = "[" * 100_000


def record(schedule: str = SCHEDULE, **changes: Any) -> Record:
    """A confirmed record of the product on this host, with the codes that are generated now, if any."""
    machine = host()
    key = problem_key(PLAIN, machine, 1)
    made = Record(key, PLAIN, machine.name, machine.vector, 1, schedule, seconds=1e-5, confirmed=True)
    made = replace(made, **changes)
    return replace(made, heuristic_code=_code(made, ""), code=_code(made, schedule))


def _code(record: Record, schedule: str) -> str:
    try:
        return code_digest(parse_operation(record.operation), schedule, host(), record.threads)
    except EinloomError:
        return "none"


APPEND = """
import sys
from pathlib import Path
from einloom.search.records import Record, Records
records = Records(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    records.append([Record(f"{sys.argv[2]}-{number}", "…", "m", "avx512", 1, "prim m=A", note="x" * number)])
"""


def test_a_search_goes_on_where_nothing_can_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    records = Records(tmp_path / "records.jsonl")
    assert kept(records, record()) is records
    assert len(list(records.all())) == 1
    (tmp_path / "file").touch()
    assert kept(Records(tmp_path / "file/records.jsonl"), record()) is None
    assert kept(None, record()) is None
    assert caplog.text.count("records are not written from here on") == 1


def test_four_processes_append_a_thousand_records_each(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    line = [sys.executable, "-c", APPEND, str(file)]
    processes = [subprocess.Popen([*line, str(number), "1000"]) for number in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    keys = [each.key for each in Records(file).all()]
    assert sorted(keys) == sorted(f"{number}-{each}" for number in range(4) for each in range(1000))


def test_a_line_that_a_killed_process_left_costs_that_record_alone(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    records = Records(file)
    records.append([record(), record(note="second")])
    whole = file.read_bytes()
    for end in range(len(record().line()) + 1, len(whole), 7):
        file.write_bytes(whole[:end])
        records.append([record(note="third")])
        found = [each.note for each in Records(file).all()]
        assert found in (["", "third"], ["", "second", "third"])
    assert Records(file).best(record().key) == record(note="third")


@pytest.mark.parametrize(
    "line",
    ["", "{}", "[]", "null", '{"version": 2}', '{"version": 1, "key": 3}', '{"version": 1, "wild": 1}', "\x00", DEEP],
)
def test_lines_that_are_no_records_are_passed_over(line: str, tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text(f"{line}\n{record().line()}{line}\n")
    assert list(Records(file).all()) == [record()]
    assert Records(file).best(record().key) == record()


@pytest.mark.parametrize(
    "changes",
    [
        {"threads": 0},
        {"threads": -3},
        {"seconds": -1.0},
        {"seconds": 1e-300},
        {"seconds": 1e300},
        {"seconds": float("nan")},
        {"times": (None,)},
        {"times": ("a",)},
        {"times": (0.0,)},
        {"times": ([1],)},
        {"heuristic": float("inf")},
        {"decisions": {"role(A)": None}},
        {"strategy": 3},
    ],
)
def test_what_no_search_measures_is_no_record(changes: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    told = record()
    Records(file).append([replace(told, **changes)])
    assert list(Records(file).all()) == []
    machine = host()
    assert recorded_schedule(with_plain_names(PRODUCT), machine, 1, file) is None
    assert main(["records", "--records", str(file), "list"]) == 0


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
def test_a_record_of_no_operation_is_listed(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "records.jsonl"
    Records(file).append([replace(record(), operation=text)])
    assert main(["records", "--records", str(file), "list"]) == 0
    assert "its operation cannot be read" in capsys.readouterr().out


def test_text_and_record_are_the_same() -> None:
    told = record(times=(1.0, 2.0), decisions={"step(A.0)": 16}, heuristic=2e-5, seed=3, strategy="tag")
    assert Record.parse(told.line()) == told


def test_only_what_was_confirmed_is_used_and_the_last_of_it(tmp_path: Path) -> None:
    records = Records(tmp_path / "mine.jsonl")
    key = record().key
    assert records.best(key) is None
    records.append([record(confirmed=False)])
    assert records.best(key) is None
    records.append([record(note="one"), record(note="two"), record(confirmed=False, note="three")])
    found = records.best(key)
    assert found is not None and found.note == "two"


def test_einsum_and_compile_use_records_whatever_the_labels(tmp_path: Path) -> None:
    Records(tmp_path / "records.jsonl").append([record()])
    with el.settings(records=tmp_path, threads=1):
        f = el.compile("xy,yz->xz", (40, 30), (30, 50), dtype="float32")
        assert str(f.schedule) == "seq x:16 prim m=z n=x k=y"
        assert "recorded by a search" in f.show("passes")
    with el.settings(records=False, threads=1):
        assert el.compile("xy,yz->xz", (40, 30), (30, 50), dtype="float32").schedule != f.schedule


def test_optimize_takes_what_was_tuned_unless_it_is_told_how(tmp_path: Path) -> None:
    config = TensorOperationConfig.from_schedule(PRODUCT, optimize_operation(PRODUCT, host())[1])
    plain = str(with_plain_names(config.operation))  # Its axes stand in another order: n, m, k.
    told = record("seq A:16 prim m=A n=B k=C", operation=plain, key=problem_key(plain, host(), 1))
    Records(tmp_path / "records.jsonl").append([told])
    with el.settings(records=tmp_path, threads=1):
        assert str(el.optimize(config).schedule) == "seq n:16 prim m=n n=m k=k"
        assert str(el.optimize(config, packing=False).schedule) != "seq n:16 prim m=n n=m k=k"
    with el.settings(records=False, threads=1):
        assert str(el.optimize(config).schedule) != "seq n:16 prim m=n n=m k=k"


@pytest.mark.parametrize(
    "changes",
    [{"threads": 2}, {"machine": "another"}, {"vector": "neon"}, {"operation": PLAIN.replace("40", "41")}],
    ids=["threads", "machine", "vector", "shape"],
)
def test_records_of_others_are_no_code(changes: dict[str, Any], tmp_path: Path) -> None:
    other = record(**changes)
    machine = replace(host(), name=other.machine, vector=other.vector)
    file = tmp_path / "records.jsonl"
    Records(file).append([replace(other, key=problem_key(other.operation, machine, other.threads))])
    assert recorded_schedule(PRODUCT, host(), 1, file) is None


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        ("seq A:16 prim m=B n=A k=Q", "Q"),
        ("shared C:2 prim m=B n=A k=C", "is contracted"),
        ("import os", "does not belong there"),
    ],
)
def test_an_illegal_record_is_not_used_and_the_log_says_why(
    schedule: str, reason: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "records.jsonl"
    Records(file).append([record(schedule)])
    with caplog.at_level(logging.WARNING, "einloom"):
        assert recorded_schedule(PRODUCT, host(), 1, file) is None
    assert reason in caplog.text


def test_decisions_lead_to_the_schedule_again_and_illegal_ones_are_refused() -> None:
    space = CpuSpace(with_plain_names(PRODUCT), host(), (_schedule(),))
    decisions = {name: values[0] for name, values in space.leaf(_schedule()).inner.decisions}
    told = record(decisions=decisions)
    assert rebuilt(told, host()) == _schedule()
    with pytest.raises(ScheduleError, match="do not hold"):
        rebuilt(replace(told, decisions=decisions | {"kind(C.0)": "SHARED"}), host())
    with pytest.raises(ScheduleError, match="lead to another schedule"):
        rebuilt(replace(told, schedule="prim m=B n=A k=C", decisions=decisions), host())


def _schedule() -> el.Schedule:
    from einloom.ir.text import parse_schedule

    return parse_schedule(SCHEDULE)


def test_names_change_and_nothing_else() -> None:
    from einloom.ir.text import parse_schedule

    schedule = parse_schedule("fuse AB=A*B seq AB:4 seq C*D:2 prim m=AB k=C*D pack in0@1 C*D AB")
    names = dict(zip("ABCD", "wxyz"))
    assert str(renamed(schedule, names)) == "fuse AB=w*x seq AB:4 seq y*z:2 prim m=AB k=y*z pack in0@1 y*z AB"
    team = parse_schedule("team 2 schedule(dynamic,1) seq C:10| shared A:8 prim m=B n=A k=C")
    assert str(renamed(team, names)) == "team 2 schedule(dynamic,1) seq y:10| shared w:8 prim m=x n=w k=y"
    grouped = replace(schedule, packs=(replace(schedule.packs[0], grouped=BFLOAT16),))
    assert renamed(grouped, names).packs[0].grouped == BFLOAT16


def test_where_records_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen_file(False) is None and chosen_file() is None  # the tests' environment says off
    assert chosen_file("off") is None
    assert chosen_file(tmp_path) == tmp_path / "records.jsonl"
    assert chosen_file(tmp_path / "a.jsonl") == tmp_path / "a.jsonl"
    assert chosen_file(tmp_path / "plain") == tmp_path / "plain" / "records.jsonl"
    (tmp_path / "plain").touch()
    assert chosen_file(tmp_path / "plain") == tmp_path / "plain"
    monkeypatch.setenv("EINLOOM_RECORDS", str(tmp_path / "b.jsonl"))
    assert chosen_file() == tmp_path / "b.jsonl" == readable_file()
    monkeypatch.delenv("EINLOOM_RECORDS")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert readable_file() is None
    assert chosen_file() == tmp_path / "einloom" / "records.jsonl"
    with pytest.raises(ArgumentError, match="records is 3"):
        chosen_file(3)
    with pytest.raises(ArgumentError, match="records is 3"), el.settings(records=3):  # type: ignore[arg-type]
        pass
    assert records_at(tmp_path) is records_at(tmp_path)
