"""The reference of kernels on CUDA devices, with a torch that computes in main memory."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from einloom.bench.peers.torch_cuda import event_seconds, kernel_call, torch_on
from einloom.search.on_gpu.work import KernelWork
from einloom.space.kernels import kernel
from tests.gpu.test_device_arrays import Recording


class Tensor(np.ndarray):
    """What is used of torch's tensors."""

    def cuda(self) -> Tensor:
        return self

    def as_strided(self, sizes: Sequence[int], strides: Sequence[int], origin: int) -> Tensor:
        steps = [self.itemsize * stride for stride in strides]
        return np.lib.stride_tricks.as_strided(self[origin:], sizes, steps, subok=True).view(Tensor)


class Event:
    """Every event comes a millisecond after the one before."""

    now = 0

    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing

    def record(self) -> None:
        Event.now += 1
        self.at = Event.now

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, end: Event) -> float:
        return end.at - self.at


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    backend = SimpleNamespace(allow_tf32=True)
    found = SimpleNamespace(
        from_numpy=lambda array: array.view(Tensor),
        add=lambda x, y, alpha: x + alpha * y,
        cuda=SimpleNamespace(is_available=lambda: True, Event=Event),
        backends=SimpleNamespace(cuda=SimpleNamespace(matmul=backend), cudnn=SimpleNamespace(allow_tf32=True)),
    )
    monkeypatch.setitem(sys.modules, "torch", found)
    return found


KERNELS: dict[str, dict[str, Any]] = {
    "axpy": {"n": 6},
    "mv": {"m": 4, "n": 3},
    "matmul": {"m": 4, "n": 3, "k": 2, "transpose_b": True},
    "batch_matmul": {"b": 2, "m": 4, "n": 3, "k": 2},
}


@pytest.mark.parametrize("name", KERNELS)
def test_torch_computes_what_the_kernel_means(name: str, torch: Any):
    made = kernel(name, **KERNELS[name])
    work, call = KernelWork(made), kernel_call(torch, made)
    assert call is not None
    found: Any = call()
    ((output, expected),) = work.meant.items()
    result = found if isinstance(found, np.ndarray) else found[output]
    np.testing.assert_array_equal(result, work.view(work.backbone.region[output], expected))


def test_strided_products_have_no_library(torch: Any):
    assert kernel_call(torch, kernel("matmul", m=4, n=3, k=2, stride_a=8)) is None


def test_torch_is_taken_on_cuda_alone_without_tensor_cores(torch: Any, monkeypatch: pytest.MonkeyPatch):
    driver: Any = Recording()
    assert torch_on(driver) is torch and not torch.backends.cuda.matmul.allow_tf32
    assert event_seconds(torch, lambda: None, runs=2) == [0.001, 0.001]
    torch.cuda.is_available = lambda: False
    assert torch_on(driver) is None
    monkeypatch.setitem(sys.modules, "torch", None)
    assert torch_on(driver) is None
    driver.kind = "opencl"
    assert torch_on(driver) is None
