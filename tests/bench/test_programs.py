"""The programs in `benchmarks` say what they take. What they measure is no test's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from einloom.jit import host

PROGRAMS = sorted(
    path
    for path in (Path(__file__).parents[2] / "benchmarks").glob("*.py")
    if path.name != "fit_coefficients.py"  # It takes nothing.
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_help(program: Path) -> None:
    done = subprocess.run([sys.executable, program, "--help"], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: {program.name}")


def test_few_kernels_are_enough() -> None:
    """Not one of any kind: nothing is said of what has no median."""
    line = [sys.executable, PROGRAMS[0].with_name("kernel_cycles.py"), host().vector, "0"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
