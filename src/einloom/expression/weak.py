"""Numbers beside arrays: those of Python are weak, as NumPy says, and take the type of what they meet.

>>> taken(2, "float32", False)
Imported(array=array(2., dtype=float32), dtype='float32')
>>> taken(0.5, "int8", False) is None
True
"""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

from einloom.arrays.library import Imported, incoming, is_array
from einloom.dtypes import COMPUTED, Kind
from einloom.ir.numbers import elements_of, narrowed

__all__ = ["is_weak", "taken"]

_RANKS: dict[type, int] = {bool: 0, int: 1, float: 2, complex: 3}
"""Python's numbers, by the kinds of type that they may take: theirs, and those behind it."""
_KINDS = {Kind.BOOL: 0, Kind.SIGNED: 1, Kind.UNSIGNED: 1, Kind.FLOAT: 2, Kind.COMPLEX: 3}


def is_weak(thing: object) -> TypeGuard[bool | int | float | complex]:
    """Return whether a thing is a number of Python's own."""
    return type(thing) in _RANKS


def taken(thing: Any, label: str, any_real: bool) -> Imported | None:
    """Return a number in the type that it meets; None if it does not take it, or is no such number.

    Args:
        thing: what came as an operand.
        label: the name of the type.
        any_real: whether real numbers of NumPy, and in arrays without axes, are as weak as Python's.
    """
    dtype = COMPUTED.get(label)
    if dtype is None:
        return None
    if is_weak(thing) and _RANKS[type(thing)] <= _KINDS[dtype.kind]:
        try:
            return Imported(narrowed(np.asarray(thing, elements_of(dtype) if dtype.is_integer else None), dtype), label)
        except OverflowError:  # A whole number that the type does not hold.
            return None
    if any_real and (is_array(thing) or np.isscalar(thing)):
        array = incoming(thing, "the scale").array
        if array.ndim == 0 and array.dtype.kind in "biuf":
            return Imported(narrowed(array, dtype), label)
    return None
