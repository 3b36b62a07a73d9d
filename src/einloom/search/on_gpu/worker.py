"""The process that runs kernels: takes JSON lines on standard input and answers each with one on standard output.

    {"do": "prepare", "kind": "opencl", "operation": "gemm …", "launch": "launch …"}   {"status": "ok"}
    {"do": "evaluate", "launch": "launch …", "seconds": 0.02, "hopeless": 0.004}       {"status": "ok", "seconds": …}

In place of an operation there may be a kernel's name and its options.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np

from einloom.ir.gpu.launch import Launch
from einloom.ir.gpu.text import read_launch
from einloom.ir.text import parse_operation
from einloom.jit.gpu.devices import open_gpu
from einloom.jit.gpu.driver import GpuDriver, GpuKernel
from einloom.once import OnceTable
from einloom.search.on_gpu.work import KernelWork, OperationWork, Work, arguments_of
from einloom.search.process import Evaluate, answer_requests, private_output, send
from einloom.space.kernels import kernel
from einloom.targets.gpu.dialects import DIALECTS
from einloom.targets.gpu.emulated import fitted_launch
from einloom.targets.gpu.printer import print_launch
from einloom.targets.gpu.sizes import size_values

__all__ = ["Bench", "serve", "work_of"]


def serve() -> None:
    """Answer requests until standard input ends."""
    answers = private_output()
    send(answers, {"ready": True})
    answer_requests(answers, _prepared)


def _prepared(request: dict[str, Any]) -> tuple[Evaluate, dict[str, Any]]:
    bench = Bench(open_gpu(request["kind"]), work_of(request))
    return bench.evaluate, bench.prepare(request["launch"])


def work_of(request: dict[str, Any]) -> Work:
    """Return the arguments of what a request names."""
    if "operation" in request:
        return OperationWork(parse_operation(request["operation"]))
    return KernelWork(kernel(request["kernel"], **request["options"]))


class Bench:
    """A device, and the arguments of a kernel on it.

    Args:
        driver: the device.
        work: the arguments, and what comes of them.
        sizes: whether kernels take sizes as arguments.
    """

    def __init__(self, driver: GpuDriver, work: Work, sizes: bool = False) -> None:
        self.driver, self.work, self.sizes = driver, work, sizes
        self.inputs = {
            region.name: driver.upload(work.given[region.name])
            for region in work.backbone.regions
            if region.role != "output"
        }
        self.expected: dict[str, np.ndarray[Any, Any]] = {}
        self._kernels: OnceTable[GpuKernel] = OnceTable(8)

    def prepare(self, text: str) -> dict[str, Any]:
        """Run a first kernel and compare it with its meaning; what it computes is what others have to."""
        launch = read_launch(text)
        found, _, _ = self._run(launch, self._kernel(launch)[0])
        expected = self.work.expected(found)
        if expected is None:
            return {"status": "wrong", "note": "the first kernel computes something else than the interpreter"}
        self.expected = dict(expected)
        return {"status": "ok"} if self._is_right(found) else {"status": "wrong", "note": "the first kernel is wrong"}

    def evaluate(self, launch: str, seconds: float, hopeless: float) -> dict[str, Any]:
        """Compile a launch, compare what it computes, and time it on the device."""
        parsed = read_launch(launch)
        kernel, code = self._kernel(parsed)
        found, first, arrays = self._run(parsed, kernel)
        if not self._is_right(found):
            return {"status": "wrong", "code": code}
        times, spent = [first], first
        while first <= hopeless and (len(times) < 2 or spent < seconds):
            times.append(self.driver.seconds(self._start(parsed, kernel, arrays)))
            spent += times[-1]
        return {"status": "ok", "seconds": min(times), "code": code}

    def seconds(self, launch: Launch, runs: int) -> list[float]:
        """Return how long each of some runs of a launch takes on the device."""
        kernel, _ = self._kernel(launch)
        _, _, arrays = self._run(launch, kernel)
        return [self.driver.seconds(self._start(launch, kernel, arrays)) for _ in range(runs)]

    def _kernel(self, launch: Launch) -> tuple[GpuKernel, str]:
        """Return the kernel of a launch, the same one where leaves are timed by turns, and the digest of its text."""
        text = print_launch(fitted_launch(launch, self.driver.limits), DIALECTS[self.driver.kind], sizes=self.sizes)
        kernel = self._kernels.get(text, lambda: self.driver.build(text, launch.name))
        return kernel, sha256(text.encode()).hexdigest()[:16]

    def _run(
        self, launch: Launch, kernel: GpuKernel
    ) -> tuple[dict[str, np.ndarray[Any, Any]], float, dict[str, object]]:
        """Run on fresh outputs; return what they hold, the seconds, and the arrays."""
        fresh = {name: self.driver.upload(self.work.given[name]) for name in self.work.outputs}
        arrays = {**self.inputs, **fresh}
        seconds = self.driver.seconds(self._start(launch, kernel, arrays))
        found = {name: self.work.given[name].copy() for name in fresh}
        for name, array in found.items():
            self.driver.download(fresh[name], array)
        return found, seconds, arrays

    def _start(self, launch: Launch, kernel: GpuKernel, arrays: dict[str, object]) -> object:
        grid, block = (tuple(level.extent for level in levels) for levels in (launch.grid, launch.block))
        sizes = size_values(launch) if self.sizes else []
        return kernel.start(grid, block, [*arguments_of(launch, arrays, self.work), *sizes])

    def _is_right(self, found: dict[str, np.ndarray[Any, Any]]) -> bool:
        return all(np.array_equal(found[name], value, equal_nan=True) for name, value in self.expected.items())
