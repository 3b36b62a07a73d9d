"""Thread teams: run generated work on the process's OpenMP runtime, else on a pool of Python's threads.

Work is `void entry(void *arguments, int64 thread, int64 threads)`: share `thread` of `threads`, each called exactly
once, on some thread of the team, possibly several on one. So shares must not wait for each other. Those that do, in
front of barriers in generated code, are run by `run_together`: each on a thread of its own, all at the same time.

`team_function(words)(entry, threads, word 0, …)` is one ctypes call. In a forked child the pool works, for the
parent's OpenMP threads are not there and libgomp would wait for them for ever.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from einloom.errors import DeviceError
from einloom.jit.host import host
from einloom.jit.kernel import Function, Kernel
from einloom.jit.linked import linked_code
from einloom.jit.openmp import Runtime, find_runtime
from einloom.jit.pool import Pool, run_apart
from einloom.jit.trampoline import Addresses, front, launcher
from einloom.once import once

__all__ = [
    "front_function",
    "launch_address",
    "launch_together_address",
    "run_team",
    "run_together",
    "runtime_name",
    "team_function",
]

MOST_TOGETHER = 4096

_usable = ctypes.c_int64(0)  # 1 while generated code may enter the OpenMP runtime; generated code reads it
_forked = False
_pool = Pool()


def _after_fork_in_child() -> None:
    global _forked, _pool
    _forked = True
    _usable.value = 0
    _pool = Pool()


# At import, not at first use: whether this process is a forked child cannot be found out later.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def run_team(entry: int, arguments: int | ctypes.Array[Any], threads: int) -> None:
    """Call `entry(arguments, thread, threads)` for every thread from 0, on a team, and return when all have returned.

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
    if _launcher().function(entry, arguments, threads):
        address = arguments if isinstance(arguments, int) else ctypes.addressof(arguments)
        _pool.run(entry, address, threads, host().cores)


def run_together(entry: int, arguments: ctypes.Array[Any], threads: int) -> None:
    """Call `entry(arguments, thread, threads)` for every thread from 0, all at the same time, each on its own thread.

    Raises:
        DeviceError: there are not as many threads, for instance because the caller runs in a parallel region itself;
            then nothing has been done.
    """
    done = _together_launcher().function(entry, arguments, threads)
    if done == 1:
        run_apart(entry, ctypes.addressof(arguments), threads)
    elif done == 2:
        raise DeviceError(
            f"{threads} threads have to run at the same time, for they wait for each other at barriers; "
            "the OpenMP runtime grants fewer\n  Ask for fewer threads, call from outside a parallel region, or raise "
            "OMP_THREAD_LIMIT and unset OMP_DYNAMIC."
        )


@once
def team_function(words: int, *, release_gil: bool = True) -> Callable[..., None]:
    """Return `f(entry, threads, word 0, …)`: `run_team` with a fresh block of so many 64-bit words as arguments.

    The words are integers or addresses. `release_gil` as in `Kernel.function`.
    """
    native = front_function(words, release_gil=release_gil)
    block = ctypes.c_int64 * words

    def call(entry: int, threads: int, *arguments: int) -> None:
        if native(entry, threads, *arguments):
            held = block(*arguments)
            _pool.run(entry, ctypes.addressof(held), threads, host().cores)

    return call


@once
def front_function(words: int, *, release_gil: bool = True) -> Function:
    """Return the ctypes function behind `team_function`, for callers that count nanoseconds.

    `front(entry, threads, word 0, …)` returns 0 when all is done, and 1 when nothing was done because there is no
    OpenMP runtime or this is a forked child: then call `team_function`'s.
    """
    kernel = Kernel(front(host().isa, launch_address(), words), name=f"front of {words} words")
    return kernel.function(int, *[int] * (words + 2), release_gil=release_gil)


def launch_address() -> int:
    """Return the address of `int64 launch(entry, arguments, int64 threads)`, for generated code that calls it.

    It is the same in this process and its forked children, and returns what `front_function`'s function returns.
    """
    return _launcher().address


def launch_together_address() -> int:
    """Return the address of a `launch` as `run_together` calls it: it returns 0 only if all threads ran together."""
    return _together_launcher().address


def runtime_name() -> str:
    """Return the path of the OpenMP runtime in use, or "pool"."""
    runtime = _launcher().runtime
    return runtime.path if runtime is not None and _usable.value else "pool"


@dataclass(frozen=True, slots=True)
class _Launcher:
    """The process's `launch`: its code, address, ctypes function, and the runtime that it enters."""

    kernel: Kernel
    address: int
    function: Function
    runtime: Runtime | None


@once
def _together_launcher() -> _Launcher:
    return _made(_launcher().runtime, MOST_TOGETHER, together=True)


@once
def _launcher() -> _Launcher:
    made = _made(None if _forked else find_runtime(), host().cores)
    _usable.value = int(made.runtime is not None)
    return made


def _made(runtime: Runtime | None, most: int, together: bool = False) -> _Launcher:
    functions = (runtime.parallel, runtime.thread_number, runtime.team_size) if runtime else (0, 0, 0)
    isa = host().isa

    def emit(addresses: Sequence[int]) -> bytes:
        asm, launch = launcher(isa, Addresses(*addresses), most, together)
        assert launch.position == 0
        return asm.bytes()

    key = f"launcher {isa} {most} {together}"
    kernel = Kernel(linked_code(key, [ctypes.addressof(_usable), *functions], emit), isa, name="thread team launcher")
    return _Launcher(kernel, kernel.address, kernel.function(int, int, int, int), runtime)
