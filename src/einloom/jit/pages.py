"""Executable pages: bytes are written to fresh pages, which then become readable and executable, never writable again.

It knows no instructions and calls nothing; `kernel` does. Sizes are in bytes.

>>> with ExecutablePages(bytes.fromhex("c3")) as pages:
...     pages.address % 4096
0
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import sys
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any

from einloom.errors import DeviceError, UnsupportedTarget
from einloom.once import once

__all__ = ["ExecutablePages"]

_READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE
_READ_EXECUTE = mmap.PROT_READ | mmap.PROT_EXEC


class ExecutablePages:
    """Pages that hold `code` and can run it, unmapped by `free`, on leaving a `with` block, or with the object.

    A forked child has its own copy and frees only that.

    Attributes:
        address: of the first byte of the code, a multiple of the page size.
        size: of the mapping in bytes, whole pages.

    Raises:
        UnsupportedTarget: the operating system is not Linux.
        DeviceError: the system gives no memory, or refuses to make it executable, with its reason.
    """

    __slots__ = ("__weakref__", "_finalizer", "address", "size")

    def __init__(self, code: bytes) -> None:
        if not code:
            raise DeviceError("there is no code to map\n  Emit at least one instruction.")
        self.size = -(-len(code) // mmap.PAGESIZE) * mmap.PAGESIZE
        self.address = _map(self.size)
        self._finalizer = weakref.finalize(self, _unmap, self.address, self.size)
        # At interpreter exit another thread may still be inside the code, and the system frees the pages anyway.
        self._finalizer.atexit = False
        try:
            ctypes.memmove(self.address, code, len(code))
            _flush(self.address, len(code))
            _protect(self.address, self.size)
        except BaseException:
            self.free()
            raise

    def free(self) -> None:
        """Unmap the pages now; a second call does nothing. The code must not run any more."""
        self._finalizer()

    def __enter__(self) -> ExecutablePages:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.free()

    def __repr__(self) -> str:
        state = "" if self._finalizer.alive else ", freed"
        return f"ExecutablePages({self.size} bytes at {self.address:#x}{state})"


@once
def _libc() -> Any:
    """Return the C library with the prototypes that this file uses."""
    if not sys.platform.startswith("linux"):
        raise UnsupportedTarget(
            f"einloom runs machine code on Linux only, not on {sys.platform}\n"
            '  Compile for it here and run it there, or use target="interpreter".'
        )
    libc = ctypes.CDLL(None, use_errno=True)
    size, integer, pointer = ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p
    libc.mmap.argtypes = [pointer, size, integer, integer, integer, ctypes.c_long]
    libc.mmap.restype = pointer
    libc.mprotect.argtypes = [pointer, size, integer]
    libc.munmap.argtypes = [pointer, size]
    return libc


def _map(size: int) -> int:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    address = _libc().mmap(None, size, _READ_WRITE, flags, -1, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise DeviceError(f"cannot map {size} bytes for machine code: {_reason()}")
    return address


def _protect(address: int, size: int) -> None:
    if _libc().mprotect(address, size, _READ_EXECUTE):
        raise DeviceError(
            f"cannot make {size} bytes of machine code executable: {_reason()}\n"
            "  A security policy (SELinux execmem, systemd MemoryDenyWriteExecute) may forbid it: allow it for this "
            'process, or use target="interpreter".'
        )


def _unmap(address: int, size: int) -> None:
    _libc().munmap(address, size)


def _reason() -> str:
    return os.strerror(ctypes.get_errno())


def _flush(address: int, size: int) -> None:
    """Make new code visible to instruction fetch: AArch64 needs it, x86-64 keeps its caches coherent itself.

    Source: Arm Architecture Reference Manual, section B2.7.4 "Synchronization and coherency issues between data and
    instruction accesses".
    """
    if platform.machine() not in ("x86_64", "AMD64"):
        _cache_flusher()(address, address + size)


@once
def _cache_flusher() -> Callable[[int, int], None]:
    """Return `__clear_cache(begin, end)` of the compiler's runtime library.

    Python cannot execute cache maintenance itself, and generated code that does it could not run before a flush.
    """
    for name in ("libgcc_s.so.1", None):  # None: the process itself, where the interpreter was linked with it
        try:
            function = getattr(ctypes.CDLL(name), "__clear_cache")
        except (OSError, AttributeError):
            continue
        function.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        function.restype = None
        return function
    raise DeviceError(
        "found no __clear_cache to flush the instruction cache\n"
        "  Install the GCC runtime library (package libgcc-s1 or libgcc)."
    )
