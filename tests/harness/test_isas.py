"""The fixture of vector ISAs runs a test once for each that runs here; the marker skips what does not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.isas import vectors_of_host


def test_once_for_each(vector: str) -> None:
    assert vector in vectors_of_host()


def test_none_is_left_out() -> None:
    line = [sys.executable, "-m", "pytest", "--collect-only", f"{__file__}::test_once_for_each"]
    listed = subprocess.run(line, capture_output=True, text=True).stdout.splitlines()
    assert [name.partition("[")[2][:-1] for name in listed if "::" in name] == list(vectors_of_host())


@pytest.mark.parametrize("vector", ["mine"])
def test_a_test_may_say_itself_which(vector: str) -> None:
    assert vector == "mine"


@pytest.mark.isa("neon")
def test_a_marked_test_runs_only_where_it_can() -> None:
    assert "neon" in vectors_of_host()
