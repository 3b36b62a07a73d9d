"""`open_gpu("opencl")` and `open_gpu("cuda")`: a device of a kind, opened once in a process."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from typing import Any

from einloom.errors import DeviceError
from einloom.jit.gpu.cuda import open_cuda, open_cuda_number
from einloom.jit.gpu.driver import GpuDriver
from einloom.jit.gpu.opencl import open_context, open_opencl
from einloom.once import OnceTable

__all__ = ["GPU_KINDS", "open_gpu", "open_home"]

GPU_KINDS: dict[str, Callable[[str], GpuDriver]] = {"opencl": open_opencl, "cuda": open_cuda}
"""Kinds of drivers, by the language of their kernels."""

_OPENED: OnceTable[GpuDriver] = OnceTable(16)


def open_gpu(kind: str) -> GpuDriver:
    """Return the first device of a kind, of `gpu` CUDA's if there is one, else OpenCL's.

    `EINLOOM_GPU`, a number or a part of a name, chooses another one.

    Raises:
        DeviceError: its package, its driver or a device is missing.
    """
    choice = os.environ.get("EINLOOM_GPU", "")
    return _OPENED.get((kind, choice), lambda: _open(kind, choice))


HOMES: dict[str, Callable[[Any], GpuDriver]] = {"opencl": open_context, "cuda": open_cuda_number}
"""What opens the device that arrays lie on, by kind: from OpenCL's context, from CUDA's number."""


def open_home(kind: str, place: Hashable) -> GpuDriver:
    """Return the device that arrays lie on: OpenCL's by its context, CUDA's by its number.

    Raises:
        DeviceError: its package or its driver is missing, or a context has several devices.
    """
    return _OPENED.get((kind, place), lambda: HOMES[kind](place))


def _open(kind: str, choice: str) -> GpuDriver:
    if kind == "gpu":
        return _either(choice)
    if kind not in GPU_KINDS:
        raise DeviceError(f"there are no devices of kind {kind!r}\n  Kinds: {', '.join(GPU_KINDS)}.")
    return GPU_KINDS[kind](choice)


def _either(choice: str) -> GpuDriver:
    try:
        return open_cuda(choice)
    except DeviceError as cuda:
        try:
            return open_opencl(choice)
        except DeviceError as opencl:
            raise DeviceError(f"there is no GPU\n  {opencl}\n  {cuda}") from None
