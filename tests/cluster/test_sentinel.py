"""The sentinel names the rank that died first, however the ends of the others overtake the news of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from einloom.cluster import sentinel

WAITS = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"]


@pytest.fixture
def ranks() -> Iterator[list[subprocess.Popen[bytes]]]:
    with ExitStack() as stack:
        started = [stack.enter_context(subprocess.Popen(WAITS, stdin=subprocess.PIPE)) for _ in range(3)]
        yield started
        for each in started:
            each.kill()


def watching(ranks: list[subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """Return a sentinel of these processes that is ready; the first one is taken to hold its input."""
    given = ["a sum", "{} units are kept.", "", "", *(f"{rank}:{each.pid}" for rank, each in enumerate(ranks))]
    program = [sys.executable, "-I", "-S", str(sentinel.__file__), *given]
    pipe = subprocess.PIPE
    started = subprocess.Popen(program, stdin=pipe, stdout=pipe, stderr=pipe)
    assert started.stdout is not None
    assert started.stdout.readline() == b"ready\n"
    return started


def test_the_holder_of_the_input_died_first_if_that_ended_first(ranks: list[subprocess.Popen[bytes]]) -> None:
    with watching(ranks) as watcher:
        assert watcher.stdin is not None
        watcher.stdin.close()
        ranks[2].kill()  # as `mpiexec` does when it has seen the end of the holder's pipes
        ranks[2].wait()
        ranks[0].kill()
        assert watcher.stderr is not None
        assert watcher.stderr.read().startswith(f"DeviceError: rank 0, process {ranks[0].pid} on ".encode())


def test_another_rank_that_is_listed_died_first(ranks: list[subprocess.Popen[bytes]]) -> None:
    with watching(ranks) as watcher:
        ranks[1].kill()
        assert watcher.stderr is not None
        assert watcher.stderr.read().startswith(f"DeviceError: rank 1, process {ranks[1].pid} on ".encode())


def test_a_byte_says_that_all_is_well(ranks: list[subprocess.Popen[bytes]]) -> None:
    with watching(ranks) as watcher:
        assert watcher.communicate(b".")[1] == b""
    assert all(each.poll() is None for each in ranks)
