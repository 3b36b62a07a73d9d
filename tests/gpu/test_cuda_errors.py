"""What NVIDIA's packages raise of a device that fails, or of a forked process, without one: a `DeviceError` each."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from einloom.errors import DeviceError
from einloom.jit.gpu.cuda import CudaDevice, CudaKernel

ARRAY = np.ones(4, np.float32)
LIMITS = SimpleNamespace(
    max_block_dim_x=1024,
    max_block_dim_y=1024,
    max_block_dim_z=64,
    max_threads_per_block=1024,
    multiprocessor_count=132,
    clock_rate=1_980_000,
    memory_clock_rate=2_619_000,
    global_memory_bus_width=5120,
    l2_cache_size=50 * 2**20,
    integrated=False,
)


class LostError(Exception):
    """What the stand-in for `cuda.core` raises."""


class StandIn:
    """A device, its stream, its events and its driver's functions, all of which fail once it is lost."""

    name, arch, properties, handle, __version__ = "a device", "90", LIMITS, 1, "0"

    def __init__(self) -> None:
        self.lost = False
        self.ObjectCode = SimpleNamespace(from_cubin=lambda program: self)

    def do(self, *_: object, **__: object) -> Any:
        if self.lost:
            raise LostError("CUDA_ERROR_ILLEGAL_ADDRESS")
        return self

    set_current = create_stream = allocate = sync = record = launch = get_kernel = do
    EventOptions = LaunchConfig = SimpleNamespace

    def call(self, *_: object) -> tuple[object, ...]:
        return 0, 1 << 30, 1 << 30

    cuMemGetInfo = cuMemcpyHtoDAsync = cuMemcpyDtoHAsync = cuMemcpyDtoDAsync = call


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> tuple[StandIn, CudaDevice]:
    device = StandIn()
    monkeypatch.setattr("einloom.jit.gpu.cuda._imported", lambda name: device)
    return device, CudaDevice(device, device)


CALLS: dict[str, Callable[[CudaDevice, StandIn], object]] = {
    "allocate 4 bytes": lambda device, it: device.allocate(4),
    "load f": lambda device, it: device.load(b"code", "f"),
    "copy from the device": lambda device, it: device.download(it, ARRAY),
    "finish what was started": lambda device, it: device.wait(),
    "finish a kernel": lambda device, it: device.seconds((it, it)),
    "run the kernel": lambda device, it: CudaKernel(device, it, b"code").start((1,), (1,), []),
}


@pytest.mark.parametrize("what", CALLS)
def test_a_device_that_is_lost_says_so(opened: tuple[StandIn, CudaDevice], what: str):
    lost, device = opened
    lost.lost = True
    with pytest.raises(DeviceError, match=f"a device could not {what}: CUDA_ERROR_ILLEGAL_ADDRESS\n  "):
        CALLS[what](device, lost)


@pytest.mark.parametrize("copy", ["upload", "download"])
def test_a_kernel_that_failed_is_told_by_the_copy_behind_it(opened: tuple[StandIn, CudaDevice], copy: str):
    """Copies are enqueued behind it; the stream says what became of it when it is waited for."""
    lost, device = opened
    lost.sync = StandIn.do.__get__(failed := StandIn())
    failed.lost = True
    with pytest.raises(DeviceError, match="not finish what was started: CUDA_ERROR_ILLEGAL_ADDRESS\n  A device"):
        device.upload(ARRAY) if copy == "upload" else device.download(lost, ARRAY)


@pytest.mark.parametrize("what", CALLS)
def test_a_forked_process_is_told_to_be_spawned(
    opened: tuple[StandIn, CudaDevice], what: str, monkeypatch: pytest.MonkeyPatch
):
    stand_in, device = opened
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(DeviceError, match=f"could not {what}: it was opened before this process was forked\n  Start"):
        CALLS[what](device, stand_in)


def test_a_device_that_cannot_be_opened_says_so(monkeypatch: pytest.MonkeyPatch):
    busy = StandIn()
    busy.lost = True
    monkeypatch.setattr("einloom.jit.gpu.cuda._imported", lambda name: busy)
    with pytest.raises(DeviceError, match="a device could not open a stream"):
        CudaDevice(busy, busy)
