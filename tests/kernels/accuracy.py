"""Errors of approximated functions over a dense sweep of their arguments; run it to measure with a finer sweep.

`python -m tests.kernels.accuracy 509` looks at every 509th float32, and at as many float64.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from einloom.ir.meanings import UNARY
from einloom.kernels import Unary
from einloom.kernels.formula import functions
from tests.isas import vectors_of_host
from tests.kernels.elementwise import errors
from tests.kernels.products import compile_kernel

APPROXIMATED = tuple(op for op, function in functions.UNARY.items() if function.float32 is not None)


def arguments(dtype: str, step: int) -> Any:
    """Return every `step`th of the bit patterns of float32, or as many float64, denser where functions bend."""
    count = (1 << 32) // step
    if dtype == "float32":
        return np.arange(0, 1 << 32, step, dtype=np.uint64).astype(np.uint32).view(np.float32)
    generator = np.random.default_rng(3)
    patterns = generator.integers(0, 1 << 64, count // 2, dtype=np.uint64).view(np.float64)
    around = generator.normal(size=count // 8)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-310, 709.78, 709.79, -745.13, -745.2])
    return np.concatenate([patterns, around, 1.5 * around, 20 * around, np.exp(around), special])


def results(op: str, x: Any, vector: str) -> Any:
    """Return what the kernel makes of these arguments."""
    y = np.full_like(x, 7)
    spec = Unary(op, x.dtype.name, x.size, 1, a=(1, x.size), b=(1, x.size))
    compile_kernel(spec, vector).call(x.ctypes.data, y.ctypes.data)
    return y


def largest_errors(op: str, x: Any) -> dict[str, tuple[float, Any]]:
    """Return for each vector ISA the largest error in units of the last place, and where it is.

    The error is infinite where a special value is wrong, the sign of a zero included.
    """
    with np.errstate(all="ignore"):
        exact = UNARY[op](x.astype(np.longdouble))
    unit = x if functions.UNARY[op].error_of == "argument" else exact
    found = {}
    for vector in vectors_of_host():
        y = results(op, x, vector)
        error = np.where(np.isnan(y) & np.isnan(exact), 0, errors(y, exact, unit))
        error[np.isnan(error) | (y == 0) & (exact == 0) & (np.signbit(y) != np.signbit(exact))] = np.inf
        worst = int(np.argmax(error))
        found[vector] = float(error[worst]), x[worst]
    return found


if __name__ == "__main__":
    for dtype in ("float32", "float64"):
        x = arguments(dtype, int(sys.argv[1]))
        for op in APPROXIMATED:
            print(dtype, op, largest_errors(op, x), flush=True)
