"""What `einloom bench` says while it measures: whoever reads a pipe or a log sees each case as it is done."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from einloom.bench.cases import Case
from einloom.bench.choice import Choice, Tried
from einloom.bench.elementwise import ElementWiseResult
from einloom.bench.loops import LoopCase, LoopRow
from einloom.bench.measure import Figures, Row
from einloom.bench.tuned import TunedCase
from einloom.cli import main
from einloom.cli.bench_progress import progress
from einloom.cli.waiting import waiting
from einloom.frozen import frozen


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@frozen
class Named:
    name: str


CASES = [Named("first"), Named("[second]")]


def terminal_of(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return what stands for the error stream from now on."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", made := Terminal())
    return made


def test_a_pipe_gets_a_line_a_case_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    figures = iter(["1.0 GFLOP/s", "failed"])
    with progress(CASES) as under_way:
        for _ in under_way:
            under_way.tell("round 1 of 2")
            assert capsys.readouterr() == ("", "")
            under_way.done(next(figures))
            assert capsys.readouterr().err in ("1/2 first: 1.0 GFLOP/s\n", "2/2 [second]: failed\n")
    assert capsys.readouterr() == ("", "")


def test_a_terminal_names_each_case_before_it_starts_and_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    with progress(CASES) as under_way:
        seen = [terminal.getvalue() for _ in under_way]
        under_way.tell("round 1 of 2")
        under_way.done("1.0 GFLOP/s")
        raise KeyboardInterrupt
    assert under_way.interrupted
    assert "1/2 first" in seen[0] and "second" not in seen[0] and "2/2 [second]" in seen[1]
    assert "2/2 [second]: round 1 of 2" in terminal.getvalue() and "GFLOP/s" not in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K"), "the last line is erased"


def test_a_spinner_is_drawn_in_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = terminal_of(monkeypatch)
    with waiting("a[b]") as tell:
        assert "a[b]" in terminal.getvalue()
        tell("then c")
        assert "then c" in terminal.getvalue()
    monkeypatch.undo()
    with waiting("in a pipe") as tell:
        tell("then more")
    assert capsys.readouterr() == ("", "")


def test_what_takes_seconds_says_so_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    monkeypatch.setattr("einloom.jit.peak.peak_flops", lambda *_: 1e9)
    assert main(["info", "--peak"]) == 0
    assert "measured" in terminal.getvalue()
    sizes = ["--sizes", "a=3,b=4", "--peers", "", "--target", "interpreter", "--runs", "1", "--threads", "1"]
    assert main(["einsum", "ab->ba", *sizes]) == 0
    assert "ab->ba: a process starts" in terminal.getvalue() and "ab->ba: round 1 of 1" in terminal.getvalue()


def test_cases_are_said_beside_the_table() -> None:
    case = ["--cases", "5x5x5", "--peers", "numpy", "--runs", "1", "--seconds", "0"]
    line = [sys.executable, "-m", "einloom", "bench", "gemm_kernels", *case, "--json", "-"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("{") and done.stdout.endswith("}\n")
    assert done.stderr.startswith("1/1 5x5x5: ")
    assert " GFLOP/s, " in done.stderr and " of peak, numpy " in done.stderr


INTERRUPTED = {
    "permutations": ("einloom.cli.bench.measure_case", ["--peers", ""]),
    "gemm_large": ("einloom.cli.bench_choice.measure_choice", ["--choice"]),
    "tccg24": ("einloom.cli.bench_tuned.tuned_case", ["--tune", "1"]),
    "elementwise": ("einloom.cli.bench_elementwise.measure_case", []),
    "loops": ("einloom.cli.bench_loops.measure_loops", ["--cases", "gemm"]),
}
"""Suites, what measures one of their cases, and what is asked for."""
MEASURED = {
    "permutations": Row(Case.contraction("ab->ba", {"a": 2, "b": 3}), Figures("einloom", "default", (1e-6,)), (), {}),
    "gemm_large": Choice("m", 8, 1, (Tried("f", "s", 1e-6, 1e-6),)),
    "tccg24": TunedCase("m", 1, "s", "s", (1e-6,), (1e-6,), ""),
    "elementwise": ElementWiseResult("m", 1e-6, 1e-6, 8, 8),
    "loops": LoopRow(LoopCase("m", "gemm", (), False), {"einloom": [1e-6]}, 8.0, 0.0, 1e9),
}


@pytest.mark.parametrize("suite", INTERRUPTED)
def test_ctrl_c_keeps_what_is_measured(
    suite: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    answers = iter([MEASURED[suite]])
    where, options = INTERRUPTED[suite]

    def measured(*_: object) -> object:
        for answer in answers:
            return answer
        raise KeyboardInterrupt

    monkeypatch.setattr(where, measured)
    file = tmp_path / "report.json"
    assert main(["bench", suite, *options, "--json", str(file)]) == 130
    said = capsys.readouterr()
    assert "einloom: ended by Ctrl-C after 1 of " in said.err
    assert len(said.out.splitlines()) > 0
    report = json.loads(file.read_text())
    assert len(report if isinstance(report, list) else report["rows"]) == 1
    if suite == "permutations":
        assert len(report["left_out"]) == 6
    assert main(["bench", suite, *options, "--json", "-"]) == 130
    assert capsys.readouterr().out == "", "nothing was measured"


@pytest.mark.parametrize("stderr", ["&-", "/dev/full"])
def test_the_report_is_printed_where_nobody_can_read_beside_it(stderr: str) -> None:
    case = "gemm_kernels --cases 5x5x5 --peers numpy --runs 1 --seconds 0"
    line = f'"$0" -m einloom bench {case} --json - 2>{stderr}'
    done = subprocess.run(["sh", "-c", line, sys.executable], stdout=subprocess.PIPE, text=True, check=True)
    assert len(json.loads(done.stdout)["rows"]) == 1
