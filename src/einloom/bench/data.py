"""Operands and outputs of a case: the same numbers in every process, in memory before the clock starts."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from einloom.bench.cases import Case, Kind
from einloom.errors import UnsupportedTarget

__all__ = ["Array", "aligned_copy", "array_type", "make_operands", "make_output", "make_unwritten"]

Array: TypeAlias = NDArray[Any]

CACHE_LINE = 64


def make_operands(case: Case) -> list[Array]:
    """Return the operands, C-contiguous: floats between -1/2 and 1/2, integers of any size, truth values half true.

    Operands of kernels begin at a cache line, as blocks that a caller packs do; others where NumPy puts arrays.
    """
    generator = np.random.default_rng(2026)
    operands = [_numbers(generator, shape, case.dtype) for shape in case.shapes[:-1]]
    return [aligned_copy(operand) for operand in operands] if case.kind is Kind.KERNEL else operands


def make_output(case: Case) -> Array:
    """Return the output as it is before the work: numbers where it is added to, else as `make_unwritten` leaves it.

    It begins at a cache line, whoever writes it, as large results of einloom and PyTorch do.
    """
    if case.accumulates:
        return aligned_copy(_numbers(np.random.default_rng(1), case.shapes[-1], case.dtype))
    output = aligned_copy(np.zeros(case.shapes[-1], array_type(case.dtype)))
    make_unwritten(output)
    return output


def make_unwritten(output: Array) -> None:
    """Fill an output so that a gap shows: with NaN; with ones among integers; with what is false of truth values."""
    output[...] = {"b": False, "i": 1, "u": 1}.get(output.dtype.kind, np.nan)


def aligned_copy(array: Array) -> Array:
    """Return a copy that begins at a cache line."""
    memory = np.empty(array.nbytes + CACHE_LINE, np.uint8)
    begin = -memory.ctypes.data % CACHE_LINE
    copy = memory[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def array_type(dtype: str) -> np.dtype[Any]:
    """Return NumPy's type of a name, for bfloat16 that of `ml_dtypes`.

    Raises:
        UnsupportedTarget: that is not installed.
    """
    if dtype != "bfloat16":
        return np.dtype(dtype)
    try:
        return np.dtype(import_module("ml_dtypes").bfloat16)
    except ImportError:
        raise UnsupportedTarget("arrays of bfloat16 need the package ml_dtypes\n  pip install ml_dtypes") from None


def _numbers(generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Reals, complex numbers of such parts, integers of the whole range, or truth values."""
    wanted = array_type(dtype)
    if wanted.kind == "b":
        return generator.integers(0, 2, shape, np.uint8).view(np.bool_)
    if wanted.kind in "iu":
        info = np.iinfo(wanted)
        return generator.integers(info.min, info.max, shape, wanted, endpoint=True)
    if wanted.itemsize == 2:  # NumPy draws none of these.
        return (generator.random(shape, np.float32) - np.float32(0.5)).astype(wanted)
    real = np.finfo(dtype).dtype
    parts = generator.random((*shape, np.dtype(dtype).itemsize // real.itemsize), real.type)
    parts -= 0.5
    return parts.view(dtype).reshape(shape)
