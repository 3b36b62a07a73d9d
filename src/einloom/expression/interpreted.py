"""`interpret_arrays`: an operation on arrays by the interpreter, in the element type of each operand."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from einloom.arrays.library import Array
from einloom.arrays.region import reach_of
from einloom.ir.interpret import interpret
from einloom.ir.memory import Memory
from einloom.ir.numbers import elements_of
from einloom.ir.operation import Operation
from einloom.jit.arrays import array_address

__all__ = ["interpret_arrays"]


def interpret_arrays(operation: Operation, operands: Sequence[Array]) -> None:
    """Compute with operands, the output last, whose strides are the operation's."""
    units = [elements_of(operand.dtype).name for operand in operation.operands]
    interpret(operation, [_memory_of(operand, unit) for operand, unit in zip(operands, units)])


def _memory_of(array: Array, unit: str) -> Memory:
    """Return the bytes that the array reaches as elements of type `unit`, with the position of its first element."""
    if array.size == 0:
        return Memory(np.empty(0, unit))
    low, high = reach_of(array.shape, array.strides, array.itemsize)
    buffer: Any = (ctypes.c_char * (high - low)).from_address(array_address(array) + low)
    return Memory(np.frombuffer(buffer, unit), -low // np.dtype(unit).itemsize)
