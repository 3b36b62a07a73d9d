"""`factor_array`: `alpha` or `beta` as an array of one element, in the type that is computed in.

>>> factor_array(-1, "uint8", np.dtype("uint8"), "a->a")
array([255], dtype=uint8)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from einloom.arrays.library import Array
from einloom.dtypes import COMPUTED, DType, Kind
from einloom.errors import ArgumentError
from einloom.ir.numbers import narrowed

__all__ = ["factor_array"]


def factor_array(factor: Any, label: str, dtype: np.dtype[Any], where: str) -> Array:
    """Return an array of one factor: floats are rounded, integers wrap, real factors of complex numbers stay real.

    Raises:
        ArgumentError: the type holds nothing like it, as integers no halves and reals no imaginary parts.
    """
    known = COMPUTED.get(label)
    if known is None or known.kind is Kind.BOOL:
        return np.full(1, factor, dtype)  # What NumPy computes with.
    number = _held(factor, known)
    if number is None:
        raise ArgumentError(
            f"the factor {factor!r:.80} is no number of type {label}\n  {where}\n"
            "  Give alpha and beta that the type has, or compute in another one with dtype=."
        )
    return number


def _held(factor: Any, dtype: DType) -> Array | None:
    """Return the factor as elements of the type hold it, None if they do not."""
    try:
        if dtype.is_integer:
            whole = int(factor.real)
            return narrowed(np.full(1, whole % 2**64, np.uint64), dtype) if factor == whole else None
        number = complex(factor)
    except (ValueError, OverflowError):  # No number, infinity, or one that is larger than float64.
        return None
    if number.imag == 0:
        return narrowed(np.full(1, number.real), dtype.real)
    return narrowed(np.full(1, number), dtype) if dtype.kind is Kind.COMPLEX else None
