"""`device_of`: what a space needs to know of a device that a driver has opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from einloom.dtypes import DType
from einloom.jit.gpu.driver import GpuLimits
from einloom.space.device import GpuDevice
from einloom.space.rates import H200_RATES, GpuRates

__all__ = ["device_of"]


MOST_THREADS = 1024
"""Threads of a block that spaces know; processors that emulate GPUs would take more, and gain nothing by them."""


def _rates(limits: GpuLimits) -> GpuRates:
    """Return the rates of an H200 with as many processors as the device has: what is shared shrinks with them."""
    share = limits.processors / H200_RATES.processors
    bandwidth, l2 = share * H200_RATES.memory_bandwidth, share * H200_RATES.l2_bytes
    return replace(H200_RATES, processors=limits.processors, memory_bandwidth=bandwidth, l2_bytes=l2)


MMA_SINCE = 80
"""Ten times the compute capability from which on warps multiply fragments of 16-bit floats by 16 at a time."""


def _has_tensor_cores(architecture: str) -> bool:
    number = architecture.removeprefix("sm_")
    return number.isdigit() and int(number) >= MMA_SINCE


def device_of(limits: GpuLimits, types: Sequence[DType], aligned: bool = True) -> GpuDevice:
    """Return the device for elements of some types.

    Arrays that begin anywhere take no vectors, and processors none: they make vectors of neighbouring threads.
    """
    emulated = limits.architecture == "processor"
    device = GpuDevice(
        limits.name,
        max_threads=min(limits.threads, MOST_THREADS),
        max_thread_extents=tuple(min(each, MOST_THREADS) for each in limits.extents),
        shared_bytes=limits.shared_bytes,
        rates=_rates(limits),
        tensor_cores=_has_tensor_cores(limits.architecture),
        emulated=emulated,
    ).of(*types)
    return device if aligned and not emulated else replace(device, vector_widths=())
