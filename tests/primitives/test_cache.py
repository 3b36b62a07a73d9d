"""The kernel cache: one kernel a description, bounded, from many threads at once."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import einloom as el
from einloom.jit import host
from einloom.primitives.cache import KernelCache
from einloom.primitives.callables import KERNELS


def together(count: int, work: Any) -> list[Any]:
    """Run `work(i)` in that many threads that begin at once; return what each returned or raised."""
    results: list[Any] = [None] * count
    barrier = threading.Barrier(count)

    def run(index: int) -> None:
        barrier.wait()
        try:
            results[index] = work(index)
        except ValueError as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_threads_that_ask_for_the_same_kernel_get_one() -> None:
    compiled: list[Any] = []

    def compile_slowly(spec: Any, machine: Any) -> object:
        compiled.append((spec, machine))
        time.sleep(0.01)
        return object()

    cache = KernelCache(100, compile_slowly)
    kernels = together(16, lambda index: cache.get(index % 2, "machine"))
    assert len(set(map(id, kernels))) == 2 and sorted(compiled) == [(0, "machine"), (1, "machine")]


def test_the_least_recently_used_kernel_is_forgotten() -> None:
    compiled: list[int] = []
    cache = KernelCache(2, lambda spec, machine: compiled.append(spec) or spec)
    for spec in (1, 2, 1, 3, 1, 2):
        assert cache.get(spec, None) == spec
        assert len(cache) <= 2
    assert compiled == [1, 2, 3, 2]
    cache.clear()
    assert len(cache) == 0


def test_what_compiling_raises_reaches_every_thread_and_is_not_kept() -> None:
    attempts: list[int] = []

    def fail_once(spec: Any, machine: Any) -> str:
        attempts.append(spec)
        time.sleep(0.01)
        if len(attempts) == 1:
            raise ValueError("not this time")
        return "kernel"

    cache = KernelCache(4, fail_once)
    results = together(4, lambda index: cache.get("spec", None))
    assert any(isinstance(result, ValueError) for result in results)
    assert cache.get("spec", None) == "kernel"


def test_other_machines_and_parameters_have_other_kernels() -> None:
    p = el.primitives
    first = p.unary("elu", m=9, n=2)
    assert first._kernel is p.unary("elu", m=9, n=2)._kernel
    others = [
        p.unary("elu", m=9, n=2, alpha=0.5),
        p.unary("elu", m=9, n=2, b="row"),
        p.unary("elu", m=9, n=2, isa="neon" if host().isa == "x86_64" else "avx2"),
    ]
    assert all(first._kernel is not other._kernel for other in others)


def test_primitives_from_many_threads() -> None:
    names = ("relu", "exp", "tanh", "gelu")
    kernels = together(16, lambda index: el.primitives.unary(names[index % 4], m=11, n=index % 2 + 1))
    assert len({id(kernel._kernel) for kernel in kernels}) == 4
    assert len(KERNELS) <= KERNELS.capacity


@pytest.mark.parametrize("capacity", [1, 3])
def test_many_kernels_stay_bounded_between_threads(capacity: int) -> None:
    cache = KernelCache(capacity, lambda spec, machine: spec)
    results = together(8, lambda index: [cache.get((index * step) % 7, None) for step in range(50)])
    assert all(result == [(index * step) % 7 for step in range(50)] for index, result in enumerate(results))
    assert len(cache) == capacity
