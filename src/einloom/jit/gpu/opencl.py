"""OpenCL devices, through `pyopencl`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from einloom.errors import DeviceError
from einloom.jit.gpu.driver import Array, GpuLimits, is_chosen

__all__ = ["OpenclDevice", "OpenclKernel", "open_opencl"]

T = TypeVar("T")


def open_opencl(choice: str) -> OpenclDevice:
    """Return a device by its number among all, or by a part of its name; the first GPU, else the first, if empty.

    Raises:
        DeviceError: `pyopencl`, a platform or such a device is missing.
    """
    try:
        cl: Any = import_module("pyopencl")
    except ImportError as error:
        raise DeviceError(
            f"OpenCL needs pyopencl, which cannot be imported: {error}\n  pip install 'einloom[opencl]'"
        ) from None
    try:
        devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except cl.Error as error:
        raise DeviceError(
            f"OpenCL finds no platform: {error}\n  Install the driver of your GPU, or PoCL for this processor."
        ) from None
    devices.sort(key=lambda device: not device.type & cl.device_type.GPU)
    found = [each for n, each in enumerate(devices) if is_chosen(choice, n, each.name)]
    if not found:
        names = ", ".join(f"{n}: {device.name.strip()}" for n, device in enumerate(devices)) or "none"
        raise DeviceError(f"EINLOOM_GPU={choice} is no OpenCL device\n  Devices: {names}.")
    return OpenclDevice(cl, found[0])


class OpenclDevice:
    """One device with a context, a queue and a pool of memory of its own. See `einloom.jit.gpu.driver.GpuDriver`."""

    kind = "opencl"

    def __init__(self, cl: Any, device: Any) -> None:
        self.cl, self.device = cl, device
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self.pool = cl.tools.MemoryPool(cl.tools.ImmediateAllocator(self.queue))
        self.limits = GpuLimits(
            device.name.strip(),
            device.max_work_group_size,
            tuple(device.max_work_item_sizes),
            device.local_mem_size,
            device.global_mem_size,
            "cl_khr_fp64" in device.extensions.split(),
        )

    def build(self, text: str, name: str) -> OpenclKernel:
        """Compile a text.

        Raises:
            DeviceError: the device's compiler refuses it; the message has its words.
        """
        program = self._asked(lambda: self.cl.Program(self.context, text).build(), f"compile {name}")
        return OpenclKernel(self, getattr(program, name))

    def allocate(self, size: int) -> Any:
        """Return so many bytes of the device's memory.

        Raises:
            DeviceError: there is not enough.
        """
        return self._asked(lambda: self.pool.allocate(max(size, 1)), f"allocate {size} bytes")

    def upload(self, array: Array) -> Any:
        """Return a copy of a contiguous array."""
        buffer = self.allocate(array.nbytes)
        self._asked(lambda: self.cl.enqueue_copy(self.queue, buffer, array, is_blocking=True), "copy to the device")
        return buffer

    def download(self, source: Any, array: Array) -> None:
        """Fill a contiguous array, after everything that was started."""
        self._asked(lambda: self.cl.enqueue_copy(self.queue, array, source, is_blocking=True), "copy from the device")

    def seconds(self, run: Any) -> float:
        """Return how long a run took on the device."""
        run.wait()
        return (run.profile.end - run.profile.start) * 1e-9

    def _asked(self, ask: Callable[[], T], what: str) -> T:
        try:
            return ask()
        except self.cl.Error as error:
            raise DeviceError(f"{self.limits.name} could not {what}: {error}") from None


class OpenclKernel:
    """A compiled kernel of a device."""

    def __init__(self, device: OpenclDevice, kernel: Any) -> None:
        self.device, self.kernel = device, kernel
        self._lock = Lock()  # A kernel's arguments are set one by one.

    def start(self, grid: tuple[int, ...], block: tuple[int, ...], arguments: Sequence[Any]) -> Any:
        """Run the kernel on blocks of threads, innermost dimension first; the event tells when it is done.

        Raises:
            DeviceError: the device refuses.
        """
        blocks, threads = (tuple(extents) + (1,) * (3 - len(extents)) for extents in (grid, block))
        items = tuple(np.multiply(blocks, threads).tolist())
        with self._lock:
            return self.device._asked(
                lambda: self.kernel(self.device.queue, items, threads, *arguments), f"run {self.kernel.function_name}"
            )
