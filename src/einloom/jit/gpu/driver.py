"""What drivers of GPUs have in common: `GpuDriver`, a device that compiles texts, keeps arrays and runs kernels."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from einloom.errors import DeviceError
from einloom.frozen import frozen

__all__ = ["FULL", "LOST", "PROCESSOR", "REFUSED", "GpuDriver", "GpuKernel", "GpuLimits", "Opened", "is_chosen"]

Array = np.ndarray[Any, Any]
T = TypeVar("T")

PROCESSOR = "processor"
"""The architecture of what emulates a GPU."""


@frozen
class GpuLimits:
    """What a device can hold and do, as its driver says; the last three are 0 where it does not.

    Attributes:
        name: the device's own.
        threads: of one block.
        extents: largest extent of a block along each dimension, innermost first.
        shared_bytes: shared memory of one block.
        memory_bytes: the device's memory.
        computes_float64: whether it has 64-bit floats.
        architecture: NVIDIA's, as in `sm_90`; `PROCESSOR` of what emulates a GPU there; empty of others.
        processors: multiprocessors, or whatever runs a block.
        clock: of the processors, in Hz: a typical one, which graphics cards exceed.
        memory_bandwidth: bytes per second.
        l2_bytes: what L2 holds.
    """

    name: str
    threads: int
    extents: tuple[int, ...]
    shared_bytes: int
    memory_bytes: int
    computes_float64: bool
    architecture: str = ""
    processors: int = 1
    clock: float = 0
    memory_bandwidth: float = 0
    l2_bytes: int = 0


FULL = "Free arrays that lie there, or contract in parts."
LOST = "A device that was lost, or its queue, takes a new process: what it held is gone."
REFUSED = "The text is einloom's: report it with the device and its driver, and compute with target='cpu'."
"""What to do when there is no memory left, when work is not done, and when a program is not taken."""


@frozen
class Opened:
    """Who has opened a device: what it is asked in another process is not passed on.

    Attributes:
        name: of the device; refusal: what its package raises; process: which has opened it.
    """

    name: str
    refusal: type[Exception]
    process: int

    def ask(self, question: Callable[[], T], what: str, advice: str = LOST) -> T:
        """Return what the device's package answers.

        Raises:
            DeviceError: it refuses, or the process was forked since: the driver's threads are not in the child, which
                would wait for ever.
        """
        if os.getpid() != self.process:
            raise DeviceError(
                f"{self.name} could not {what}: it was opened before this process was forked\n"
                "  Start processes with multiprocessing's spawn or forkserver."
            )
        try:
            return question()
        except self.refusal as error:
            raise DeviceError(f"{self.name} could not {what}: {error}\n  {advice}") from None


class GpuKernel(Protocol):
    """A compiled kernel.

    Attributes:
        program: what `GpuDriver.load` makes it from again; None where the driver keeps what it compiled by itself.
    """

    @property
    def program(self) -> bytes | None:
        """What `GpuDriver.load` makes it from again."""
        ...

    def start(
        self, grid: tuple[int, ...], block: tuple[int, ...], arguments: Sequence[object], after: Sequence[object] = ()
    ) -> object:
        """Run it on blocks of threads (innermost dimension first); arguments are the device's arrays and numbers.

        `after` are the device's own events, of others' work, that it waits for.
        """
        ...


class GpuDriver(Protocol):
    """A device. Work is done in the order of the calls; only `download`, `seconds` and `wait` wait for it.

    Attributes:
        kind: `opencl` or `cuda`, as the language of its kernels.
        limits: what it can hold and do.
        identity: what programs that were compiled for it depend on: the device, its driver, their versions.
        stream: CUDA's handle of the stream that kernels run on; 0 in OpenCL.
    """

    kind: str
    limits: GpuLimits
    identity: str
    stream: int

    def build(self, text: str, name: str) -> GpuKernel:
        """Compile a text and return the kernel of a name in it."""
        ...

    def load(self, program: bytes, name: str) -> GpuKernel:
        """Return the kernel of a name in a program that was compiled before."""
        ...

    def allocate(self, size: int) -> object:
        """Return so many bytes of the device's memory; they are free again when nothing refers to them."""
        ...

    def upload(self, array: Array) -> object:
        """Return a copy of a contiguous array in the device's memory."""
        ...

    def download(self, source: object, array: Array) -> None:
        """Fill a contiguous array from the device's memory."""
        ...

    def copy(self, memory: object, start: int, size: int) -> object:
        """Return a copy of bytes of the device's memory, from `start` on."""
        ...

    def at(self, memory: object, start: int) -> tuple[object, int]:
        """Return a kernel's argument for memory that counts from byte `start` on, and how far in that still lies."""
        ...

    def after(self, queues: Sequence[object]) -> Sequence[object]:
        """Return what kernels have to wait for that read what others compute on queues of theirs."""
        ...

    def before(self, queues: Sequence[object], run: object) -> None:
        """Let what others start from now on, on queues of theirs, wait for a run."""
        ...

    def seconds(self, run: object) -> float:
        """Return how long a run took on the device."""
        ...

    def wait(self) -> None:
        """Wait until everything that was started is done."""
        ...


def is_chosen(choice: str, number: int, name: str) -> bool:
    """Whether a device, by its number among all and its name, is what `EINLOOM_GPU` asks for."""
    return choice in ("", str(number)) or (not choice.isdigit() and choice.lower() in name.lower())
