"""Scratch for generated entries: buffers of powers of two bytes, each used by one call at a time.

An entry takes the buffer by storing 0 in the word that holds its address, and puts it back; the interpreter's lock is
held at both times. An entry that finds 0 hands over to Python, which has scratch of its own for every thread.
"""

from __future__ import annotations

import ctypes
import os

import numpy as np

from einloom.once import once

__all__ = ["scratch_word"]

ALIGNMENT = 4096
_CLASSES = 48

_words = (ctypes.c_uint64 * _CLASSES)()
_buffers: dict[int, np.ndarray[tuple[int], np.dtype[np.uint8]]] = {}


def scratch_word(size: int) -> int:
    """Return the address of the word that holds the address of a buffer of at least `size` bytes, for ever."""
    place = max(size - 1, ALIGNMENT - 1).bit_length()
    _provided(place)
    return ctypes.addressof(_words) + 8 * place


@once
def _provided(place: int) -> None:
    buffer = _buffers[place] = np.empty((1 << place) + ALIGNMENT, np.uint8)
    # For ever: daemon threads may be inside generated code while the interpreter ends and takes this module apart.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(buffer))
    _put_back(place)


def _put_back(place: int) -> None:
    _words[place] = -(-_buffers[place].ctypes.data // ALIGNMENT) * ALIGNMENT


def _after_fork_in_child() -> None:
    """What another thread of the parent had taken is free: that thread does not exist here."""
    for place in list(_buffers):
        _put_back(place)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
