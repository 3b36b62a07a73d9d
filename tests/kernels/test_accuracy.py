"""Approximated functions over a dense sweep of all float32, and over float64: no error above the one that is stated."""

from __future__ import annotations

import decimal
import runpy
from pathlib import Path

import numpy as np
import pytest

from einloom.kernels.formula import coefficients, functions
from tests.kernels.accuracy import APPROXIMATED, arguments, largest_errors, results
from tests.kernels.test_brgemm import DTYPES

STEP = 16411
FIT = Path(__file__).parents[2] / "benchmarks" / "fit_coefficients.py"


@pytest.mark.parametrize("op", APPROXIMATED)
@pytest.mark.parametrize("dtype", DTYPES)
def test_errors_stay_below_what_is_stated(dtype: str, op: str) -> None:
    stated = getattr(functions.UNARY[op], dtype)
    assert stated <= 4
    for vector, (error, where) in largest_errors(op, arguments(dtype, STEP)).items():
        assert error <= stated, f"{vector}: {error} at {where!r}"


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values_are_those_of_numpy(dtype: str, vector: str) -> None:
    limits = np.finfo(dtype)
    tiny = limits.smallest_subnormal
    values = [0.0, tiny, limits.tiny, 1.0, limits.max, np.inf, np.nan, 88.72, 88.73, 103.9, 104.1, 709.7, 745.2]
    x = np.array([*values, *(-value for value in values)], dtype)
    for op in ("exp", "log", "tanh", "sqrt", "rsqrt", "reciprocal"):
        with np.errstate(all="ignore"):
            expected = {"rsqrt": lambda v: 1 / np.sqrt(v), "reciprocal": lambda v: 1 / v}.get(
                op, getattr(np, op, None)
            )(x)
        y = results(op, x, vector)
        finite = np.isfinite(expected) & (expected != 0)
        with np.errstate(all="ignore"):
            same = np.where(finite, np.abs(y - expected) <= 4 * np.spacing(np.abs(expected)), y == expected)
        same &= np.signbit(y) == np.signbit(expected)
        assert np.all(same | (np.isnan(y) & np.isnan(expected))), (op, x, y, expected)


def test_coefficients_are_those_of_the_fit() -> None:
    with decimal.localcontext():
        module = runpy.run_path(str(FIT))["module"]()
    fitted: dict[str, object] = {}
    exec(module, fitted)
    assert all(fitted[name] == getattr(coefficients, name) for name in coefficients.__all__)
