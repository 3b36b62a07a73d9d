"""PyTorch on CUDA devices, which calls cuBLAS: what products and kernels on GPUs are held against."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from einloom.jit.gpu.driver import GpuDriver
from einloom.search.on_gpu.work import KernelWork
from einloom.space.kernels import Kernel

__all__ = ["event_seconds", "kernel_call", "torch_on"]

WARM_UP = 3
"""Calls that are not timed: the first ones choose kernels."""


def torch_on(driver: GpuDriver) -> Any:
    """Return torch where it computes on the same kind of device, in float32 without tensor cores; None elsewhere."""
    if driver.kind != "cuda":
        return None
    try:
        torch: Any = import_module("torch")
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    return torch


def event_seconds(torch: Any, call: Callable[[], object], runs: int) -> list[float]:
    """Return how long each of some calls takes on the device."""
    times: list[float] = []
    for _ in range(WARM_UP + runs):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e-3)
    return times[WARM_UP:]


def kernel_call(torch: Any, made: Kernel) -> Callable[[], object] | None:
    """Return what torch does in place of a named kernel; None of strided operands, which it would copy first."""
    if "stride_a" in dict(made.options):
        return None
    work = KernelWork(made)
    values: dict[str, Any] = {name: float(work.given[name][0]) for name in work.backbone.parameters}
    for region in work.backbone.regions:
        sizes = [work.backbone.axis[axis].size for axis in region.axes]
        flat = torch.from_numpy(work.given[region.name]).cuda()
        values[region.name] = flat.as_strided(sizes, region.strides, work.backbone.origin(region))
    if work.backbone.name == "axpy":  # By operators it would be two passes.
        return lambda: torch.add(values["y"], values["x"], alpha=values["alpha"])
    return lambda: made.plain.meaning(values)
