"""The border to NumPy: what arrays look like from generated code, and every check of an output."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from einloom.errors import DTypeError, OverlapError, ShapeError, StrideError
from einloom.ir.interpret import Memory
from einloom.jit.arrays import array_address

SOLVER_WORK: Any = 100_000  # NumPy's stub takes two literals only

__all__ = ["Array", "byte_reach", "byte_span", "check_output", "element_strides", "memory_of"]

Array = np.ndarray[Any, Any]


def element_strides(array: Array) -> tuple[int, ...] | None:
    """Return the strides in elements, or None if some stride is no whole number of elements.

    Axes of extent 1 get stride 0: theirs is never used, and NumPy leaves any number there.
    """
    size = max(array.itemsize, 1)
    strides = []
    for extent, stride in zip(array.shape, array.strides):
        steps, rest = divmod(stride, size)
        if rest and extent > 1:
            return None
        strides.append(steps if extent > 1 else 0)
    return tuple(strides)


def byte_span(array: Array) -> tuple[int, int]:
    """Return the addresses of the first byte that the array reaches and of the first behind its last."""
    low, high = byte_reach(array)
    start = array_address(array)
    return start + low, start + high


def byte_reach(array: Array) -> tuple[int, int]:
    """Return the bytes that the array reaches, relative to its first element: the first, and behind the last."""
    if array.size == 0:
        return 0, 0
    offsets = [(extent - 1) * stride for extent, stride in zip(array.shape, array.strides)]
    return sum(min(offset, 0) for offset in offsets), sum(max(offset, 0) for offset in offsets) + array.itemsize


def memory_of(array: Array, unit: str) -> Memory:
    """Return the bytes that the array reaches as elements of type `unit`, with the position of its first element."""
    low, high = byte_span(array)
    if low == high:
        return Memory(np.empty(0, unit))
    buffer: Any = (ctypes.c_char * (high - low)).from_address(low)
    return Memory(np.frombuffer(buffer, unit), (array_address(array) - low) // np.dtype(unit).itemsize)


def check_output(out: Any, shape: tuple[int, ...], dtype: np.dtype[Any], inputs: Sequence[Array], text: str) -> None:
    """Refuse an output that cannot take the result, before anything is written.

    Raises:
        DTypeError, ShapeError: another type or shape.
        StrideError: not writable, strides that are no whole elements, or elements that overlap each other.
        OverlapError: it shares bytes with an input.
    """
    if not isinstance(out, np.ndarray):
        raise DTypeError(f"out is a {type(out).__name__}, not an array\n  {text}\n  Pass a NumPy array, or no out.")
    if out.dtype != dtype:
        raise DTypeError(f"out has type {out.dtype}, the result {dtype}\n  {text}\n  Pass an out of type {dtype}.")
    if out.shape != shape:
        raise ShapeError(f"out has shape {out.shape}, the result {shape}\n  {text}\n  Pass an out of shape {shape}.")
    if not out.flags.writeable:
        raise StrideError(f"out is read-only\n  {text}\n  Pass a writable array.")
    if element_strides(out) is None:
        raise StrideError(
            f"out has byte strides {out.strides}, no multiples of {out.itemsize}\n  {text}\n  Pass a copy."
        )
    if _overlaps_itself(out):
        raise StrideError(f"elements of out share memory, strides {out.strides} bytes\n  {text}\n  Pass a plain array.")
    for position, array in enumerate(inputs):
        if _overlap(out, array):
            raise OverlapError(
                f"out shares memory with operand {position}\n  {text}\n  Pass another out, or a copy of the operand."
            )


def _overlaps_itself(array: Array) -> bool:
    if array.flags.c_contiguous or array.size < 2:
        return False
    axes = sorted((abs(stride), extent) for extent, stride in zip(array.shape, array.strides) if extent > 1)
    reach = array.itemsize
    for stride, extent in axes:
        if stride < reach:
            # Sorted strides that skip what lies inside prove that all elements differ; otherwise ask NumPy's solver.
            return _has_internal_overlap(array)
        reach += stride * (extent - 1)
    return False


def _has_internal_overlap(array: Array) -> bool:
    """Whether two elements lie at the same address; exact, for the rare arrays with interleaved axes."""
    offsets = np.zeros(1, np.int64)
    for extent, stride in zip(array.shape, array.strides):
        offsets = (offsets[:, None] + np.arange(extent) * stride).ravel()
    offsets.sort()
    return bool((np.diff(offsets) < array.itemsize).any())


def _overlap(first: Array, second: Array) -> bool:
    low, high = byte_span(first)
    other_low, other_high = byte_span(second)
    if high <= other_low or other_high <= low:
        return False
    try:
        return bool(np.shares_memory(first, second, max_work=SOLVER_WORK))
    except np.exceptions.TooHardError:
        return True
