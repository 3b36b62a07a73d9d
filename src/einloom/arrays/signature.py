"""From the arrays of a call that Python has checked to what an entry checks of the next ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from einloom.arrays.entry import ArrayArgument, IntegerArgument, NoneArgument, ThreadSettings
from einloom.arrays.library import Array
from einloom.arrays.region import Region
from einloom.config import WatchedSettings
from einloom.jit.interpreter import integer_image

__all__ = [
    "MOST_SCRATCH",
    "array_argument",
    "integer_argument",
    "is_long",
    "none_argument",
    "signature_of",
    "thread_settings",
]

MOST_SCRATCH = 2**22
"""Scratch in bytes that an entry takes; a call that needs more is long against what Python adds to it."""

LONG_FLOPS, LONG_BYTES = 2**18, 2**16
"""Arithmetic and traffic that take a few microseconds: then other Python threads run meanwhile."""


def is_long(flops: int, traffic: int) -> bool:
    """Return whether work of so much arithmetic and so many bytes is done without the interpreter's lock."""
    return flops > LONG_FLOPS or traffic > LONG_BYTES


def signature_of(array: Array) -> tuple[Any, ...]:
    """Return what an entry sees of an array, its address and flags aside."""
    return array.shape, array.strides, id(array.dtype)


def array_argument(array: Array, region: Region, alignment: int) -> ArrayArgument:
    """Return what is checked of arrays like this one, of which the region is reached."""
    reach, dtype = region.reach, id(array.dtype)
    return ArrayArgument(id(np.ndarray), dtype, array.shape, array.strides, alignment, reach, region.written)


def integer_argument(value: int) -> IntegerArgument | None:
    """Return what is checked of an int of this value; None for one that has no short form."""
    image = integer_image(value)
    return None if image is None else IntegerArgument(id(int), image)


def none_argument() -> NoneArgument:
    """Return what is checked of None."""
    return NoneArgument(id(None))


def thread_settings(watched: WatchedSettings) -> ThreadSettings:
    """Return what is checked of the settings."""
    return ThreadSettings(*watched.words)
