"""Grouped copies: pairs and quads side by side, from every layout, both neighbours unmapped, all rests."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from einloom.dtypes import (
    BFLOAT16,
    BFLOAT16_FOURS,
    BOOL,
    INT8,
    INT8_EIGHTS,
    INT16,
    LOWERED,
    ONES,
    RAISED,
    UINT8,
    UINT8_EIGHTS,
    UINT16,
)
from einloom.ir.numbers import elements_of, narrowed, widened
from einloom.kernels import Interleave

from .guarded import GuardedArray, run_guarded
from .products import compile_kernel

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 33)
LAYOUTS = ("columns", "rows to columns", "rows", "columns to rows", "strided", "backwards")
Case = tuple[str, Any, Any, int, int, str, bool]
TYPES = (
    (UINT8, UINT8),
    (UINT16, UINT16),
    (BOOL, ONES),
    (INT8, RAISED),
    (UINT8, LOWERED),
    (INT8, INT16),
    (UINT8, INT16),
    (INT8, INT8_EIGHTS),
    (UINT8, UINT8_EIGHTS),
    (BFLOAT16, BFLOAT16_FOURS),
)
"""Of elements, and what packs make of them."""


def _strides(layout: str, m: int, n: int) -> tuple[tuple[int, int], tuple[int, int]]:
    groups = n // 2 + 1
    return {
        "columns": ((1, m + 1), (1, m + 2)),
        "rows to columns": ((n + 1, 1), (1, m)),
        "rows": ((n + 3, 1), (groups, 1)),
        "columns to rows": ((1, m), (groups + 1, 1)),
        "strided": ((2, 2 * m + 1), (3, 3 * m)),
        "backwards": ((-1, -m), (1, m)),
    }[layout]


def _check(case: Case) -> str | None:
    vector, dtype, packed, m, n, layout, at_end = case
    (a, b), group = _strides(layout, m, n), packed.group
    groups = -(-n // group)
    sizes = [
        sum(abs(stride) * (extent - 1) for stride, extent in zip(s, extents)) + 1
        for s, extents in ((a, (m, n)), (b, (m, groups)))
    ]
    source = GuardedArray(sizes[0], f"uint{8 * dtype.size}", at_end)
    target = GuardedArray(group * sizes[1], elements_of(packed).name, at_end)
    source.values[:] = np.random.default_rng(m * n).integers(0, 256**dtype.size, sizes[0])
    target.values[:] = 7
    expected, first = target.values.copy(), sum(-s * (e - 1) for s, e in zip(a, (m, n)) if s < 0)
    values = source.values.view(elements_of(dtype))
    numbers = values if dtype is packed.alone else narrowed(widened(values, dtype), packed)
    nothing = narrowed(np.zeros(1), packed)[0]
    for i, j in product(range(m), range(group * groups)):
        value = numbers[first + i * a[0] + j * a[1]] if j < n else nothing
        expected[group * (i * b[0] + j // group * b[1]) + j % group] = value
    kernel = compile_kernel(Interleave(dtype, m, n, a=a, b=b, output=packed), vector)
    kernel.call(source.values.ctypes.data + first * dtype.size, target.values.ctypes.data)
    equal = np.array_equal(target.values, expected)
    source.close()
    target.close()
    return None if equal else "another result"


@pytest.mark.parametrize(("dtype", "packed"), TYPES, ids=str)
def test_groups_lie_side_by_side_and_nothing_else_moves(vector: str, dtype: Any, packed: Any) -> None:
    if dtype is not packed.alone and vector not in ("avx2", "avx512"):
        pytest.skip("packs change nothing there")
    sizes = [(SIZES[i % 14], SIZES[(5 * i + i // 14) % 14]) for i in range(28)]
    cases = [
        (vector, dtype, packed, m, n, layout, end) for (m, n), layout, end in product(sizes, LAYOUTS, (False, True))
    ]
    assert run_guarded(cases, _check) is None
