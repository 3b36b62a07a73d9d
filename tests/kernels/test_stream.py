"""Copies past the caches: every alignment of the target, lengths around a cache line, both neighbours unmapped.

Transposed ones too: rows that are one run, rows that lie apart, and runs that pass the buffer in several parts.
"""

from __future__ import annotations

from dataclasses import replace
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


SHAPES = ((2, 64), (3, 33), (15, 100), (16, 16), (17, 84), (36, 32), (84, 300), (100, 700), (300, 20), (700, 17))
"""(m, n): n elements follow each other in the target."""


def _turn(case: tuple[str, str, int, int, int, int, bool]) -> str | None:
    vector, dtype, m, n, gap, skipped, exchanged = case
    size = (n + gap) * (m - 1) + n + skipped
    source, target = GuardedArray(m * n + 5 * (n - 1), dtype, True), GuardedArray(size, dtype, True)
    source.values[:] = np.arange(len(source.values)) % 251
    target.values[:] = 255
    expected, lanes = target.values.copy(), source.values.itemsize
    from_ = np.lib.stride_tricks.as_strided(source.values, (m, n), (lanes, (m + 5) * lanes))
    to = np.lib.stride_tricks.as_strided(expected[skipped:], (m, n), ((n + gap) * lanes, lanes))
    to[...] = from_
    spec = Stream(data_type(dtype), m, n, a=(1, m + 5), b=(n + gap, 1), far=True)
    if exchanged:
        spec = replace(spec, m=n, n=m, a=spec.a[::-1], b=spec.b[::-1])
    kernel = compile_kernel(spec, vector)
    kernel.call(source.values.ctypes.data, target.values.ctypes.data + skipped * lanes)
    equal = np.array_equal(target.values, expected)
    source.close()
    target.close()
    return None if equal else "another result"


def test_streams_transpose_and_touch_nothing_else(vector: str) -> None:
    shapes = ((m, n, gap, skipped) for (m, n), gap, skipped in product(SHAPES, (0, 1, 16), (0, 3, 16)))
    cases = [
        (vector, dtype, *shape, bool(index % 2))
        for index, shape in enumerate(shapes)
        for dtype in ("float32", "float64", "uint8")
    ]
    assert run_guarded(cases, _turn) is None
