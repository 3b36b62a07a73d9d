"""`device_of`: what a space needs to know of a device that a driver has opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from einloom.dtypes import DType
from einloom.ir.gpu.fragments import WARP
from einloom.jit.gpu.driver import PROCESSOR, GpuLimits
from einloom.jit.host import host
from einloom.space.device import GpuDevice
from einloom.space.on_cpu.rates import FASTEST_CLOCK, cpu_rates
from einloom.space.rates import GpuRates, gpu_rates

__all__ = ["device_of"]


MOST_THREADS = 1024
"""Threads of a block that spaces know; processors that emulate GPUs would take more, and gain nothing by them."""


MANY = 2**40
"""What emulated threads never run out of: a processor keeps them in its memory."""


def _emulated_rates(limits: GpuLimits) -> GpuRates:
    """Return what bounds kernels on a processor: its multiply-adds, as measured where they were, and its memory.

    Nothing else does: its compiler computes once what threads repeat, and keeps in registers what they load again.
    """
    machine = host()
    best = cpu_rates(machine)
    words = machine.vector_bits / 32
    return GpuRates(
        clock=FASTEST_CLOCK,
        processors=limits.processors,
        issue=inf,
        warp_issue=inf,
        arithmetic_lanes=best.fmas * words / FASTEST_CLOCK,
        memory_lanes=inf,
        shared_words=inf,
        l2_bytes=inf,
        memory_bandwidth=best.memory * limits.processors,
        l2_capacity=machine.l3 + limits.processors * machine.l2,
        max_warps=MANY,
        max_blocks=MANY,
        registers=MANY,
        shared_capacity=MANY,
        arithmetic_latency=0,
        shared_latency=0,
        cached_latency=0,
        l2_latency=0,
    )


TELL_HIGHEST_CLOCK = ("sm_80", "sm_90")
"""Architectures whose drivers give the highest clock. CUDA calls what it gives the typical one: graphics cards run
faster, by a tenth (an RTX 3090 of 1,695 MHz at 1,980) or by half (in laptops)."""


def _rates(limits: GpuLimits) -> GpuRates:
    """Return what no kernel on a device exceeds, by what its driver tells of it."""
    clock = limits.clock if limits.architecture in TELL_HIGHEST_CLOCK else 0
    return gpu_rates(limits.architecture, limits.processors, clock, limits.memory_bandwidth, limits.l2_bytes)


MMA_SINCE = 80
"""Ten times the compute capability from which on warps multiply fragments of 16-bit floats by 16 at a time."""


def _has_tensor_cores(architecture: str) -> bool:
    number = architecture.removeprefix("sm_")
    return number.isdigit() and int(number) >= MMA_SINCE


def device_of(limits: GpuLimits, types: Sequence[DType], aligned: bool = True) -> GpuDevice:
    """Return the device for elements of some types.

    Arrays that begin anywhere take no vectors, and processors none: they make vectors of neighbouring threads.
    """
    emulated = limits.architecture == PROCESSOR
    device = GpuDevice(
        limits.name,
        max_threads=min(limits.threads, MOST_THREADS),
        max_thread_extents=tuple(min(each, MOST_THREADS) for each in limits.extents),
        shared_bytes=limits.shared_bytes,
        warp=1 if emulated else WARP,
        rates=_emulated_rates(limits) if emulated else _rates(limits),
        tensor_cores=_has_tensor_cores(limits.architecture),
        aligned=aligned,
        emulated=emulated,
    ).of(*types)
    return device if aligned and not emulated else replace(device, vector_widths=())
