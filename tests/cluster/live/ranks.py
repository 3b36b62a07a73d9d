"""What every rank of a test runs: `mpiexec -n 4 python -m tests.cluster.live.ranks CASE [FOLDER]`."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from mpi4py import MPI

import einloom as el
from tests.cluster.live.cases import LIMIT, NETWORK, drawn, network_operands

COMM = MPI.COMM_WORLD


def bits() -> None:
    """Print the digest of a result that is rounded."""
    f = el.cluster.compile(*NETWORK, memory_limit=LIMIT)
    result = f(*network_operands(), comm=COMM)
    assert len(set(COMM.allgather(result.tobytes()))) == 1
    assert f.run is not None and len(f.run.workers) == COMM.size
    report(hashlib.sha256(result.tobytes()).hexdigest())


def random_expressions(count: str) -> None:
    """Compare with NumPy."""
    for seed in range(int(count)):
        f, operands = drawn(seed)
        result = f(*operands, comm=COMM)
        assert np.array_equal(result, np.einsum(f.expression.equation, *operands, optimize=True)), seed
    report("right")


def different_operands() -> None:
    """One rank has another type, then another shape."""
    a, b = np.ones((300, 200)), np.ones((200, 300))
    for other in (a.astype("float32"), np.ones((301, 200))):
        try:
            el.cluster.einsum("ab,bc->ac", other if COMM.rank == 1 else a, b, comm=COMM)
        except el.EinloomError as error:
            assert "rank" in str(error) and "1" in str(error), error
        else:
            raise AssertionError("it was not refused")
    report("refused")


def failing_rank(folder: str) -> None:
    """The last rank cannot keep its units: everybody ends with an error that names it."""
    if COMM.rank == COMM.size - 1:
        os.fsync = fails  # type: ignore[assignment]
    try:
        el.cluster.einsum(NETWORK[0], *network_operands(), comm=COMM, memory_limit=LIMIT, checkpoint=folder)
    except el.DeviceError as error:
        report(f"{error}")
    else:
        raise AssertionError("it was not refused")


def fails(descriptor: int) -> None:
    """Take no more, as a full disk."""
    raise OSError(28, "No space left on device")


def checkpoint(folder: str) -> None:
    """Print how many units were computed; the last rank dies in the middle of the first run."""
    f = el.cluster.compile(*NETWORK, memory_limit=LIMIT)
    if not list(Path(folder).glob("died")) and COMM.rank == COMM.size - 1:
        sync, seen = os.fsync, [0]

        def dies(descriptor: int) -> None:
            sync(descriptor)
            seen[0] += 1
            if seen[0] == 10:
                Path(folder, "died").touch()
                os.kill(os.getpid(), signal.SIGKILL)

        os.fsync = dies  # type: ignore[assignment]
    result = f(*network_operands(), comm=COMM, checkpoint=folder)
    assert f.run is not None
    report(f"{f.run.computed} {len(f.run.events)} {hashlib.sha256(result.tobytes()).hexdigest()}")


def report(text: str) -> None:
    """Print from one rank."""
    if COMM.rank == 0:
        print(text, flush=True)


CASES: tuple[Callable[..., None], ...] = (bits, random_expressions, different_operands, failing_rank, checkpoint)

if __name__ == "__main__":
    {case.__name__: case for case in CASES}[sys.argv[1]](*sys.argv[2:])
