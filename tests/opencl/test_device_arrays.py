"""Arrays of `pyopencl` are used where they lie: any strides and offsets, queues of their own, results beside them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.errors import DeviceError
from einloom.jit.gpu.devices import open_gpu
from einloom.jit.gpu.opencl import OpenclDevice

try:
    DEVICE = open_gpu("opencl")
except DeviceError as error:
    pytest.skip(f"no OpenCL device: {error}", allow_module_level=True)

assert isinstance(DEVICE, OpenclDevice)
cl: Any = import_module("pyopencl")
cla: Any = import_module("pyopencl.array")

CONTEXT = cl.Context([DEVICE.device])
QUEUE = cl.CommandQueue(CONTEXT)
GUARD = 32


def on_device(array: np.ndarray, queue: Any = QUEUE) -> Any:
    """A copy on the device with the strides of an array, negative ones included, between guards."""
    low = sum(min((e - 1) * s, 0) for e, s in zip(array.shape, array.strides))
    high = sum(max((e - 1) * s, 0) for e, s in zip(array.shape, array.strides)) + array.itemsize
    size = (high - low) // array.itemsize
    data = np.full(size + 2 * GUARD, 99, array.dtype)
    inner = np.lib.stride_tricks.as_strided(data[GUARD - low // array.itemsize :], array.shape, array.strides)
    inner[...] = array
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=data)
    offset = GUARD * array.itemsize - low
    return cla.Array(queue, array.shape, array.dtype, data=buffer, offset=offset, strides=array.strides)


def elements(array: Any) -> np.ndarray:
    """What an array of the device holds, on its queue."""
    whole = np.empty(array.base_data.size // array.dtype.itemsize, array.dtype)
    cl.enqueue_copy(array.queue, whole, array.base_data, is_blocking=True)
    start = array.offset // array.dtype.itemsize
    return np.lib.stride_tricks.as_strided(whole[start:], array.shape, array.strides)


def holds_guards(array: Any) -> bool:
    whole = np.empty(array.base_data.size // array.dtype.itemsize, array.dtype)
    cl.enqueue_copy(array.queue, whole, array.base_data, is_blocking=True)
    return bool((whole[:GUARD] == 99).all() and (whole[-GUARD:] == 99).all())


def test_results_lie_where_operands_do():
    a, b = np.arange(12, dtype="f4").reshape(3, 4), np.arange(20, dtype="f4").reshape(4, 5)
    result = el.einsum("ij,jk->ik", cla.to_device(QUEUE, a), cla.to_device(QUEUE, b), target="opencl")
    assert isinstance(result, cla.Array) and result.context == CONTEXT and result.queue == QUEUE
    np.testing.assert_array_equal(result.get(), a @ b)
    f = el.compile("ij,jk->ik", cla.to_device(QUEUE, a), cla.to_device(QUEUE, b), target="opencl")
    assert f.dtype == np.float32
    np.testing.assert_array_equal(f(cla.to_device(QUEUE, a), cla.to_device(QUEUE, b)).get(), a @ b)
    np.testing.assert_array_equal(f(a, b), a @ b)
    total = el.einsum("ij->", cla.to_device(QUEUE, a), target="opencl")
    assert total.shape == () and total.get() == a.sum()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64"])
def test_views_are_read_and_written_in_place(dtype: str):
    random = np.random.default_rng(5)
    for _ in range(4):
        base = [random.integers(-3, 4, (10, 14)).astype(dtype) for _ in range(2)]
        a, b = base[0][::-2, 1::2], base[1].T[1:8, ::-1]  # 5 x 7, 7 x 10
        out = np.zeros((5, 20), dtype)[:, ::-2]
        target = on_device(out)
        found = el.einsum("ij,jk->ik", on_device(a), on_device(b), out=target, target="opencl")
        assert found is target and holds_guards(target)
        np.testing.assert_array_equal(elements(target), a @ b)


def test_one_kernel_reads_a_buffer_wherever_arrays_begin_in_it(monkeypatch: pytest.MonkeyPatch):
    built: list[str] = []
    build = OpenclDevice.build

    def counted(device: OpenclDevice, text: str, name: str) -> Any:
        built.append(text)
        return build(device, text, name)

    monkeypatch.setattr(OpenclDevice, "build", counted)
    data = np.arange(96, dtype="f4")
    buffer = cla.to_device(QUEUE, data).base_data
    for offset in (1, 2, 3, 5, 30):
        window = cla.Array(QUEUE, (5, 13), np.float32, data=buffer, offset=4 * offset)
        found = el.einsum("ij->ji", window, target="opencl")
        np.testing.assert_array_equal(found.get(), data[offset : offset + 65].reshape(5, 13).T)
    assert len(built) <= 1 and all("in0 += begin_in0;" in text for text in built)


def test_trees_epilogues_and_sums_into_the_output():
    random = np.random.default_rng(6)
    a, b, c = (random.integers(-3, 4, shape).astype("f4") for shape in ((4, 6), (6, 5), (5, 3)))
    out = np.ones((4, 3), "f4")
    arrays = [on_device(each) for each in (a, b, c)]
    target = on_device(out)
    el.einsum("ab,bc,cd->ad", *arrays, out=target, alpha=2, beta=3, target="opencl")
    np.testing.assert_array_equal(elements(target), 2 * (a @ b @ c) + 3)
    bias = random.integers(-30, 30, 5).astype("f4")
    result = el.einsum("ab,bc->ac", *arrays[:2], on_device(bias), epilogue=(("add", "c"), "relu"), target="opencl")
    np.testing.assert_array_equal(result.get(), np.maximum(a @ b + bias, 0))


def test_what_queues_of_others_do_comes_in_order():
    """Operands are written, and results read, by commands on two queues that nothing but einloom's run connects."""
    queues = [cl.CommandQueue(CONTEXT) for _ in range(2)]
    n = 64
    b = np.eye(n, dtype="f4")
    for turn in range(10):
        x = on_device(np.zeros((n, n), "f4"), queues[0])
        y = on_device(b, queues[1])
        a = np.full(x.base_data.size // 4, turn, "f4")
        cl.enqueue_copy(queues[0], x.base_data, a, is_blocking=False)
        result = el.einsum("ij,jk->ik", x, y, target="opencl")
        found = np.empty((n, n), "f4")
        cl.enqueue_copy(queues[0], found, result.base_data, is_blocking=True)
        assert (found == turn).all()


def test_parts_of_buffers_overlap_in_the_whole():
    align = CONTEXT.devices[0].mem_base_addr_align // 8
    whole = cl.Buffer(CONTEXT, cl.mem_flags.READ_WRITE, 4 * align)
    first, second = whole[: 2 * align], whole[align : 3 * align]
    x = cla.Array(QUEUE, (align // 4,), np.float32, data=first, offset=align)
    y = cla.Array(QUEUE, (align // 4,), np.float32, data=second)
    with pytest.raises(el.OverlapError, match="out shares memory with operand 0"):
        el.einsum("i->i", x, out=y, target="opencl")
    z = cla.Array(QUEUE, (align // 4,), np.float32, data=second, offset=align)
    x.fill(7)
    np.testing.assert_array_equal(el.einsum("i->i", x, out=z, target="opencl").get(), np.full(align // 4, 7))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [("ij,jk->ik", [(0, 2), (2, 3)]), ("ij,jk->ik", [(2, 0), (0, 3)]), ("ij,jk,kl->", [(2, 3), (3, 0), (0, 4)])],
)
def test_arrays_without_elements(equation: str, shapes: list[tuple[int, ...]]):
    """They have no buffer. Sums of nothing are zeros, and a result of nothing takes no kernel."""
    operands = [np.ones(shape, "f4") for shape in shapes]
    there = [cla.to_device(QUEUE, each) for each in operands]
    expected = np.einsum(equation, *operands)
    np.testing.assert_array_equal(el.einsum(equation, *there, target="opencl").get(), expected)
    np.testing.assert_array_equal(el.einsum(equation, *operands, target="opencl"), expected)
    out = cla.to_device(QUEUE, np.full(expected.shape, 3, "f4"))
    el.einsum(equation, *there, out=out, beta=2, target="opencl")
    assert (out.get() == 6).all()
    compiled = el.compile(equation, *shapes, dtype="float32", target="opencl")
    assert ("kernel" in compiled.show()) == (expected.size > 0)
