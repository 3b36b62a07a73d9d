"""The sentinel names the rank whose connection ended first, whatever becomes of the others meanwhile."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from einloom.cluster import sentinel

WAITS = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"]


@dataclass
class Rank:
    """A process that waits, and both ends of what would be its connection."""

    process: subprocess.Popen[bytes]
    own: socket.socket
    other: socket.socket


@pytest.fixture
def ranks() -> Iterator[list[Rank]]:
    with ExitStack() as stack:
        started: list[Rank] = []
        for _ in range(4):
            process = stack.enter_context(subprocess.Popen(WAITS, stdin=subprocess.PIPE))
            stack.callback(process.kill)
            started.append(Rank(process, *map(stack.enter_context, socket.socketpair())))
        yield started


def watching(
    ranks: list[Rank], advice: str = "{} units are kept.", folder: str = "", kept: str = "", says: int = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    """Return a sentinel of these that is ready; `says` is where its message goes."""
    held = [each.other.fileno() for each in ranks]
    given = [f"{rank}:{each.process.pid}:{held[rank]}" for rank, each in enumerate(ranks)]
    program = [sys.executable, "-I", "-S", str(sentinel.__file__), "a sum", advice, folder, kept, *given]
    started = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=says, pass_fds=held)
    for each in ranks:
        each.other.close()
    assert started.stdout is not None
    assert started.stdout.read() == b""
    assert started.poll() is None
    return started


def told(watcher: subprocess.Popen[bytes]) -> str:
    """Return what a sentinel says before it ends."""
    with watcher:
        return watcher.communicate(timeout=60)[1].decode()


@contextmanager
def stopped(watcher: subprocess.Popen[bytes]) -> Generator[None]:
    """Let the sentinel see all at once what happens meanwhile."""
    watcher.send_signal(signal.SIGSTOP)
    os.waitpid(watcher.pid, os.WUNTRACED)
    yield
    watcher.send_signal(signal.SIGCONT)


def ends(rank: Rank) -> None:
    """End a rank as a signal does that cannot be answered."""
    rank.process.kill()
    rank.process.wait()
    rank.own.close()


@pytest.mark.parametrize("victim", range(4))
def test_the_first_connection_to_end_names_the_rank(victim: int, ranks: list[Rank]) -> None:
    watcher = watching(ranks)
    with stopped(watcher):
        ranks[victim].own.close()
        for rank in (0, 3, 1, 2):
            if rank != victim:  # `mpiexec` may have ended the others before the kernel says who died.
                ends(ranks[rank])
        ends(ranks[victim])
    assert told(watcher).startswith(f"DeviceError: rank {victim}, process {ranks[victim].process.pid} on ")


def test_ranks_that_nobody_ends_are_ended(ranks: list[Rank]) -> None:
    watcher = watching(ranks)
    with stopped(watcher):
        ranks[2].own.close()
        ranks[0].own.close()  # Whoever has that process's number now is not concerned.
    assert "0 units are kept." in told(watcher)
    assert [ranks[rank].process.wait(timeout=60) for rank in (1, 3)] == [-signal.SIGTERM] * 2
    assert [ranks[rank].process.poll() for rank in (0, 2)] == [None] * 2


def test_ranks_are_ended_whatever_the_folder_is_called_and_though_it_is_gone(ranks: list[Rank], tmp_path: Path) -> None:
    folder = tmp_path / "of {me}" / "{}"
    watcher = watching(ranks, f"{{}} units are kept in {folder}.", str(folder), "sum")
    ends(ranks[0])
    assert f"0 units are kept in {folder}." in told(watcher)
    assert [each.process.wait(timeout=60) for each in ranks[1:]] == [-signal.SIGTERM] * 3


def test_ranks_are_ended_though_nobody_takes_the_message(ranks: list[Rank]) -> None:
    with open("/dev/full", "wb") as full, watching(ranks, says=full.fileno()):
        ends(ranks[0])
        assert [each.process.wait(timeout=60) for each in ranks[1:]] == [-signal.SIGTERM] * 3


@pytest.mark.parametrize("rank", range(4))
def test_a_byte_says_that_all_is_well(rank: int, ranks: list[Rank]) -> None:
    watcher = watching(ranks)
    with stopped(watcher):
        ranks[rank].own.send(b".")
        for each in ranks:
            each.own.close()
    assert told(watcher) == ""
    assert all(each.process.poll() is None for each in ranks)


def test_the_kernel_closes_the_highest_descriptors_of_a_killed_process_first() -> None:
    with ExitStack() as stack:
        pairs = [[stack.enter_context(each) for each in socket.socketpair()] for _ in range(20)]
        held = {theirs.fileno(): own for own, theirs in pairs}
        process = stack.enter_context(subprocess.Popen(WAITS, stdin=subprocess.PIPE, pass_fds=held))
        order = stack.enter_context(select.epoll())
        for own, theirs in pairs:
            order.register(own, select.EPOLLIN)
            theirs.close()
        process.kill()
        process.wait()
        expected = [held[descriptor].fileno() for descriptor in sorted(held, reverse=True)]
        assert [descriptor for descriptor, _ in order.poll(0)] == expected
