"""In which NumPy type the interpreter computes what machine code computes in a `DType`, and how results are stored.

Floats are computed in float64, complex numbers in complex128, integers modulo 2**64, truth values with or and and.

>>> from einloom.dtypes import INT8
>>> narrowed(widened(np.array([127, 1], np.int8), INT8) * 2, INT8).tolist()
[-2, 2]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from einloom.dtypes import BFLOAT16, LOWERED, ONES, RAISED, TRUTH, DType, Kind

__all__ = ["elements_of", "narrowed", "wide_type", "widened"]

Array = np.ndarray[Any, Any]

_WIDE: dict[Kind, type[np.generic]] = {
    Kind.FLOAT: np.float64,
    Kind.COMPLEX: np.complex128,
    Kind.SIGNED: np.int64,
    Kind.UNSIGNED: np.uint64,
    Kind.BOOL: np.bool_,
}
_CARRIERS = {
    BFLOAT16: np.dtype(np.uint16),
    TRUTH: np.dtype(np.uint32),
    ONES: np.dtype(np.uint8),
    RAISED: np.dtype(np.uint8),
    LOWERED: np.dtype(np.int8),
}
"""What NumPy sees of types that it lacks."""

_ADDED = {RAISED: 128, LOWERED: -128}
"""By how much elements are more than the numbers that they stand for."""


def elements_of(dtype: DType) -> np.dtype[Any]:
    """Return NumPy's type of elements, or of what they travel as where NumPy has no such type."""
    dtype = dtype.alone
    return _CARRIERS.get(dtype) or np.dtype(dtype.name)


def wide_type(dtype: DType) -> type[np.generic]:
    """Return NumPy's type that elements of type `dtype` are computed in."""
    return _WIDE[dtype.kind]


def widened(array: Array, dtype: DType, computed: DType | None = None) -> Array:
    """Return elements of type `dtype` as numbers to compute with in `computed` (the same type if None)."""
    dtype = dtype.alone
    if dtype is BFLOAT16 and array.dtype == _CARRIERS[BFLOAT16]:
        array = (array.astype(np.uint32) << 16).view(np.float32)
    with np.errstate(invalid="ignore"):  # Scratch begins as NaN, and may be copied before it is written.
        if dtype in _ADDED:
            array = array.astype(np.int64) - _ADDED[dtype]
        return array.astype(_WIDE[(computed or dtype).kind])


def narrowed(values: Array, dtype: DType) -> Array:
    """Return numbers as elements of type `dtype`: floats rounded to nearest even, integers modulo 2**bits."""
    dtype = dtype.alone
    if dtype is BFLOAT16:
        return _rounded_to_half_words(values)
    with np.errstate(all="ignore"):
        if dtype in _ADDED:
            values = values.astype(np.int64) + _ADDED[dtype]
        return (values != 0 if dtype is ONES else values).astype(elements_of(dtype))


def _rounded_to_half_words(values: Array) -> Array:
    """The upper 16 bits of float32, to nearest even; NaN stays NaN."""
    bits = values.astype(np.float32).view(np.uint32)
    rounded = ((bits.astype(np.uint64) + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded)
