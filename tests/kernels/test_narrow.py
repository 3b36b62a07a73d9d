"""Copies and transpositions of elements of 1 and 2 bytes: sizes around the blocks of 8, both neighbours unmapped."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.dtypes import UINT8, UINT16
from einloom.kernels import Unary

from .guarded import GuardedArray, run_guarded
from .products import compile_kernel

SIZES = (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 24, 31)
LAYOUTS = ("columns", "transposed", "strided", "broadcast", "backwards")
Case = tuple[str, Any, int, int, str, bool]


def _strides(layout: str, m: int, n: int) -> tuple[tuple[int, int], tuple[int, int]]:
    return {
        "columns": ((1, m + 1), (1, m + 2)),
        "transposed": ((1, m + 1), (n + 3, 1)),
        "strided": ((2, 2 * m + 1), (3, 3 * m)),
        "broadcast": ((0, 1), (1, m)),
        "backwards": ((-1, -m), (n, 1)),
    }[layout]


def _check(case: Case) -> str | None:
    vector, dtype, m, n, layout, at_end = case
    a, b = _strides(layout, m, n)
    sizes = [sum(abs(stride) * (extent - 1) for stride, extent in zip(s, (m, n))) + 1 for s in (a, b)]
    source, target = (GuardedArray(size, dtype.name, at_end) for size in sizes)
    source.values[:] = np.random.default_rng(m * n).integers(0, 256**dtype.size, sizes[0])
    target.values[:] = 7
    expected, first = target.values.copy(), sum(-s * (e - 1) for s, e in zip(a, (m, n)) if s < 0)
    for i, j in product(range(m), range(n)):
        expected[i * b[0] + j * b[1]] = source.values[first + i * a[0] + j * a[1]]
    kernel = compile_kernel(Unary("identity", dtype, m, n, a=a, b=b), vector)
    kernel.call(source.values.ctypes.data + first * dtype.size, target.values.ctypes.data)
    equal = np.array_equal(target.values, expected)
    source.close()
    target.close()
    return None if equal else "another result"


@pytest.mark.parametrize("dtype", [UINT8, UINT16], ids=str)
def test_elements_move_and_nothing_else(vector: str, dtype: Any) -> None:
    sizes = [(SIZES[i % 12], SIZES[(5 * i + i // 12) % 12]) for i in range(36)]
    cases = [(vector, dtype, m, n, layout, end) for (m, n), layout, end in product(sizes, LAYOUTS, (False, True))]
    assert run_guarded(cases, _check) is None


@pytest.mark.parametrize("dtype", ["float16", "int16", "bool", "S1"])
def test_the_primitive_takes_any_type_of_so_many_bytes(dtype: str) -> None:
    kind = np.dtype(dtype)
    raw = np.arange(12 * kind.itemsize, dtype=np.uint8) % 2
    a, b = raw.view(kind), np.zeros(12, kind)
    el.primitives.unary("identity", m=4, n=3, dtype=f"uint{8 * kind.itemsize}", b="row")(a, b, 4, 3)
    assert b.tobytes() == np.ascontiguousarray(a.reshape(3, 4).T).tobytes()


def test_arrays_of_other_sizes_are_refused() -> None:
    with pytest.raises(el.DTypeError, match="float64"):
        el.primitives.unary("identity", m=4, n=3, dtype="uint16")(np.zeros(12), np.zeros(12), 4, 4)
