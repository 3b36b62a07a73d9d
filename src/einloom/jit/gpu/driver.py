"""What drivers of GPUs have in common: `GpuDriver`, a device that compiles texts, keeps arrays and runs kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

__all__ = ["GpuDriver", "GpuKernel", "GpuLimits", "is_chosen"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class GpuLimits:
    """What a device can hold and do, as its driver says.

    Attributes:
        name: the device's own.
        threads: of one block.
        extents: largest extent of a block along each dimension, innermost first.
        shared_bytes: shared memory of one block.
        memory_bytes: the device's memory.
        computes_float64: whether it has 64-bit floats.
    """

    name: str
    threads: int
    extents: tuple[int, ...]
    shared_bytes: int
    memory_bytes: int
    computes_float64: bool


class GpuKernel(Protocol):
    """A compiled kernel."""

    def start(self, grid: tuple[int, ...], block: tuple[int, ...], arguments: Sequence[object]) -> object:
        """Run it on blocks of threads (innermost dimension first); arguments are the device's arrays and numbers."""
        ...


class GpuDriver(Protocol):
    """A device. Work is done in the order of the calls; only `download` and `seconds` wait for it."""

    kind: str
    limits: GpuLimits

    def build(self, text: str, name: str) -> GpuKernel:
        """Compile a text and return the kernel of a name in it."""
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

    def seconds(self, run: object) -> float:
        """Return how long a run took on the device."""
        ...


def is_chosen(choice: str, number: int, name: str) -> bool:
    """Whether a device, by its number among all and its name, is what `EINLOOM_GPU` asks for."""
    return choice in ("", str(number)) or (not choice.isdigit() and choice.lower() in name.lower())
