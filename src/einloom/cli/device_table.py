"""A row of the paper's table of speed-ups on the device at hand: searches, and how fast the best that they found is.

Each search is a process of its own kind of luck, so several are made; the best leaf of each runs forty times, beside
a reference: cuBLAS through torch where both are there, else the naive kernel, a thread for each element of the output.
That is also the reference of strided products, which cuBLAS does not have.
"""

from __future__ import annotations

import statistics
from dataclasses import asdict
from typing import Any

from einloom.bench.peers.torch_cuda import event_seconds, kernel_call, torch_on
from einloom.cli.leaf import run_leaf
from einloom.frozen import frozen
from einloom.jit.gpu.devices import open_gpu
from einloom.jit.gpu.driver import GpuDriver
from einloom.search.measure import interval
from einloom.space.kernels import Kernel
from einloom.space.on_gpu.experts import naive_leaf
from einloom.tuning import kernel_problem, tune_on_gpu

__all__ = ["HEADER", "DeviceRow", "device_row"]

RUNS = 40

HEADER = (
    "| kernel | searches | mean of their best | 95 % of the median | variation | reference | speed-up |\n"
    "| --- | --- | --- | --- | --- | --- | --- |"
)


@frozen
class DeviceRow:
    """What searches found for a kernel, in seconds.

    Attributes:
        kernel: with its sizes.
        device: where.
        means: of the forty runs of the best leaf of each search.
        low, high: hold the median of those runs.
        variation: standard deviation over mean, of the searches' means.
        reference: what it is compared with; seconds: the mean of its runs.
    """

    kernel: str
    device: str
    means: tuple[float, ...]
    low: float
    high: float
    variation: float
    reference: str
    seconds: float

    @property
    def mean(self) -> float:
        """Of the searches."""
        return statistics.mean(self.means)

    def line(self) -> str:
        """Return the row as Markdown."""
        found = f"{1e6 * self.mean:.4g} us | {1e6 * self.low:.4g} to {1e6 * self.high:.4g} us"
        beside = f"{self.reference}, {1e6 * self.seconds:.4g} us | {self.seconds / self.mean:.3g}x"
        return f"| {self.kernel} | {len(self.means)} | {found} | {100 * self.variation:.2g} % | {beside} |"

    def to_json(self) -> dict[str, Any]:
        """Return the row as a JSON object."""
        return asdict(self) | {"mean": self.mean, "speedup": self.seconds / self.mean}


def device_row(made: Kernel, kind: str, budget: int, searches: int, seed: int) -> DeviceRow:
    """Search some times for a fast leaf of a kernel on a device, and time what was found; no records are kept.

    Raises:
        DeviceError: there is no such device.
        InternalError: a kernel computes something else than its meaning.
    """
    driver = open_gpu(kind)
    found = [tune_on_gpu(made, kind, budget, seed=seed + turn, records=False).best.leaf for turn in range(searches)]
    runs = [run_leaf(leaf, made, driver, RUNS) for leaf in found]
    means = tuple(map(statistics.mean, runs))
    reference, seconds = _reference(made, driver)
    low, high = interval([time for each in runs for time in each])
    variation = statistics.stdev(means) / statistics.mean(means) if searches > 1 else 0.0
    return DeviceRow(made.name, driver.limits.name, means, low, high, variation, reference, seconds)


def _reference(made: Kernel, driver: GpuDriver) -> tuple[str, float]:
    """Return what a kernel is compared with, and the mean seconds that it takes."""
    torch = torch_on(driver)
    call = None if torch is None else kernel_call(torch, made)
    if call is not None:
        return "cuBLAS", statistics.mean(event_seconds(torch, call, RUNS))
    leaf = naive_leaf(made, kernel_problem(made, driver).space.device)
    return "naive", statistics.mean(run_leaf(leaf, made, driver, RUNS))
