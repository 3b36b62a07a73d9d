"""The contractions of `tccg24`, an eighth as long along each axis, on OpenCL: the same numbers as NumPy."""

from __future__ import annotations

import os

import numpy as np
import pytest

import einloom as el
from einloom.bench.cases import load_suite
from einloom.errors import DeviceError
from einloom.jit.gpu.devices import open_gpu

try:
    open_gpu("opencl")
except DeviceError as error:
    pytest.skip(f"no OpenCL device: {error}", allow_module_level=True)

CASES = list(load_suite("tccg24"))
ROWS = CASES if os.environ.get("EINLOOM_SOAK") else CASES[::9]


@pytest.mark.parametrize("case", ROWS, ids=lambda case: case.equation)
def test_contractions_equal_numpy(case):
    random = np.random.default_rng(4)
    shapes = [tuple(max(extent // 8, 1) for extent in shape) for shape in case.shapes[:-1]]
    operands = [random.integers(-3, 4, shape).astype(np.float32) for shape in shapes]
    result = el.einsum(case.equation, *operands, target="opencl")
    np.testing.assert_array_equal(result, np.einsum(case.equation, *operands, optimize=True))
