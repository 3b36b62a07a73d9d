"""What every rank of a test runs: `mpiexec -n 4 python -m tests.cluster.live.ranks CASE [FOLDER]`."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def different_options(folder: str) -> None:
    """One rank computes in another type, conjugates, keeps its units elsewhere or nowhere."""
    operands = [each.astype("complex64") for each in network_operands()]
    for mine, theirs in (
        ({"dtype": "complex128"}, {}),
        ({"conj": (0,)}, {}),
        ({"checkpoint": None}, {"checkpoint": folder}),
        ({"checkpoint": f"{folder}/b"}, {"checkpoint": folder}),
    ):
        try:
            given: dict[str, Any] = mine if COMM.rank == 1 else theirs
            el.cluster.einsum(NETWORK[0], *operands, comm=COMM, memory_limit=LIMIT, **given)
        except el.EinloomError as error:
            assert "1" in str(error) and "rank 0" in str(error), error
        else:
            raise AssertionError(f"it was not refused: {mine}")
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


def checkpoint(victim: str, folder: str) -> None:
    """Print how many units were computed; a rank dies in the middle of the first run."""
    f = el.cluster.compile(*NETWORK, memory_limit=LIMIT)
    if not list(Path(folder).glob("died")) and COMM.rank == int(victim):
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


def grids() -> None:
    """Compare the blocks of a product with the whole, for every grid of these ranks."""
    equations = {
        "ik,kj->ij": ((70, 90), (90, 50)),
        "aki,bjk->jbia": ((3, 120, 70), (4, 33, 120)),
        "cik,ckj->cij": ((2, 40, 1100), (2, 1100, 30)),
        " ...k , kj -> ...j ": ((40, 80), (80, 30)),
        "ik,kj": ((40, 80), (80, 30)),
    }
    numbers = np.random.default_rng(1)
    for equation, shapes in equations.items():
        for copies in (each for each in range(1, COMM.size + 1) if COMM.size % each == 0):
            layer = COMM.size // copies
            for rows in (each for each in range(1, layer + 1) if layer % each == 0):
                d = el.cluster.Distribution(equation, *shapes, grid=(rows, layer // rows), copies=copies)
                a, b = (numbers.integers(-3, 4, shape).astype("float64") for shape in shapes)
                blocks = [whole[d.block(i, COMM.rank)] for i, whole in enumerate((a, b))]
                result = el.cluster.einsum(equation, *blocks, comm=COMM, distribution=d)
                expected = np.einsum(equation.strip(), a, b, optimize=True)[d.block(2, COMM.rank)]
                assert np.array_equal(result, expected), (equation, rows, copies)
    report("right")


def wrong_blocks() -> None:
    """One rank passes the block of another."""
    d = el.cluster.Distribution("ik,kj->ij", (9, 9), (9, 9), grid=(COMM.size, 1))
    a = np.ones((9, 9))
    try:
        el.cluster.einsum("ik,kj->ij", a[d.block(0, COMM.rank)], a[: 2 if COMM.rank else 3], comm=COMM, distribution=d)
    except el.EinloomError as error:
        assert "block 1 of rank" in str(error), error
        report("refused")


def report(text: str) -> None:
    """Print from one rank."""
    if COMM.rank == 0:
        print(text, flush=True)


CASES: tuple[Callable[..., None], ...] = (
    bits,
    random_expressions,
    different_operands,
    different_options,
    failing_rank,
    checkpoint,
    grids,
    wrong_blocks,
)

if __name__ == "__main__":
    {case.__name__: case for case in CASES}[sys.argv[1]](*sys.argv[2:])
