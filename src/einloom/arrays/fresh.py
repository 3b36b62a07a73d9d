"""`fresh`: arrays for results, whose memory begins where a cache line does.

NumPy's large arrays begin 16 bytes behind one, so that every vector that is stored lies in two lines: where more is
written than computed that costs up to two fifths of the time. NumPy lets others allocate for it (NEP 49): here the C
library's `aligned_alloc`, beside CPython's own `calloc`, `realloc` and `free`, which do not look at their first
argument. Arrays own their memory as all do, and no code of einloom runs when they are freed.

>>> fresh((512, 512), np.dtype(np.float32)).ctypes.data % LINE
0
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from einloom.jit.arrays import array_address

__all__ = ["LEAST", "LINE", "fresh"]

LINE = 64
"""Bytes of a cache line: of x86-64, and a common multiple of those of AArch64."""

LEAST = 1 << 18
"""Bytes from which on it is worth the 2 us that it takes."""

HUGE = 1 << 22
"""Bytes from which on NumPy asks Linux for huge pages where it allocates itself."""

SET_HANDLER, ABI_VERSION, KNOWN_ABIS = 304, 0, (0x1000009, 0x2000000)
"""Places in NumPy's table of C functions, and the versions of it that have them there."""

MADV_HUGEPAGE, PAGE = 14, 4096

Handlers = Callable[[object], object]


class Allocator(ctypes.Structure):
    """Functions with what each takes first: CPython's `PyMemAllocatorEx`, and a part of NumPy's `PyDataMem_Handler`."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in ("context", "malloc", "calloc", "realloc", "free"))


class Handler(ctypes.Structure):
    """NumPy's `PyDataMem_Handler`."""

    _fields_ = (("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("allocator", Allocator))


def fresh(shape: tuple[int, ...], dtype: np.dtype[Any], order: Literal["C", "F"] = "C") -> np.ndarray[Any, Any]:
    """Return an array as `numpy.empty` does; one of `LEAST` bytes or more begins where a cache line does."""
    size = math.prod(shape) * dtype.itemsize
    if size < LEAST or _set_handler is None:
        return np.empty(shape, dtype, order)
    before = _set_handler(_HANDLER)
    try:
        array = np.empty(shape, dtype, order)
    finally:
        _set_handler(before)
    if size >= HUGE:
        begin = -(-array_address(array) // PAGE) * PAGE
        _LIBRARY.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(size - PAGE), MADV_HUGEPAGE)
    return array


def _handler() -> tuple[Handlers | None, object]:
    """Return NumPy's function that exchanges handlers and the one for cache lines; None where they cannot be had.

    Debug builds and `PYTHONMALLOC=debug` free by functions that look at their first argument.
    """
    table, own = _functions(), Allocator()
    if table is None:
        return None, None
    ctypes.pythonapi.PyMem_GetAllocator(0, ctypes.byref(own))
    if own.context:
        return None, None
    allocate = ctypes.cast(_LIBRARY.aligned_alloc, ctypes.c_void_p).value
    # Arrays may outlive all modules: what they are freed by stays.
    _LIBRARY.malloc.restype = ctypes.c_void_p
    place = _LIBRARY.malloc(ctypes.sizeof(Handler) + len(_KIND))
    handler = Handler.from_address(place)
    handler.name, handler.version = b"einloom: cache lines", 1
    handler.allocator = Allocator(LINE, allocate, own.calloc, own.realloc, own.free)
    kind = place + ctypes.sizeof(Handler)
    ctypes.memmove(kind, _KIND, len(_KIND))
    capsule = ctypes.PYFUNCTYPE(ctypes.py_object, *[ctypes.c_void_p] * 3)(("PyCapsule_New", ctypes.pythonapi))
    exchange = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[SET_HANDLER])
    return exchange, capsule(place, kind, None)


_LIBRARY = ctypes.CDLL(None)
_KIND = b"mem_handler\0"
"""What NumPy calls capsules of handlers."""


def _functions() -> Any:
    """Return the table of NumPy's C functions, or None where it is not a known one."""
    names = ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath")
    module: Any = next((sys.modules[name] for name in names if name in sys.modules), None)
    if sys.implementation.name != "cpython" or module is None:
        return None
    opened = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    address = opened(("PyCapsule_GetPointer", ctypes.pythonapi))(module._ARRAY_API, None)
    table = ctypes.cast(address, ctypes.POINTER(ctypes.c_size_t))
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(table[ABI_VERSION])()
    return table if version in KNOWN_ABIS else None


_set_handler, _HANDLER = _handler()
