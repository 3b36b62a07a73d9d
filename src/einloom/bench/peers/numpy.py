"""NumPy as a contestant: the fastest of `einsum` along a path, with and without `out`, `tensordot`, `matmul`, `sum`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from einloom.bench.cases import Case, Kind
from einloom.bench.check import Reference
from einloom.bench.data import Array, make_unwritten
from einloom.bench.peers.contestants import Prepared, kernel_repeats
from einloom.bench.peers.numpy_ways import numpy_ways
from einloom.errors import InternalError, UnsupportedTarget

__all__ = ["plain_product", "prepare"]

TRIALS, TRIAL_SECONDS, ENOUGH = 3, 0.005, 0.1
"""Calls, and the time that they take at least, of which the fastest decides between two ways to write a case; after so
many seconds whoever is called has been called often enough."""

HOPELESS = 2.0
"""How many times the fastest way's time the first call of another one may take that gets further trials."""


def prepare(case: Case, operands: list[Array], output: Array, threads: int, target: str) -> Prepared:
    """Return NumPy's way to do a case. Threads are OpenBLAS's own and come from the environment."""
    if case.kind is Kind.KERNEL:
        return _kernel(case, operands, output)
    if case.kind is Kind.TENSOR_OPERATION:
        a, b, c = plain_product(case)
        return Prepared(
            _whole(case, operands, output), lambda: np.matmul(a, b, out=c), note="one plain product of the same size"
        )
    return _expression(case, operands, output)


def _expression(case: Case, operands: list[Array], output: Array) -> Prepared:
    """Check every way to write the case and keep the fastest."""
    if case.dtype == "bfloat16" and not case.is_permutation:
        raise UnsupportedTarget("NumPy has no einsum of bfloat16")
    reference, best = Reference(case, operands, output), None
    for name, call in numpy_ways(case, operands, output):
        begin = time.perf_counter()
        result = call()
        first = time.perf_counter() - begin
        if not reference.verdict(result).right:
            raise InternalError(f"NumPy's {name} is not the result of {case.equation}")
        hopeless = best is not None and first > HOPELESS * best[0] + ENOUGH
        seconds = first if hopeless else _least_seconds(call)
        if best is None or seconds < best[0]:
            best = seconds, name, call
        make_unwritten(output)  # so that the next way has to write it
    assert best is not None  # einsum does everything
    return Prepared(best[2], best[2], note=f"best with {best[1]}")


def _least_seconds(call: Callable[[], object]) -> float:
    least, spent, trials = float("inf"), 0.0, 0
    while (trials < TRIALS and spent < ENOUGH) or spent < TRIAL_SECONDS:
        begin = time.perf_counter()
        call()
        passed = time.perf_counter() - begin
        least, spent, trials = min(least, passed), spent + passed, trials + 1
    return least


def plain_product(case: Case) -> tuple[Array, Array, Array]:
    """Return row-major matrices whose product takes as much arithmetic as a contraction: the best case for a BLAS."""
    first, second, out = (set(term) for term in case.terms)
    rows, columns, summed = (
        math.prod(case.sizes[label] for label in labels) for labels in (first & out, second & out, first & second)
    )
    a, b = np.ones((rows, summed), case.dtype), np.ones((summed, columns), case.dtype)
    return a, b, np.zeros((rows, columns), case.dtype)


def _whole(case: Case, operands: list[Array], output: Array) -> Callable[[], Array]:
    """The contraction with what a tensor operation does before and after it."""
    start = output.copy()

    def once() -> Array:
        result = np.asarray(np.einsum(case.lettered, *operands, optimize=True))
        if case.accumulates:
            result += start
        return np.maximum(result, 0, out=result) if case.last_touch == "relu" else result

    return once


def _kernel(case: Case, operands: list[Array], output: Array) -> Prepared:
    """A stack of the same product, which `matmul` walks without returning to Python."""
    (a, b), repeats = operands, kernel_repeats(case.flops)
    stacked = [np.broadcast_to(array, (repeats, *array.shape)) for array in (b, a)]
    scratch = np.zeros_like(output)
    stack = np.lib.stride_tricks.as_strided(scratch, (repeats, *scratch.shape), (0, *scratch.strides))

    def once() -> Array:
        output[...] += np.matmul(b, a)
        return output

    return Prepared(once, lambda: np.matmul(*stacked, out=stack), repeats, note="overwrites instead of adding")
