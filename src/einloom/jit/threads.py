"""Thread teams: run generated work on this process's pool of threads.

Work is `void entry(void *arguments, int64 thread, int64 threads)`: share `thread` of `threads`, each called exactly
once, on some thread of the team, possibly several on one. So shares must not wait for each other. Those that do, in
front of barriers in generated code, are run by `run_together`: each on a thread of its own, all at the same time.

The pool's threads, its workers, are the C library's and sit in generated code (`einloom.jit.pool`): Python does not
know them, and its lock is not theirs. They come when they are first needed, as many as there are other shares but never
more than the other cores, and stay; they run where the thread that first needed them may run. Where the system refuses
one, it is asked again half a second later at the earliest. A forked child has none of its parent's and makes its own.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

from einloom.errors import DeviceError
from einloom.frozen import frozen
from einloom.jit.host import host
from einloom.jit.kernel import Function, Kernel
from einloom.jit.linked import linked_code
from einloom.jit.pool import layout
from einloom.once import once

__all__ = ["launch_address", "launch_together_address", "run_team", "run_together"]

LEAST_STACK = 1 << 21
"""Bytes of a worker's stack where the system's usual one is smaller; kernels keep up to 128 KiB there."""

FAULTS = "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP"
"""Signals that say what a thread itself has done. All others are for threads that Python knows."""


def run_team(entry: int, arguments: int | ctypes.Array[Any], threads: int) -> None:
    """Call `entry(arguments, thread, threads)` for every thread from 0, on a team, and return when all have returned.

    What interrupts this, such as KeyboardInterrupt, is raised when the last share is done.

    Args:
        entry: address of the work.
        arguments: address of its argument block, or the block as a ctypes array.
        threads: how many shares there are; with 1 the calling thread does it.

    Raises:
        DeviceError: `threads` < 1, or no executable memory.
        UnsupportedTarget: this host cannot run generated code.
    """
    if threads < 1:
        raise DeviceError(f"a team of {threads} threads\n  Ask for one or more.")
    try:
        team = _pool()
    except ImportError:  # Python ends, and can no longer load what writes a pool: no share waits for another one.
        work = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(entry)
        for thread in range(threads):
            work(arguments, thread, threads)
    else:
        team.launch(entry, arguments, threads)


def run_together(entry: int, arguments: ctypes.Array[Any], threads: int) -> None:
    """Call `entry(arguments, thread, threads)` for every thread from 0, all at the same time, each on its own thread.

    A second caller waits until the first one's shares are done.

    Raises:
        DeviceError: the system refuses so many threads; then nothing has been done.
    """
    if _pool().launch_together(entry, arguments, threads):
        raise DeviceError(
            f"{threads} threads have to run at the same time, for they wait for each other at barriers; "
            "the system refuses some\n  Ask for fewer threads, or raise the limit (ulimit -u, a control group's pids)."
        )


def launch_address() -> int:
    """Return the address of `int64 launch(entry, arguments, int64 threads)`, for generated code that calls it.

    It returns 0. It is the same in this process and its forked children.
    """
    return _pool().kernel.address


def launch_together_address() -> int:
    """Return the address of a `launch` as `run_together` calls it: it returns 0 only if all threads ran together."""
    return _pool().kernel.address_of(layout.DOOR)


@frozen
class _Pool:
    """The process's pool: its code, its memory and where that begins, and the ctypes functions."""

    kernel: Kernel
    pages: mmap.mmap
    memory: int
    launch: Function
    launch_together: Function


@once
def _pool() -> _Pool:
    pages, memory = _memory()
    isa, libc = host().isa, ctypes.CDLL(None)
    functions = (_address(libc, name) for name in ("syscall", "pthread_create", "pthread_sigmask", "sched_getcpu"))
    addresses = layout.Addresses(memory, *functions)

    def emit(values: Sequence[int]) -> bytes:
        from einloom.jit.pool.code import pool_of  # Late: later processes find the code.

        return pool_of(isa, layout.Addresses(*values)).bytes()

    kernel = Kernel(linked_code(f"pool {isa}", astuple(addresses), emit), isa, name="pool of threads")
    made = _Pool(kernel, pages, memory, *(kernel.function(int, int, int, int, at=at) for at in (0, layout.DOOR)))
    # For ever: workers are in the code, and look at the memory, while the interpreter ends and takes this module apart.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    _provide(libc, memory)
    if not _is_wiped_by_forks(pages):
        _wiped_in_children.append(memory)
    return made


def _memory() -> tuple[mmap.mmap, int]:
    """Return two pages, the second of which is the memory of a pool, and its address."""
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return pages, ctypes.addressof(ctypes.c_char.from_buffer(pages)) + mmap.PAGESIZE


def _is_wiped_by_forks(pages: mmap.mmap) -> bool:
    """Let the system zero the second page in forked children, whoever forks; False where it does not know how."""
    try:
        pages.madvise(_MADV_WIPEONFORK, mmap.PAGESIZE, mmap.PAGESIZE)
    except OSError:
        return False
    return True


_MADV_WIPEONFORK = 18  # since Linux 4.14


def _address(libc: ctypes.CDLL, name: str) -> int:
    """Return the address of a function; 0 on other systems than Linux, where the code never runs."""
    function: Any = getattr(libc, name, None)
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _provide(libc: ctypes.CDLL, memory: int) -> None:
    """Write what the code finds in its memory, which is zeroed."""
    attributes, size = ctypes.c_void_p(memory + layout.ATTRIBUTES), ctypes.c_size_t()
    libc.pthread_attr_init(attributes)
    libc.pthread_attr_setdetachstate(attributes, _DETACHED)
    libc.pthread_attr_getstacksize(attributes, ctypes.byref(size))
    libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(max(size.value, LEAST_STACK)))
    signals = ctypes.c_void_p(memory + layout.SIGNALS)
    libc.sigfillset(signals)
    for name in FAULTS:
        libc.sigdelset(signals, int(getattr(signal, name)))
    ctypes.c_int64.from_address(memory + layout.LIMIT).value = host().cores - 1


_DETACHED = 1  # PTHREAD_CREATE_DETACHED

_wiped_in_children: list[int] = []
"""Memories that the system does not wipe when it forks: then Python's forks do."""


def _after_fork_in_child() -> None:
    for memory in _wiped_in_children:
        ctypes.memset(memory, 0, layout.SLOTS_END)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
