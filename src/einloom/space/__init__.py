"""`el.space`: the spaces of implementations of a kernel, and candidates in them.

>>> import einloom.space as space
>>> candidate = space.gpu("axpy", n=64).root.restrict("dim_kind(n.1)", "THREAD")
>>> candidate.domain("thread_level(load_x.n.1, n.1)")
('MAPPED', 'INNER', 'OUTER', 'NOT_THREADS')
"""

from __future__ import annotations

from typing import Any

from einloom.errors import ScheduleError
from einloom.space.builder import Builder
from einloom.space.candidate import Candidate, Space
from einloom.space.device import DEVICES, H100, H200, K4000, GpuDevice
from einloom.space.kernels import KERNELS, Kernel, kernel
from einloom.space.model import Bound, Figure, GpuModel
from einloom.space.rates import H200_RATES, K4000_RATES, GpuRates
from einloom.space.sampling import Estimate, dead_end_ratio, estimate, nodes_at_depth

__all__ = [
    "DEVICES",
    "H100",
    "H200",
    "H200_RATES",
    "K4000",
    "K4000_RATES",
    "KERNELS",
    "Bound",
    "Builder",
    "Candidate",
    "Estimate",
    "Figure",
    "GpuDevice",
    "GpuModel",
    "GpuRates",
    "Kernel",
    "Space",
    "dead_end_ratio",
    "estimate",
    "gpu",
    "nodes_at_depth",
]


def gpu(name: str, /, *, device: GpuDevice | str = K4000, **options: Any) -> Space:
    """Return the space of GPU implementations of a kernel.

    Args:
        name: `axpy` (n), `mv` (m, n), `gesummv` (m, n), `matmul` (m, n, k), `batch_matmul` (b, m, n, k) or
            `doitgen` (r, q, p, s).
        device: the limits of the GPU, or a name of `DEVICES`; the paper's by default.
        options: the kernel's sizes, and for instance `tiles={"m": (32, 4)}` (largest tile sizes, outermost first),
            `tails=True` (tiles that do not divide); `transpose_a`, `transpose_b`, `stride_a`, `epilogue="relu"` of
            matmul; `shared_b` of batch_matmul.

    Raises:
        ScheduleError: there is no such kernel, option or device.
        ShapeError: a size is no positive number.
        DeadEnd: no implementation fits the device.
    """
    found: Any = DEVICES.get(device) if isinstance(device, str) else device
    if not isinstance(found, GpuDevice):
        raise ScheduleError(
            f"there is no GPU called {device!r}\n  known: {', '.join(DEVICES)}, or a GpuDevice of yours"
        )
    return Space(kernel(name, **options), found)
