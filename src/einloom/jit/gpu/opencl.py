"""OpenCL devices, through `pyopencl`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from threading import Lock
from typing import Any

import numpy as np

from einloom.errors import DeviceError
from einloom.jit.gpu.driver import FULL, PROCESSOR, REFUSED, Array, GpuLimits, Opened, is_chosen

__all__ = ["OpenclDevice", "OpenclKernel", "open_context", "open_opencl"]


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
    return OpenclDevice(cl, cl.Context([found[0]]))


def open_context(context: Any) -> OpenclDevice:
    """Return the device of a context that somebody else's arrays lie in.

    Raises:
        DeviceError: it has several.
    """
    if len(context.devices) != 1:
        names = ", ".join(device.name.strip() for device in context.devices)
        raise DeviceError(f"the arrays' context has {len(context.devices)} devices: {names}\n  Make one for each.")
    return OpenclDevice(import_module("pyopencl"), context)


class OpenclDevice:
    """The device of a context, with a queue and a pool of memory. See `einloom.jit.gpu.driver.GpuDriver`."""

    kind, stream = "opencl", 0

    def __init__(self, cl: Any, context: Any) -> None:
        self.cl, self.context, self.device = cl, context, context.devices[0]
        device = self.device
        self._asked = Opened(device.name.strip(), cl.Error, os.getpid()).ask
        self.queue = cl.CommandQueue(self.context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self.pool = cl.tools.MemoryPool(cl.tools.ImmediateAllocator(self.queue))
        # OpenCL has no word for the bandwidth, and what the clock and the cache are is the implementation's choice:
        # Apple's clock is below the real one, NVIDIA's cache is L1. So both stay unknown.
        self.limits = GpuLimits(
            device.name.strip(),
            device.max_work_group_size,
            tuple(device.max_work_item_sizes),
            device.local_mem_size,
            device.global_mem_size,
            "cl_khr_fp64" in device.extensions.split(),
            "" if device.type & cl.device_type.GPU else PROCESSOR,
            device.max_compute_units,
        )
        self.identity = f"opencl {device.platform.version} {device.name.strip()} {device.driver_version}"

    def build(self, text: str, name: str) -> OpenclKernel:
        """Compile a text and return the kernel of a name in it.

        Raises:
            DeviceError: the device's compiler refuses it; the message has its words.
        """
        program = self._asked(
            lambda: self.cl.Program(self.context, text).build(cache_dir=False), f"compile {name}", REFUSED
        )
        return self._kernel(program, name)

    def load(self, program: bytes, name: str) -> OpenclKernel:
        """Return the kernel of a name in a compiled program.

        Raises:
            DeviceError: the driver does not know the program.
        """
        loaded = self._asked(
            lambda: self.cl.Program(self.context, [self.device], [program]).build(),
            f"load the program of {name}",
            REFUSED,
        )
        return self._kernel(loaded, name)

    def _kernel(self, program: Any, name: str) -> OpenclKernel:
        return OpenclKernel(self, program, self._asked(lambda: self.cl.Kernel(program, name), f"find {name}", REFUSED))

    def allocate(self, size: int) -> Any:
        """Return so many bytes of the device's memory.

        Raises:
            DeviceError: there is not enough.
        """
        return self._asked(lambda: self.pool.allocate(max(size, 1)), f"allocate {size} bytes", FULL)

    def upload(self, array: Array) -> Any:
        """Return a copy of a contiguous array."""
        buffer = self.allocate(array.nbytes)
        if array.size:  # OpenCL copies no arrays without elements.
            self._copy(buffer, array, "copy to the device")
        return buffer

    def download(self, source: Any, array: Array) -> None:
        """Fill a contiguous array, after everything that was started."""
        if array.size:
            self._copy(array, source, "copy from the device")

    def _copy(self, target: Any, source: Any, what: str) -> None:
        self._asked(lambda: self.cl.enqueue_copy(self.queue, target, source, is_blocking=True), what)

    def copy(self, memory: Any, start: int, size: int) -> Any:
        """Return a copy of bytes of the device's memory, from `start` on."""
        target, queue = self.allocate(size), self.queue
        ask = lambda: self.cl.enqueue_copy(queue, target, memory, src_offset=start, byte_count=size)  # noqa: E731
        self._asked(ask, "copy on the device")
        return target

    def at(self, memory: Any, start: int) -> tuple[Any, int]:
        """Return the buffer itself: kernels are told where in it an array begins."""
        return memory, start

    def after(self, queues: Sequence[Any]) -> Sequence[Any]:
        """Return markers behind what was enqueued on queues of others.

        Raises:
            DeviceError: a queue is gone.
        """
        return [self._asked(lambda queue=queue: self._marker(queue), "wait for another queue") for queue in queues]

    def _marker(self, queue: Any) -> Any:
        marker = self.cl.enqueue_marker(queue)
        queue.flush()
        return marker

    def before(self, queues: Sequence[Any], run: Any) -> None:
        """Let what is enqueued on queues of others from now on wait for a run."""
        self._asked(self.queue.flush, "start what was enqueued")
        for queue in queues:
            self._asked(lambda queue=queue: self.cl.enqueue_barrier(queue, wait_for=[run]), "hold another queue")

    def seconds(self, run: Any) -> float:
        """Return how long a run took on the device."""
        self._asked(run.wait, "finish a kernel")
        return (run.profile.end - run.profile.start) * 1e-9

    def wait(self) -> None:
        """Wait until everything that was started is done."""
        self._asked(self.queue.finish, "finish what was started")


class OpenclKernel:
    """A compiled kernel of a device."""

    def __init__(self, device: OpenclDevice, built: Any, kernel: Any) -> None:
        self.device, self.built, self.kernel = device, built, kernel
        self._lock = Lock()  # A kernel's arguments are set one by one.

    @property
    def program(self) -> bytes | None:
        """The program that it lies in; None on a processor: PoCL keeps kernels itself, and would compile more here."""
        if self.device.limits.architecture == PROCESSOR:
            return None
        return self.built.get_info(self.device.cl.program_info.BINARIES)[0]

    def start(
        self, grid: tuple[int, ...], block: tuple[int, ...], arguments: Sequence[Any], after: Sequence[Any] = ()
    ) -> Any:
        """Run the kernel on blocks of threads, innermost dimension first; the event tells when it is done.

        Raises:
            DeviceError: the device refuses.
        """
        blocks, threads = (tuple(extents) + (1,) * (3 - len(extents)) for extents in (grid, block))
        items = tuple(np.multiply(blocks, threads).tolist())
        with self._lock:
            return self.device._asked(
                lambda: self.kernel(self.device.queue, items, threads, *arguments, wait_for=list(after)),
                f"run {self.kernel.function_name}",
            )
