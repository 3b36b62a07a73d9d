"""Operands and outputs of a case: the same numbers in every process, in memory before the clock starts."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from einloom.bench.cases import Case

__all__ = ["Array", "make_operands", "make_output"]

Array: TypeAlias = NDArray[Any]


def make_operands(case: Case) -> list[Array]:
    """Return the operands, C-contiguous, elements between -1/2 and 1/2."""
    generator = np.random.default_rng(2026)
    return [_numbers(generator, shape, case.dtype) for shape in case.shapes[:-1]]


def make_output(case: Case) -> Array:
    """Return the output as it is before the work: numbers where it is added to, else NaN, so that a gap shows."""
    if case.accumulates:
        return _numbers(np.random.default_rng(1), case.shapes[-1], case.dtype)
    return np.full(case.shapes[-1], np.nan, case.dtype)


def _numbers(generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    numbers = generator.random(shape, np.dtype(dtype).type)
    numbers -= 0.5
    return numbers
