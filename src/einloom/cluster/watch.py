"""`watched`: while ranks compute, a process beside them says which of them dies, and what is resumable.

A rank that is killed says nothing, and what starts ranks kills the others at once: with signals that no one can answer
(MPICH), or after a while. So one rank of every host starts a sentinel, which outlives them and has a connection with
each. Which of these ends first is who died first: the kernel closes the files of a dying process before it says that it
ended, and those with the highest descriptors first, so here before those by which an `mpiexec` hears of it.
"""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from einloom.cluster.checkpoint import Checkpoint
from einloom.errors import EinloomError

__all__ = ["WATCHED", "watched"]

WATCHED = 1.0
"""Seconds from which on it pays to start a sentinel, which takes some 20 ms of one core."""

ADVICE = "Pass checkpoint= to keep what is finished."


@contextmanager
def watched(comm: Any, what: str, checkpoint: Checkpoint | None = None, units: int = 0) -> Generator[None]:
    """Watch the ranks that are inside; all of them go in, and come out or fail together.

    On a host where ranks cannot connect with each other or start a process (a sandbox), nobody is watched.

    Args:
        comm: the communicator.
        what: is computed, for the message.
        checkpoint: where finished units are kept.
        units: how many there are in all.
    """
    connection, sentinel = _started(comm, what, checkpoint, units)
    comm.Barrier()
    try:
        try:
            yield
        except EinloomError:  # On all ranks: they have agreed that there was one.
            comm.Barrier()
            raise
        comm.Barrier()
    finally:
        if connection is not None:
            with connection, suppress(OSError):  # Another rank may have said so already.
                connection.send(b".")
        if sentinel is not None:
            sentinel.wait()


def _started(
    comm: Any, what: str, checkpoint: Checkpoint | None, units: int
) -> tuple[socket.socket | None, subprocess.Popen[bytes] | None]:
    """Return this rank's connection, and on the first rank of a host the sentinel, which watches."""
    own = os.uname().nodename
    there: list[tuple[str, int]] = comm.allgather((own, os.getpid()))
    ranks = {process: rank for rank, (host, process) in enumerate(there) if host == own}
    first = min(ranks.values())
    listener = _listener(len(ranks)) if comm.rank == first else None
    names: list[bytes | None] = comm.allgather(listener and listener.getsockname())
    connection = _connected(names[first])
    connected: list[bool] = comm.allgather(connection is not None)
    if listener is None:
        return connection, None
    advice = ADVICE if checkpoint is None else checkpoint.told("{}", units)
    kept = ["", ""] if checkpoint is None else [checkpoint.folder, checkpoint.name]
    with listener, suppress(OSError):
        if all(connected[rank] for rank in ranks.values()):
            return connection, _sentinel(listener, [what, advice, *kept], ranks)
    return connection, None


def _listener(count: int) -> socket.socket | None:
    """Return a socket for so many connections, under a name that the kernel chooses and that is no file."""
    with ExitStack() as stack, suppress(OSError):
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind("")
        listener.listen(count)
        stack.pop_all()
        return listener
    return None


def _connected(name: bytes | None) -> socket.socket | None:
    """Return a connection whose descriptor is above those of all open files."""
    if name is None:
        return None
    with suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.setblocking(False)  # The queue may be full: Linux before 5.4 takes 128 at most.
        connection.connect(name)
        highest = max(int(descriptor) for descriptor in os.listdir("/proc/self/fd"))
        return socket.socket(fileno=fcntl.fcntl(connection, fcntl.F_DUPFD_CLOEXEC, highest))
    return None


def _sentinel(listener: socket.socket, given: list[str], ranks: dict[int, int]) -> subprocess.Popen[bytes] | None:
    """Start a sentinel for the processes that have connected, and wait until it watches, or ends as it cannot."""
    program = Path(__file__).with_name("sentinel.py")
    with ExitStack() as stack:
        connections: dict[int, int] = {}
        for _ in ranks:
            connection = stack.enter_context(listener.accept()[0])
            connections[_process(connection)] = connection.fileno()
        if connections.keys() != ranks.keys():  # Somebody else has connected.
            return None
        held = [f"{rank}:{process}:{connections[process]}" for process, rank in ranks.items()]
        sentinel = subprocess.Popen(
            [sys.executable, "-I", "-S", str(program), *given, *held],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            pass_fds=connections.values(),
            start_new_session=True,
        )
    assert sentinel.stdout is not None
    with sentinel.stdout as output:
        output.read()
    return sentinel


def _process(connection: socket.socket) -> int:
    """Return which process has connected, as the kernel knows it."""
    return int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 4), sys.byteorder)
