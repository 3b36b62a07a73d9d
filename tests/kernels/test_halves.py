"""Elements of bfloat16 and float16: conversions by every value, in every layout, both neighbours unmapped."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from einloom.dtypes import BFLOAT16, FLOAT16, FLOAT32, DType
from einloom.ir.numbers import elements_of, narrowed, widened
from einloom.kernels import Unary

from .guarded import GuardedArray, run_guarded
from .products import compile_kernel

HALVES = [BFLOAT16, FLOAT16]
SIZES = (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 24, 31, 33)
LAYOUTS = {
    "columns": lambda m, n: ((1, m + 1), (1, m + 2)),
    "transposed": lambda m, n: ((1, m + 1), (n + 3, 1)),
    "strided": lambda m, n: ((2, 2 * m + 1), (3, 3 * m)),
    "broadcast": lambda m, n: ((0, 1), (1, m)),
    "backwards": lambda m, n: ((-1, -m), (n, 1)),
}


def convert(values: Any, source: DType, target: DType, vector: str) -> Any:
    """Return elements converted by a kernel."""
    result = np.zeros(len(values), elements_of(target))
    kernel = compile_kernel(Unary("identity", source, len(values), 1, a=(1, 0), b=(1, 0), output=target), vector)
    kernel.call(values.ctypes.data, result.ctypes.data)
    return result


def bits_of_floats() -> Any:
    """Return float32 around every value of the upper 16 bits: exact, ties, their neighbours, the greatest."""
    upper = np.arange(1 << 16, dtype=np.uint32) << 16
    lower = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x1000, 0x0FFF, 0x1001, 0x3000], np.uint32)
    return (upper[:, None] | lower).ravel()


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_every_value_becomes_the_same_float32(vector: str, half: DType) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(elements_of(half))
    found, expected = convert(every, half, FLOAT32, vector), widened(every, half).astype(np.float32)
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    kept = ~np.isnan(expected)
    assert np.array_equal(found[kept].view(np.uint32), expected[kept].view(np.uint32))


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_float32_is_rounded_to_nearest_even_and_nan_stays(vector: str, half: DType) -> None:
    values = bits_of_floats().view(np.float32)
    found = convert(values, FLOAT32, half, vector)
    expected = narrowed(values, half)
    nan = np.isnan(values)
    assert np.array_equal(found[~nan].view(np.uint16), expected[~nan].view(np.uint16))
    assert np.isnan(widened(found[nan], half)).all()


Case = tuple[str, DType, DType, int, int, str, bool]


def _check(case: Case) -> str | None:
    vector, source, target, m, n, layout, at_end = case
    a, b = LAYOUTS[layout](m, n)
    sizes = [sum(abs(stride) * (extent - 1) for stride, extent in zip(s, (m, n))) + 1 for s in (a, b)]
    read, written = (GuardedArray(s, elements_of(t).name, at_end) for s, t in zip(sizes, (source, target)))
    read.values[:] = narrowed(np.random.default_rng(m * n).integers(-99, 99, sizes[0]).astype(float), source)
    written.values[:] = narrowed(np.array(7.0), target)
    expected, first = written.values.copy(), sum(-s * (e - 1) for s, e in zip(a, (m, n)) if s < 0)
    for i, j in product(range(m), range(n)):
        value = widened(read.values[first + i * a[0] + j * a[1]], source)
        expected[i * b[0] + j * b[1]] = narrowed(-value, target)
    kernel = compile_kernel(Unary("negate", source, m, n, a=a, b=b, output=target), vector)
    kernel.call(read.values.ctypes.data + first * source.size, written.values.ctypes.data)
    equal = np.array_equal(written.values, expected)
    read.close()
    written.close()
    return None if equal else "another result"


@pytest.mark.parametrize("types", [(BFLOAT16, BFLOAT16), (FLOAT16, FLOAT32), (FLOAT32, BFLOAT16)], ids=str)
def test_operators_compute_in_float32_and_touch_nothing_else(vector: str, types: tuple[DType, DType]) -> None:
    sizes = [(SIZES[i % 13], SIZES[(5 * i + i // 13) % 13]) for i in range(18)]
    cases = [(vector, *types, m, n, layout, end) for (m, n), layout, end in product(sizes, LAYOUTS, (False, True))]
    assert run_guarded(cases, _check) is None
