"""Operands and outputs of a case: the same numbers in every process, in memory before the clock starts."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from einloom.bench.cases import Case, Kind

__all__ = ["Array", "aligned_copy", "make_operands", "make_output"]

Array: TypeAlias = NDArray[Any]

CACHE_LINE = 64


def make_operands(case: Case) -> list[Array]:
    """Return the operands, C-contiguous, elements between -1/2 and 1/2.

    Operands of kernels begin at a cache line, as blocks that a caller packs do; others where NumPy puts arrays.
    """
    generator = np.random.default_rng(2026)
    operands = [_numbers(generator, shape, case.dtype) for shape in case.shapes[:-1]]
    return [aligned_copy(operand) for operand in operands] if case.kind is Kind.KERNEL else operands


def make_output(case: Case) -> Array:
    """Return the output as it is before the work: numbers where it is added to, else NaN, so that a gap shows.

    It begins at a cache line, whoever writes it, as large results of einloom and PyTorch do.
    """
    if case.accumulates:
        return aligned_copy(_numbers(np.random.default_rng(1), case.shapes[-1], case.dtype))
    return aligned_copy(np.full(case.shapes[-1], np.nan, case.dtype))


def aligned_copy(array: Array) -> Array:
    """Return a copy that begins at a cache line."""
    memory = np.empty(array.nbytes + CACHE_LINE, np.uint8)
    begin = -memory.ctypes.data % CACHE_LINE
    copy = memory[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _numbers(generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Reals, or complex numbers of such parts."""
    real = np.finfo(dtype).dtype
    parts = generator.random((*shape, np.dtype(dtype).itemsize // real.itemsize), real.type)
    parts -= 0.5
    return parts.view(dtype).reshape(shape)
