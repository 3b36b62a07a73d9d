"""`watched`: while ranks compute, a process beside them says which of them dies, and what is resumable.

A rank that is killed says nothing, and what starts ranks kills the others at once: with signals that no one can answer
(MPICH), or after a while. So one rank of every host starts a sentinel, which outlives them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
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

    Args:
        comm: the communicator.
        what: is computed, for the message.
        checkpoint: where finished units are kept.
        units: how many there are in all.
    """
    own = os.uname().nodename
    there: list[tuple[str, int]] = comm.allgather((own, os.getpid()))
    ranks = {rank: process for rank, (host, process) in enumerate(there) if host == own}
    sentinel = _started(what, checkpoint, units, ranks) if comm.rank == min(ranks) else None
    comm.Barrier()
    try:
        try:
            yield
        except EinloomError:  # On all ranks: they have agreed that there was one.
            comm.Barrier()
            raise
        comm.Barrier()
    finally:
        if sentinel is not None:
            sentinel.communicate(b".")


def _started(what: str, checkpoint: Checkpoint | None, units: int, ranks: dict[int, int]) -> subprocess.Popen[bytes]:
    """Start a sentinel, and wait until it watches; where the kernel has no such thing, it ends."""
    advice = ADVICE if checkpoint is None else checkpoint.told("{}", units)
    kept = ["", ""] if checkpoint is None else [checkpoint.folder, checkpoint.name]
    program = Path(__file__).with_name("sentinel.py")
    given = [what, advice, *kept, *(f"{rank}:{process}" for rank, process in ranks.items())]
    sentinel = subprocess.Popen(
        [sys.executable, "-I", "-S", str(program), *given],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert sentinel.stdout is not None
    sentinel.stdout.readline()
    return sentinel
