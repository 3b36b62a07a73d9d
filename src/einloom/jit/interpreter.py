"""`Interpreter`: where CPython and NumPy keep what generated entries read, as data; and whether this process is so.

Offsets are in bytes. They are those of CPython 3.11 to 3.14 and of NumPy 1 and 2 on 64-bit machines; a free-threaded or
debug build, another implementation, or a version that moved something is recognised by looking at live objects, and
then there are no generated entries: calls go through Python and ctypes.

>>> Interpreter(functions={"Py_IncRef": 4096}).function("Py_IncRef")
4096
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from einloom.frozen import frozen
from einloom.once import once

__all__ = ["Interpreter", "integer_image", "known_interpreter", "looks_right"]

FUNCTIONS = (
    "PyContextVar_Get",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
    "PyMethod_New",
    "PyObject_Call",
    "PyObject_GetItem",
    "PyObject_Vectorcall",
    "PyVectorcall_Call",
    "Py_DecRef",
    "Py_IncRef",
)
"""The functions of Python's C interface that entries call."""

_word_at = ctypes.c_uint64.from_address
_half_at = ctypes.c_uint32.from_address


@frozen
class Interpreter:
    """The layout of objects, and addresses of functions by name.

    Attributes:
        type: of any object: its type.
        tuple_size, tuple_items: of a tuple: how many items, the first of them.
        data, axes, extents, strides, dtype, flags: of an array: its data, the number of axes (32 bits), the tables of
            extents and of strides in bytes, its type of elements, its flags (32 bits).
        writeable: the bit of the flags that says so.
        number: of an int: 8 bytes that tell sign and length, and the lowest 30 bits behind them.
        type_flags, has_entries: of a type: its flags, and the bit that says that its instances have an entry.
        entry: of an instance of `Native`: the address of its entry.
        functions: addresses of `FUNCTIONS`.
    """

    functions: Mapping[str, int] = field(hash=False)
    type: int = 8
    tuple_size: int = 16
    tuple_items: int = 24
    data: int = 16
    axes: int = 24
    extents: int = 32
    strides: int = 40
    dtype: int = 56
    flags: int = 64
    writeable: int = 0x400
    number: int = 16
    type_flags: int = 168
    has_entries: int = 1 << 11
    entry: int = 16

    def function(self, name: str) -> int:
        """Return the address of a function of Python's C interface."""
        return self.functions[name]


@once
def known_interpreter() -> Interpreter | None:
    """Return the description of this process's interpreter, or None where it is not one that is known for certain."""
    if sys.implementation.name != "cpython" or sys.maxsize < 2**32 or struct.calcsize("P") != 8:
        return None
    if sys.version_info < (3, 11) or object.__basicsize__ != 16:
        return None
    try:
        addresses = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in FUNCTIONS}
    except AttributeError:
        return None
    interpreter = Interpreter({name: address or 0 for name, address in addresses.items()})
    return interpreter if looks_right(interpreter) else None


def looks_right(layout: Interpreter) -> bool:
    """Return whether live objects are laid out as described. It reads memory of objects only within their size."""
    arrays = [np.zeros((2, 3), np.float32)[:, ::2], np.zeros((4, 5, 6)).T, np.frombuffer(b"read only", np.uint8)]
    pair = ("first", "second")
    return (
        _size(np.ndarray) >= layout.flags + 4
        and _size(type) >= layout.type_flags + 8
        and _word_at(id(pair) + layout.type).value == id(tuple)
        and _word_at(id(pair) + layout.tuple_size).value == 2
        and _word_at(id(pair) + layout.tuple_items).value == id(pair[0])
        and all(_is_laid_out(layout, array) for array in arrays)
        and all(_word_at(id(kind) + layout.type_flags).value == kind.__flags__ for kind in (int, tuple, Interpreter))
        and all(_image(layout, number)[1] == abs(number) for number in (7, 1 << 20, -(1 << 29)))
        and _image(layout, 7)[0] == _image(layout, 1 << 20)[0] != _image(layout, -7)[0]
    )


def _is_laid_out(layout: Interpreter, array: np.ndarray[Any, Any]) -> bool:
    place = id(array)
    extents, strides = (_word_at(place + offset).value for offset in (layout.extents, layout.strides))
    if _word_at(place + layout.type).value != id(np.ndarray) or not extents or not strides:
        return False
    flags = _half_at(place + layout.flags).value
    return (
        _word_at(place + layout.data).value == array.__array_interface__["data"][0]
        and _half_at(place + layout.axes).value == array.ndim
        and extents + 8 * array.ndim == strides  # NumPy keeps one table behind the other: they are tables.
        and tuple((ctypes.c_int64 * array.ndim).from_address(extents)) == array.shape
        and tuple((ctypes.c_int64 * array.ndim).from_address(strides)) == array.strides
        and _word_at(place + layout.dtype).value == id(array.dtype)
        and bool(flags & layout.writeable) == array.flags.writeable
    )


def _size(kind: type) -> int:
    return kind.__basicsize__


def integer_image(number: int) -> tuple[int, int | None] | None:
    """Return the bytes of an int's object that tell its value: 8, and 4 behind them unless it is 0.

    None for a number that takes more, or where the interpreter is not known.
    """
    interpreter = known_interpreter()
    if interpreter is None or abs(number) >= 2**30:
        return None
    word, digit = _image(interpreter, number)
    return word, digit if number else None


def _image(layout: Interpreter, number: int) -> tuple[int, int]:
    place = id(number) + layout.number
    return _word_at(place).value, _half_at(place + 8).value
