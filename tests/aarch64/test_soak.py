"""What `make soak` runs on an emulated processor, which is fetched where it is not there yet."""

from __future__ import annotations

import os
import subprocess

import pytest

from ..debian import CannotPrepare
from .emulator import CPUS, REPOSITORY, prepared


@pytest.mark.soak
@pytest.mark.skipif(os.environ.get("EINLOOM_SOAK") != "1", reason="`make test-aarch64` runs some of it")
def test_every_proposal_equals_the_interpreter_on_neon() -> None:
    """On a processor that faults on everything beyond Neon."""
    try:
        emulator = prepared()
    except CannotPrepare as error:
        pytest.skip(str(error))
    tests = "tests/targets/test_proposals.py::test_every_proposal_equals_the_interpreter"
    command = emulator.command(CPUS[0], ["-m", "pytest", "-p", "no:cacheprovider", "--tb=short", tests])
    run = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
