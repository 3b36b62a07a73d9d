"""NVIDIA's GPUs, through its own `cuda-core`: NVRTC compiles, the driver runs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from io import StringIO
from typing import Any, TypeVar

from einloom.errors import DeviceError
from einloom.frozen import frozen
from einloom.jit.gpu.driver import FULL, LOST, REFUSED, Array, GpuLimits, Opened, is_chosen

__all__ = ["CudaDevice", "CudaKernel", "CudaProgram", "CudaResources", "compile_cuda", "open_cuda", "open_cuda_number"]

T = TypeVar("T")

MISSING = "If it is not installed: pip install 'einloom[cuda]'."

STATIC_SHARED = 48 * 1024
"""Shared memory of a block that arrays in the text may take."""


def open_cuda(choice: str) -> CudaDevice:
    """Return a device by its number among all, or by a part of its name; the first if empty.

    Raises:
        DeviceError: a package, the driver or such a device is missing.
    """
    core = _core()
    try:
        devices = list(core.Device.get_all_devices())
    except Exception as error:  # Each part of the driver that may be missing has an exception of its own.
        raise DeviceError(f"CUDA finds no driver: {error}\n  Install NVIDIA's, or use target='opencl'.") from None
    found = [each for n, each in enumerate(devices) if is_chosen(choice, n, each.name)]
    if not found:
        names = ", ".join(f"{n}: {device.name}" for n, device in enumerate(devices)) or "none"
        raise DeviceError(f"EINLOOM_GPU={choice} is no CUDA device\n  Devices: {names}.")
    return CudaDevice(core, found[0])


def open_cuda_number(number: int) -> CudaDevice:
    """Return the device of a number, which arrays of other libraries lie on.

    Raises:
        DeviceError: a package or the driver is missing.
    """
    core = _core()
    try:
        return CudaDevice(core, core.Device(number))
    except Exception as error:  # Each part of the driver that may be missing has an exception of its own.
        raise DeviceError(
            f"CUDA finds no device {number}: {error}\n  Install NVIDIA's driver, or copy the arrays to main memory."
        ) from None


@frozen
class CudaResources:
    """What a kernel takes, as its compiler says.

    Attributes:
        registers: 32-bit registers of a thread.
        shared_bytes: shared memory of a block.
        spilled_bytes: what a thread stores to and loads from memory for want of registers.
    """

    registers: int
    shared_bytes: int
    spilled_bytes: int


@frozen
class CudaProgram:
    """Machine code for an architecture, as a cubin, and what its kernels take, by name."""

    code: bytes
    kernels: Mapping[str, CudaResources]


def compile_cuda(text: str, architecture: str) -> CudaProgram:
    """Compile a text for an architecture such as `sm_90`; no device and no driver are needed.

    Raises:
        DeviceError: NVRTC is missing, or refuses the text; the message has its words.
    """
    core, log = _core(), StringIO()
    try:
        options = core.ProgramOptions(arch=architecture, std="c++17", name="einloom", ptxas_options="-v")
        code = core.Program(text, "c++", options).compile("cubin", logs=log)
    except Exception as error:
        raise DeviceError(f"NVRTC could not compile for {architecture}: {error}\n  {MISSING} {REFUSED}") from None
    told = re.split(r"Compiling entry function '(\w+)'", log.getvalue())[1:]
    return CudaProgram(bytes(code.code), dict(zip(told[::2], map(_resources, told[1::2]))))


def _resources(log: str) -> CudaResources:
    """Return what the assembler's log says of one kernel."""
    spilled = _told(r"(\d+) bytes spill stores", log) + _told(r"(\d+) bytes spill loads", log)
    return CudaResources(_told(r"Used (\d+) registers", log), _told(r"(\d+) bytes smem", log), spilled)


def _told(pattern: str, log: str) -> int:
    """Return a number that the assembler's log says; what is none is left out there."""
    found = re.search(pattern, log)
    return int(found[1]) if found else 0


def _core() -> Any:
    return _imported("cuda.core")


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise DeviceError(f"CUDA needs cuda-core and cuda-bindings: {error}\n  pip install 'einloom[cuda]'") from None


def _bandwidth(limits: Any) -> float:
    """Return the bytes a second of a device's memory, which moves two words of its bus in a cycle.

    0, not known, of memory that a CPU shares: its clock is the CPU's affair.
    """
    return 0.0 if limits.integrated else 2e3 * limits.memory_clock_rate * limits.global_memory_bus_width / 8


class CudaDevice:
    """One device with a stream of its own. See `einloom.jit.gpu.driver.GpuDriver`."""

    kind = "cuda"

    def __init__(self, core: Any, device: Any) -> None:
        self.core, self.device, self.driver = core, device, _imported("cuda.bindings.driver")
        self._opened = Opened(device.name, Exception, os.getpid())  # Each package below has exceptions of its own.
        self.queue = self._asked(device.create_stream, "open a stream")
        self.stream = int(self.queue.handle)
        limits = device.properties
        extents = (limits.max_block_dim_x, limits.max_block_dim_y, limits.max_block_dim_z)
        memory = self._called("ask for its memory", self.driver.cuMemGetInfo)[1]
        self.limits = GpuLimits(
            device.name, limits.max_threads_per_block, extents, STATIC_SHARED, memory, True, f"sm_{device.arch}",
            limits.multiprocessor_count, 1e3 * limits.clock_rate, _bandwidth(limits), limits.l2_cache_size,
        )  # fmt: skip
        self.identity = f"cuda sm_{device.arch} {core.__version__}"

    def build(self, text: str, name: str) -> CudaKernel:
        """Compile a text and return the kernel of a name in it.

        Raises:
            DeviceError: NVRTC refuses it; the message has its words.
        """
        return self.load(compile_cuda(text, f"sm_{self.device.arch}").code, name)

    def load(self, program: bytes, name: str) -> CudaKernel:
        """Return the kernel of a name in machine code.

        Raises:
            DeviceError: the driver refuses it.
        """
        code = self.core.ObjectCode.from_cubin
        kernel = self._asked(lambda: code(program).get_kernel(name), f"load {name}", REFUSED)
        return CudaKernel(self, kernel, program)

    def allocate(self, size: int) -> Any:
        """Return so many bytes of the device's memory.

        Raises:
            DeviceError: there is not enough.
        """
        ask = lambda: self.device.allocate(max(size, 1), stream=self.queue)  # noqa: E731
        return self._asked(ask, f"allocate {size} bytes", FULL)

    def upload(self, array: Array) -> Any:
        """Return a copy of a contiguous array."""
        buffer = self.allocate(array.nbytes)
        self._copy("to", self.driver.cuMemcpyHtoDAsync, buffer.handle, array.ctypes.data, array.nbytes)
        self.wait()
        return buffer

    def download(self, source: Any, array: Array) -> None:
        """Fill a contiguous array, after everything that was started."""
        self._copy("from", self.driver.cuMemcpyDtoHAsync, array.ctypes.data, source.handle, array.nbytes)
        self.wait()

    def copy(self, memory: Any, start: int, size: int) -> Any:
        """Return a copy of bytes of the device's memory, from `start` on."""
        target = self.allocate(size)
        self._copy("on", self.driver.cuMemcpyDtoDAsync, target.handle, self.at(memory, start)[0], size)
        return target

    def _copy(self, where: str, function: Callable[..., tuple[Any, ...]], *arguments: object) -> None:
        self._called(f"copy {where} the device", function, *arguments, self.queue.handle)

    def at(self, memory: Any, start: int) -> tuple[int, int]:
        """Return the address where an array begins: from a buffer of this device, or another library's address."""
        return (memory if isinstance(memory, int) else int(memory.handle)) + start, 0

    def after(self, queues: Sequence[Any]) -> Sequence[Any]:
        """Return nothing: DLPack lets this device's stream wait for what others have started."""
        return ()

    def before(self, queues: Sequence[Any], run: Any) -> None:
        """Wait for the run: DLPack does not tell on which streams others go on with arrays that they own."""
        self.wait()

    def wait(self) -> None:
        """Wait until everything that was started is done."""
        self._asked(self.queue.sync, "finish what was started")

    def seconds(self, run: Any) -> float:
        """Return how long a run took on the device."""
        begin, end = run
        self._asked(end.sync, "finish a kernel")
        return (end - begin) * 1e-3

    def _called(self, what: str, function: Callable[..., tuple[Any, ...]], *arguments: object) -> tuple[Any, ...]:
        """Return what a function of the driver gives besides its status."""

        def ask() -> tuple[Any, ...]:
            status, *values = function(*arguments)
            if int(status) != 0:
                raise RuntimeError(status)
            return tuple(values)

        return self._asked(ask, what)

    def _asked(self, ask: Callable[[], T], what: str, advice: str = LOST) -> T:
        """Return what the device answers a thread, whichever device that thread asked before."""

        def here() -> T:
            self.device.set_current()
            return ask()

        return self._opened.ask(here, what, advice)


class CudaKernel:
    """A compiled kernel of a device."""

    def __init__(self, device: CudaDevice, kernel: Any, program: bytes) -> None:
        self.device, self.kernel, self.program = device, kernel, program

    def start(
        self, grid: tuple[int, ...], block: tuple[int, ...], arguments: Sequence[Any], after: Sequence[Any] = ()
    ) -> Any:
        """Run the kernel on blocks of threads, innermost dimension first; returns the events around it.

        Work of others that it has to wait for was ordered before its stream by DLPack.

        Raises:
            DeviceError: the device refuses.
        """
        core, stream = self.device.core, self.device.queue
        timed = core.EventOptions(timing_enabled=True)
        config = core.LaunchConfig(grid=grid or 1, block=block or 1)

        def run() -> Any:
            begin = stream.record(options=timed)
            core.launch(stream, config, self.kernel, *arguments)
            return begin, stream.record(options=timed)

        return self.device._asked(run, "run the kernel")
