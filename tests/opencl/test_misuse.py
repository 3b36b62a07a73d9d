"""Misuse of devices and their arrays: an error of einloom's says what is wrong, and the next call computes again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.errors import DeviceError
from einloom.expression.on_gpu import steps
from einloom.jit.gpu.devices import open_gpu
from einloom.jit.gpu.opencl import OpenclDevice, open_context
from einloom.space.kernels import kernel
from einloom.tuning import kernel_problem

try:
    DEVICE = open_gpu("opencl")
except DeviceError as error:
    pytest.skip(f"no OpenCL device: {error}", allow_module_level=True)

import pyopencl as cl
import pyopencl.array as cla

assert isinstance(DEVICE, OpenclDevice)
CONTEXT = cl.Context([DEVICE.device])
QUEUE = cl.CommandQueue(CONTEXT)
OTHER = cl.CommandQueue(cl.Context([DEVICE.device]))
HOST = np.ones((4, 4), np.float32)
HUGE = np.broadcast_to(np.float32(1), (2**20, 2**20))


def product(*operands: object, **options: Any) -> object:
    return el.einsum("ij,jk->ik", *operands, target="opencl", **options)


def tune_empty() -> object:
    return el.tune("ij,jk->ik", (9, 0), (0, 7), dtype="float32", target="opencl", budget=1, progress=False)


def kernel_of_many(patch: pytest.MonkeyPatch) -> object:
    return kernel_problem(kernel("matmul", m=100_000, n=100_000, k=100_000), DEVICE)


def chain(**options: Any) -> object:
    return el.einsum("ij,jk,kl->il", HOST, HOST, HOST, target="opencl", **options)


def there(queue: cl.CommandQueue = QUEUE, dtype: str = "f4") -> cla.Array:
    return cla.to_device(queue, HOST.astype(dtype))


def no_such_device(name: str) -> Callable[[pytest.MonkeyPatch], object]:
    def run(patch: pytest.MonkeyPatch) -> object:
        patch.setenv("EINLOOM_GPU", name)
        return product(HOST, HOST)

    return run


def without_float64(patch: pytest.MonkeyPatch) -> object:
    patch.setattr(DEVICE, "limits", replace(DEVICE.limits, computes_float64=False))
    steps.forget_steps()
    el.clear_cache()
    return product(HOST.astype("f8"), HOST.astype("f8"))


def queue_that_is_gone(patch: pytest.MonkeyPatch) -> object:
    def refuse(queue: cl.CommandQueue) -> object:
        raise cl.LogicError("clEnqueueMarkerWithWaitList failed: INVALID_COMMAND_QUEUE")

    patch.setattr(cl, "enqueue_marker", refuse)
    return product(there(), there())


def out_of_memory(patch: pytest.MonkeyPatch) -> object:
    vector = cla.zeros(QUEUE, 2**19, np.float32)
    return el.einsum("a,b->ab", vector, vector, target="opencl")


def crooked_offset(patch: pytest.MonkeyPatch) -> object:
    buffer = cl.Buffer(CONTEXT, cl.mem_flags.READ_WRITE, 128)
    return product(cla.Array(QUEUE, (4, 4), np.float32, data=buffer, offset=2), there())


def beyond_its_buffer(offset: int, *strides: int) -> Callable[[pytest.MonkeyPatch], object]:
    def run(patch: pytest.MonkeyPatch) -> object:
        buffer = cl.Buffer(CONTEXT, cl.mem_flags.READ_WRITE, 64)
        return product(there(), there(), out=cla.Array(QUEUE, (4, 4), np.float32, "C", None, buffer, offset, strides))

    return run


def in_buffer(flag: int, name: str) -> Callable[[pytest.MonkeyPatch], object]:
    def run(patch: pytest.MonkeyPatch) -> object:
        array = cla.Array(QUEUE, (4, 4), np.float32, data=cl.Buffer(CONTEXT, flag, 64))
        return product(there(), there(), out=array) if name == "out" else product(there(), array)

    return run


def written_twice(patch: pytest.MonkeyPatch) -> object:
    out = cla.Array(QUEUE, (4, 4), np.float32, strides=(0, 4), data=there().base_data)
    return product(there(), there(), out=out)


def lost_device(patch: pytest.MonkeyPatch) -> object:
    def refuse(*_: object, **__: object) -> object:
        raise cl.LogicError("clEnqueueNDRangeKernel failed: DEVICE_NOT_AVAILABLE")

    patch.setattr(cl.Kernel, "__call__", refuse)
    return product(HOST, HOST)


def several_devices(patch: pytest.MonkeyPatch) -> object:
    return open_context(SimpleNamespace(devices=[*CONTEXT.devices, *CONTEXT.devices]))


def overlapping(patch: pytest.MonkeyPatch) -> object:
    a = there()
    return product(a, there(), out=a)


MISUSE: dict[str, tuple[Callable[[pytest.MonkeyPatch], object], type[Exception], str]] = {
    "no device of a name": (no_such_device("none such"), DeviceError, "EINLOOM_GPU=none such is no OpenCL device"),
    "no device of a number": (no_such_device("7"), DeviceError, "EINLOOM_GPU=7 is no OpenCL device\n  Devices: 0:"),
    "no driver of CUDA": (lambda _: el.einsum("i->", HOST[0], target="cuda"), DeviceError, "CUDA"),
    "no 64-bit floats": (without_float64, DeviceError, "has no 64-bit floats\n  Compute in float32"),
    "a type of its own": (lambda _: product(HOST.astype("u1"), HOST.astype("u1")), el.DTypeError, "not in uint8"),
    "two contexts": (lambda _: product(there(), there(OTHER)), DeviceError, "operand 1 lies on another device"),
    "NumPy beside a device": (lambda _: product(there(), HOST), DeviceError, "operand 1 lies in main memory"),
    "out elsewhere": (lambda _: product(HOST, HOST, out=there()), DeviceError, "out lies on a device"),
    "out in main memory": (lambda _: product(there(), there(), out=HOST.copy()), DeviceError, "out lies in main"),
    "two types": (lambda _: product(there(), there(dtype="i4")), el.DTypeError, "operand 1 has type int32"),
    "another dtype": (lambda _: product(there(), there(), dtype="f8"), el.DTypeError, "Convert them there"),
    "conversions": (lambda _: product(there(), there(), order="F"), el.UnsupportedTarget, "order="),
    "other shapes": (lambda _: product(there(), there().reshape(2, 8)), el.ShapeError, "two extents"),
    "no target": (lambda _: el.einsum("ij->i", there()), el.DTypeError, "target='opencl', or pass its get"),
    "overlap": (overlapping, el.OverlapError, "out shares memory with operand 0"),
    "elements written twice": (written_twice, el.StrideError, "elements of out share memory"),
    "elements between multiples": (crooked_offset, el.StrideError, "operand 0 is not aligned"),
    "an array behind its buffer": (beyond_its_buffer(4, 16, 4), el.StrideError, "out reaches from byte 4 to 68 of a"),
    "an array before its buffer": (beyond_its_buffer(0, -16, 4), el.StrideError, "out reaches from byte -48 to 16"),
    "a result to be read": (in_buffer(cl.mem_flags.READ_ONLY, "out"), el.StrideError, "must not write"),
    "an operand to be written": (in_buffer(cl.mem_flags.WRITE_ONLY, "in"), el.StrideError, "must not read"),
    "a queue that is gone": (queue_that_is_gone, DeviceError, "could not wait for another queue"),
    "no memory for a result": (out_of_memory, DeviceError, "makes no array of shape"),
    "no memory for a copy": (lambda _: el.einsum("ij->i", HUGE, target="opencl"), DeviceError, "take 4398 GB"),
    "no number of threads": (lambda _: product(HOST, HOST, threads=0), el.ArgumentError, "threads=… is 0"),
    "no memory on the device": (lambda _: DEVICE.allocate(1 << 60), DeviceError, "could not allocate"),
    "a device that is lost": (lost_device, DeviceError, "could not run"),
    "slices of a limit": (lambda _: chain(optimize=("greedy", 4)), el.UnsupportedTarget, "cuts the contraction"),
    "nothing to tune": (lambda _: tune_empty(), el.ScheduleError, "nothing is computed"),
    "a kernel larger than memory": (kernel_of_many, DeviceError, "the arrays of matmul take 120 GB"),
    "several devices": (several_devices, DeviceError, "context has 2 devices"),
    "a text that is none": (lambda _: DEVICE.build("kernel void f( {", "f"), DeviceError, "could not compile f"),
    "a program that is none": (lambda _: DEVICE.load(b"none", "f"), DeviceError, "could not load"),
}  # fmt: skip


@pytest.mark.parametrize("kind", MISUSE)
def test_misuse_says_what_is_wrong_and_the_process_lives(kind: str, monkeypatch: pytest.MonkeyPatch):
    run, error, message = MISUSE[kind]
    el.clear_cache()  # Else nobody asks what EINLOOM_GPU says.
    with monkeypatch.context() as patch, pytest.raises(error, match=message) as found:
        run(patch)
    assert isinstance(found.value, el.EinloomError)
    assert "\n  " in str(found.value)  # What to do, or where.
    steps.forget_steps()
    el.clear_cache()
    np.testing.assert_array_equal(product(HOST, HOST), HOST @ HOST)


@pytest.mark.parametrize("what", [[], None, "asm"])
def test_words_that_show_nothing_are_named(what: Any):
    compiled = el.compile("ij,jk->ik", (8, 9), (9, 7), target="opencl")
    with pytest.raises(el.ArgumentError, match="There are text, launch, nest, bound"):
        compiled.show(what)


def test_traffic_is_counted_as_on_processors():
    sizes = (8, 9), (9, 7)
    assert el.compile("ij,jk->ik", *sizes, target="opencl").bytes == el.compile("ij,jk->ik", *sizes).bytes
