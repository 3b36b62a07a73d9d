"""Copies past the caches: every alignment of the target, lengths around a cache line, both neighbours unmapped."""

from __future__ import annotations

from itertools import product

import numpy as np

from einloom.dtypes import data_type
from einloom.kernels import Stream

from .guarded import GuardedArray, run_guarded
from .products import compile_kernel

LENGTHS = (0, 1, 7, 15, 16, 17, 31, 33, 64, 79, 100, 161)


def _check(case: tuple[str, str, int, int, int, bool]) -> str | None:
    vector, dtype, m, n, gap, at_end = case
    lead = m + gap
    source, target = (GuardedArray(max(lead * (n - 1) + m, 1), dtype, at_end) for _ in range(2))
    source.values[:] = np.arange(len(source.values))
    target.values[:] = -1
    expected = target.values.copy()
    for column in range(n):
        expected[column * lead : column * lead + m] = source.values[column * lead : column * lead + m]
    kernel = compile_kernel(Stream(data_type(dtype), m, n, a=(1, lead), b=(1, lead)), vector)
    kernel.call(source.values.ctypes.data, target.values.ctypes.data)
    equal = np.array_equal(target.values, expected)
    source.close()
    target.close()
    return None if equal else "another result"


def test_streams_copy_columns_and_nothing_else(vector: str) -> None:
    cases = product([vector], ("float32", "float64"), LENGTHS, (0, 1, 2, 5), (0, 1, 3, 16), (False, True))
    assert run_guarded(list(cases), _check) is None
