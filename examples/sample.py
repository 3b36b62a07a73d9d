"""What all samples share: the precision that USE_BF16=1 chooses, arrays that begin at a cache line, and the report."""

from __future__ import annotations

import os
from collections.abc import Callable
from timeit import repeat

import numpy as np

import einloom as el

__all__ = ["empty", "grouped", "is_narrow", "report", "uniform"]

LINE = 64
"""Kernels read vectors of so many bytes; one in two lines costs twice."""


def is_narrow() -> bool:
    """Whether the samples compute with bfloat16."""
    return os.environ.get("USE_BF16", "0") not in ("", "0")


def precision() -> np.dtype:
    """Return the type of the samples' elements."""
    if not is_narrow():
        return np.dtype("float32")
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)


def empty(shape: tuple[int, ...], dtype: np.dtype | str | None = None) -> np.ndarray:
    """Return an array that holds anything."""
    kind = precision() if dtype is None else np.dtype(dtype)
    size = int(np.prod(shape)) * kind.itemsize
    memory = np.empty(size + LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    return memory[start : start + size].view(kind).reshape(shape)


def uniform(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of random numbers between -1 and 1."""
    array = empty(shape)
    array[...] = rng.uniform(-1, 1, shape)
    return array


def grouped(blocks: np.ndarray) -> np.ndarray:
    """Return blocks (…, k, m) in pairs of neighbours along k, (…, k / 2, m, 2), if they are bfloat16."""
    if not is_narrow():
        return blocks
    *outer, k, m = blocks.shape
    array = empty((*outer, k // 2, m, 2))
    array[...] = blocks.reshape(*outer, k // 2, 2, m).swapaxes(-1, -2)
    return array


def report(
    loop: el.ThreadedLoop, flops: float, run: Callable[[], object], iterations: int, result: np.ndarray, plain: object
) -> float:
    """Time runs, print the best rate, and return the largest error, relative to the largest element of the truth."""
    truth = np.asarray(plain)
    error = float(np.abs(result.astype(float) - truth).max() / max(np.abs(truth).max(), 1e-30))
    seconds = min(repeat(run, number=1, repeat=iterations))
    print(
        f"{loop.nest.string}: {1e-9 * flops / seconds:.1f} GFLOP/s, {seconds * 1e3:.2f} ms, "
        f"{result.dtype}, {loop.nest.threads} threads, error {error:.2g}"
    )
    return error
