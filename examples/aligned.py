"""Arrays that begin at a cache line: kernels read vectors of 64 bytes, and one in two lines costs twice."""

from __future__ import annotations

import numpy as np

__all__ = ["empty", "uniform"]

LINE = 64


def empty(shape: tuple[int, ...], dtype: str = "float32") -> np.ndarray:
    """Return an array that holds anything."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.empty(size + LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    return memory[start : start + size].view(dtype).reshape(shape)


def uniform(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of random numbers between -1 and 1."""
    array = empty(shape)
    array[...] = rng.uniform(-1, 1, shape)
    return array
