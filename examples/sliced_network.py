"""Contract a network of 2^40 floating-point operations in slices on a cluster of this machine, with progress.

    pip install 'einloom[cluster]'
    python examples/sliced_network.py [LOG2_FLOP [FOLDER]]

Three tensors of 0.7 GB in all; the intermediate tensor of the whole would have 2^25 elements, that of a slice has 2^20.
It takes less than a minute on two cores; LOG2_FLOP is 40 or 31. With FOLDER, finished units are kept there: interrupt
it, and start it again.
"""

from __future__ import annotations

import sys

import dask
import distributed
import numpy as np

import einloom as el

QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}
"""Dask's own clocks stand back: they share the cores with the workers."""

EQUATION = "abxy,xyuv,uvcd->abcd"


def shapes(log2_flop: int) -> list[tuple[int, ...]]:
    """Return the shapes of a network with so much arithmetic, half of it in either step."""
    a, x, u, c = (12, 13, 13, 13) if log2_flop >= 40 else (9, 10, 10, 10)
    split = {n: (2 ** (n // 2), 2 ** (n - n // 2)) for n in (a, x, u, c)}
    return [split[a] + split[x], split[x] + split[u], split[u] + split[c]]


def main(log2_flop: int = 40, folder: str | None = None) -> None:
    """Plan the contraction, compute it on two workers, and say who did what."""
    given = shapes(log2_flop)
    limit = 2 ** (log2_flop // 2)
    print(el.cluster.plan(EQUATION, given, workers=(1, 2, 16, 256), memory_limit=limit, dtype="float32").table())
    numbers = np.random.default_rng(1)
    operands = [numbers.standard_normal(shape, np.float32) for shape in given]
    network = el.cluster.compile(EQUATION, *operands, memory_limit=limit)
    with (
        dask.config.set(QUIET),
        distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client,
    ):
        result = network(*operands, client=client, checkpoint=folder, progress=True)
    assert network.run is not None
    print(network.run.table())
    print(f"norm of the result: {np.linalg.norm(result):.6g}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:3])
