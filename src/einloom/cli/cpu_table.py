"""Rows of the paper's Table 2 on the processor at hand: the size of each space, what searches find, and beside NumPy.

Several searches, each with a seed of its own, and without records; the best schedule of each runs forty times in turns
with the others' in a fresh process. NumPy computes the same in a process apart; of the strided product, which no
library does in place, its `einsum` without BLAS is a naive loop in C.
"""

from __future__ import annotations

import statistics
from dataclasses import asdict
from typing import Any

import numpy as np

from einloom.frozen import frozen
from einloom.ir.operation import Operation
from einloom.ir.text import parse_operation
from einloom.jit.host import host
from einloom.jit.timing import timed_calls
from einloom.passes.fuse import fuse
from einloom.passes.pipeline import optimize_operation
from einloom.search.limits import measured_limits
from einloom.search.measure import Measurement, interval, remeasured
from einloom.search.process import Process, answer_requests, private_output, send
from einloom.search.search import Budget
from einloom.search.tune import tune_operation
from einloom.space.on_cpu.space import CpuSpace
from einloom.space.sampling import estimate

__all__ = ["HEADER", "ROWS", "CpuRow", "cpu_row", "serve"]

RUNS, SECONDS = 40, 0.02

HEADER = (
    "| kernel | size | dead ends | searches | mean of the best | 95 % of its median | variation | NumPy | speed-up |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)

_PRODUCT = """gemm first=zero last=none
axis m {m} m
axis n {n} n
axis k {k} k
in0 float32 m={row} k={stride}
in1 float32 k={n} n=1
out float32 m={n} n=1"""


def _product(m: int, n: int, k: int, stride: int = 1) -> str:
    return _PRODUCT.format(m=m, n=n, k=k, stride=stride, row=k * stride)


ROWS = {
    "axpy(n=67108864)": "gemm first=none last=none\naxis n 67108864 m\nin0 float32 n=1\nin1 float32\nout float32 n=1",
    "matmul(m=256, n=256, k=32)": _product(256, 256, 32),
    "matmul(m=1024, n=1024, k=1024)": _product(1024, 1024, 1024),
    "matmul(m=1024, n=1024, k=1024, stride_a=32)": _product(1024, 1024, 1024, 32),
}
"""Operations, by the paper's names."""


@frozen
class CpuRow:
    """What searches found for a kernel, in seconds.

    Attributes:
        kernel: with its sizes.
        size, interval, dead_ends: of its space.
        means: of the forty runs of the best schedule of each search.
        low, high: hold the median of those runs of the fastest search, with about 95 % probability.
        numpy: the least time of NumPy.
        schedules: the best ones.
    """

    kernel: str
    size: float
    interval: tuple[float, float]
    dead_ends: float
    means: tuple[float, ...]
    low: float
    high: float
    numpy: float
    schedules: tuple[str, ...]

    @property
    def mean(self) -> float:
        """Of the searches."""
        return statistics.mean(self.means)

    @property
    def variation(self) -> float:
        """How much slower the worst search's result is than the best one's."""
        return max(self.means) / min(self.means) - 1

    def line(self) -> str:
        """Return the row as Markdown."""
        return (
            f"| {self.kernel} | {self.size:.2g} ({self.interval[0]:.1g} to {self.interval[1]:.1g}) | "
            f"{100 * self.dead_ends:.2g} % | {len(self.means)} | {1e3 * self.mean:.4g} ms | "
            f"{1e3 * self.low:.4g} to {1e3 * self.high:.4g} ms | {100 * self.variation:.2g} % | "
            f"{1e3 * self.numpy:.4g} ms | {self.numpy / self.mean:.3g}x |"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the row as a JSON object."""
        return asdict(self) | {"mean": self.mean, "variation": self.variation, "speedup": self.numpy / self.mean}


def cpu_row(kernel: str, samples: int, budget: int, searches: int, seed: int) -> CpuRow:
    """Estimate the size of a kernel's space, search in it some times, and time what was found, and NumPy.

    Args:
        kernel: a name of `ROWS`.
        samples: descents that estimate the size, by Chen's method.
        budget: evaluations of each search.
        searches: how many.
        seed: of the first one.
    """
    operation, machine = parse_operation(ROWS[kernel]), host()
    heuristic = optimize_operation(operation, machine)[1]
    space = CpuSpace(fuse(operation), machine, (heuristic,))
    size = estimate(space, "chen", samples, seed)
    limits, found = measured_limits(machine), list[str]()
    for turn in range(searches):
        tuned = tune_operation(operation, machine, Budget(evaluations=budget), seed=seed + turn, limits=limits)
        found.append(str(tuned.best.schedule))
    with Measurement(operation, space, heuristic, seconds=SECONDS) as measurement:
        runs = remeasured(measurement, found, RUNS)
    best = min(runs, key=statistics.mean)
    means = tuple(map(statistics.mean, runs))
    return CpuRow(
        kernel, size.size, size.interval, size.dead_ends, means, *interval(best), _numpy(kernel), tuple(found)
    )


def _numpy(kernel: str) -> float:
    """Return NumPy's least time for a kernel, in a process of its own."""
    with Process("the process of NumPy", "from einloom.cli.cpu_table import serve\nserve()\n") as process:
        process.start_up()
        process.ask("prepare", kernel=kernel)
        return process.ask("evaluate", 600.0)["seconds"]


def serve() -> None:
    """Answer requests about NumPy until standard input ends."""
    answers = private_output()
    send(answers, {"numpy": np.__version__})
    answer_requests(answers, lambda request: (_timed(**request), {"status": "ok"}))


def _timed(kernel: str) -> Any:
    """Return what times NumPy's way to do a kernel."""
    operation = parse_operation(ROWS[kernel])
    arrays = [_array(operation, place) for place in range(len(operation.operands))]

    def axpy() -> None:
        np.multiply(arrays[0], arrays[1], out=spare)
        np.add(arrays[2], spare, out=arrays[2])

    def naive() -> None:
        np.einsum("mk,kn->mn", *arrays[:2], out=arrays[2], optimize=False)

    def product() -> None:
        np.matmul(*arrays[:2], out=arrays[2])

    spare = np.empty_like(arrays[2])
    call = naive if "stride_a" in kernel else axpy if kernel.startswith("axpy") else product
    return lambda: {"seconds": min(timed_calls(call, 1.0))}


def _array(operation: Operation, place: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """An operand as NumPy holds it: a view with the operation's strides."""
    operand = operation.operands[place]
    kept = [axis for axis in operation.axes if operation.stride(operand, axis.name)]
    kept.sort(key=lambda axis: -operation.stride(operand, axis.name))
    strides = [operation.stride(operand, axis.name) for axis in kept]
    reached = sum((axis.extent - 1) * stride for axis, stride in zip(kept, strides)) + 1
    numbers = np.full(reached, 0.5, np.float32)
    shape, size = [axis.extent for axis in kept], numbers.itemsize
    return np.lib.stride_tricks.as_strided(numbers, shape, [stride * size for stride in strides])
