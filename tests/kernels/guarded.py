"""Memory between unmapped pages, and a child process that survives nothing: a stray access is a fault that is seen.

`run_guarded(cases, check)` runs `check(case)` for every case in a forked child and returns the text of the first one
that complains, raises or kills the child.
"""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

PAGE = mmap.PAGESIZE
POISON = 0xFFC0DEAD
"""Bits of a quiet NaN: nobody computes it, so a byte that changed is seen, and so is a lane that was used."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_PRIVATE_ANONYMOUS_NORESERVE = 0x4022
_PROT_NONE = 0


class GuardedArray:
    """A one-dimensional array that ends (or begins) at an unmapped page; `values` is all poison at first."""

    def __init__(self, count: int, dtype: str, at_end: bool = True) -> None:
        item = np.dtype(dtype).itemsize
        pages = max(1, -(-count * item // PAGE))
        self._length = (pages + 2) * PAGE
        self._start = _libc.mmap(None, self._length, _PROT_NONE, _PRIVATE_ANONYMOUS_NORESERVE, -1, 0)
        assert self._start not in (None, ctypes.c_void_p(-1).value)
        assert _libc.mprotect(self._start + PAGE, pages * PAGE, mmap.PROT_READ | mmap.PROT_WRITE) == 0
        offset = pages * PAGE - count * item if at_end else 0
        buffer = (ctypes.c_char * (count * item)).from_address(self._start + PAGE + offset)
        self.values: Any = np.frombuffer(buffer, dtype)

    def poison(self) -> None:
        """Fill with NaN of a certain pattern."""
        self.values.view(np.uint32)[:] = POISON

    def close(self) -> None:
        """Unmap it."""
        del self.values
        _libc.munmap(self._start, self._length)


def run_guarded(cases: Sequence[Any], check: Callable[[Any], str | None]) -> str | None:
    """Return None if every case passes, else what went wrong with the first one that does not."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _run_child(cases, check, writer)
    os.close(writer)
    with os.fdopen(reader, "r") as file:
        lines = file.read().split("\x00")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"{signal.Signals(os.WTERMSIG(status)).name} in case {lines[-1]}"
    return None if os.WEXITSTATUS(status) == 0 else "\n".join(lines[-2:])


def _run_child(cases: Sequence[Any], check: Callable[[Any], str | None], writer: int) -> None:
    status = 0
    faulthandler.disable()  # The parent tells the story.
    try:
        for case in cases:
            os.write(writer, b"\x00" + repr(case).encode())
            complaint = check(case)
            if complaint:
                os.write(writer, b"\x00" + complaint.encode())
                status = 1
                break
    except BaseException:
        os.write(writer, b"\x00" + traceback.format_exc().encode())
        status = 1
    os._exit(status)
