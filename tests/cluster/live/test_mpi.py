"""Contractions on ranks of MPI, more of them than cores: the same bits for any number, and errors that name a rank."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import einloom as el
from tests.cluster.live.cases import LIMIT, NETWORK, network_operands
from tests.soak import soak_count

pytest.importorskip("mpi4py")
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}") or shutil.which("mpiexec")
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")


def ranks(count: int, *case: object, fails: bool = False) -> str:
    """Run a case on so many ranks, and return what it printed."""
    assert MPIEXEC is not None
    line = [MPIEXEC, "-n", str(count), sys.executable, "-m", "tests.cluster.live.ranks", *map(str, case)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return f"{done.stdout}{done.stderr}".strip() if fails else done.stdout.strip()


def expected_bits() -> str:
    """The digest of what one machine computes."""
    result = el.cluster.compile(*NETWORK, memory_limit=LIMIT).expression(*network_operands())
    return hashlib.sha256(result.tobytes()).hexdigest()


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_the_same_bits_for_any_number_of_ranks(count: int) -> None:
    assert ranks(count, "bits") == expected_bits()


@pytest.mark.soak
def test_random_expressions() -> None:
    assert ranks(4, "random_expressions", soak_count(300, 0.1)) == "right"


def test_operands_that_differ_between_ranks() -> None:
    assert ranks(4, "different_operands") == "refused"


def test_options_that_differ_between_ranks(tmp_path: Path) -> None:
    assert ranks(3, "different_options", tmp_path) == "refused"


def test_a_failing_rank_is_named(tmp_path: Path) -> None:
    told = ranks(3, "failing_rank", tmp_path)
    assert "1 of 3 ranks failed to" in told and "rank 2: checkpoint: " in told and "No space left" in told


@pytest.mark.parametrize("victim", [0, 3])
def test_a_run_of_which_a_rank_was_killed_goes_on(victim: int, tmp_path: Path) -> None:
    told = ranks(4, "checkpoint", victim, tmp_path, fails=True)
    assert re.search(rf"DeviceError: rank {victim}, process \d+ on \S+ died in einsum abcd,", told), told
    assert re.search(rf"[1-9]\d* of \d+ units are kept in {tmp_path}: the same call goes on", told), told
    kept = len(list(tmp_path.glob("*.unit")))
    computed, events, digest = ranks(4, "checkpoint", victim, tmp_path).split()
    assert digest == expected_bits()
    assert kept >= 9 and int(computed) == int(events) - kept


@pytest.mark.parametrize("count", [2, 4])
def test_products_over_every_grid_of_ranks(count: int) -> None:
    assert ranks(count, "grids") == "right"


def test_blocks_that_are_not_those_of_the_distribution() -> None:
    assert ranks(2, "wrong_blocks") == "refused"
