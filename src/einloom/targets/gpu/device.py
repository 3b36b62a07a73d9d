"""`device_of`: what a space needs to know of a device that a driver has opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from einloom.dtypes import DType
from einloom.jit.gpu.driver import GpuLimits
from einloom.space.device import H200, GpuDevice

__all__ = ["device_of"]


def device_of(limits: GpuLimits, types: Sequence[DType], aligned: bool = True) -> GpuDevice:
    """Return the device for elements of some types; arrays that begin anywhere take no vectors."""
    device = GpuDevice(
        limits.name,
        max_threads=limits.threads,
        max_thread_extents=limits.extents,
        shared_bytes=limits.shared_bytes,
        rates=H200.rates,
    ).of(*types)
    return device if aligned else replace(device, vector_widths=())
