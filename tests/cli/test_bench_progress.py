"""What `einloom bench` says while it measures: whoever reads a pipe or a log sees each case as it is done."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from einloom.cli.bench_progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_gets_a_line_a_case_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(2) as say:
        say("first", "1.0 GFLOP/s")
        assert capsys.readouterr() == ("", "1/2 first: 1.0 GFLOP/s\n")
        say("second", "failed")
    assert capsys.readouterr() == ("", "2/2 second: failed\n")


def test_a_terminal_keeps_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with pytest.raises(KeyboardInterrupt), progress(2) as say:
        say("first", "1.0 GFLOP/s")
        raise KeyboardInterrupt
    assert terminal.getvalue() == "\r\x1b[K1/2 first\r\x1b[K"


def test_cases_are_said_beside_the_table() -> None:
    case = ["--cases", "5x5x5", "--peers", "numpy", "--runs", "1", "--seconds", "0"]
    line = [sys.executable, "-m", "einloom", "bench", "gemm_kernels", *case, "--json", "-"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("{") and done.stdout.endswith("}\n")
    assert done.stderr.startswith("1/1 5x5x5: ")
    assert " GFLOP/s, " in done.stderr and " of peak, numpy " in done.stderr


@pytest.mark.parametrize("stderr", ["&-", "/dev/full"])
def test_the_report_is_printed_where_nobody_can_read_beside_it(stderr: str) -> None:
    case = "gemm_kernels --cases 5x5x5 --peers numpy --runs 1 --seconds 0"
    line = f'"$0" -m einloom bench {case} --json - 2>{stderr}'
    done = subprocess.run(["sh", "-c", line, sys.executable], stdout=subprocess.PIPE, text=True, check=True)
    assert len(json.loads(done.stdout)["rows"]) == 1
