"""`Executable`: a program mapped into this process, ready to run on addresses."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np

from einloom.jit.arrays import array_address
from einloom.jit.kernel import Kernel
from einloom.jit.threads import launch_address, launch_together_address, run_team, run_together
from einloom.once import once
from einloom.targets.image import SYNC_BYTES, Image

__all__ = ["Executable", "let_others_run", "release_scratch", "scratch"]

ALIGNMENT = 4096
"""Scratch begins where a page does: programs place what leaves it so that no vector is stored across pages."""

Memory: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint8]]


class _Arena:
    """Scratch of a Python thread, as large as its largest demand; none while a call has it."""

    __slots__ = ("__weakref__", "memory")

    def __init__(self) -> None:
        self.memory: Memory | None = None
        _arenas.add(self)


class _Mine(threading.local):
    def __init__(self) -> None:
        self.arena = _Arena()


_arenas: weakref.WeakSet[_Arena] = weakref.WeakSet()
_mine = _Mine()


@contextmanager
def scratch(size: int) -> Generator[int]:
    """Give the address of `size` bytes that begin where a page does; 0 for none.

    The call takes them along and puts them back. So a signal handler that computes meanwhile has scratch of its own,
    and a daemon thread that is inside generated code keeps its scratch when the interpreter ends.
    """
    if not size:
        yield 0
        return
    arena = _mine.arena
    memory, arena.memory = arena.memory, None
    if memory is None or memory.size < size + ALIGNMENT:
        memory = np.empty(size + ALIGNMENT, np.uint8)
    try:
        yield -(-array_address(memory) // ALIGNMENT) * ALIGNMENT
    finally:
        arena.memory = memory


def release_scratch() -> None:
    """Give back the scratch of all threads that are not using it."""
    for arena in list(_arenas):
        arena.memory = None


class Executable:
    """A program's image and the mapped code.

    Args:
        image: what to run; at the first execution this host must be one that can.
    """

    def __init__(self, image: Image) -> None:
        self.image = image
        self.kernel = Kernel(image.code, image.isa, image.features, name="tensor operation", labels=image.labels)
        self._block = ctypes.c_int64 * (image.operands + 1)

    def __call__(self, addresses: Sequence[int], threads: int) -> None:
        """Run on operands whose index 0 lies at `addresses` (inputs, then the output), on up to `threads` threads.

        The threads of a team without barriers share the cores, however many they are.

        Raises:
            UnsupportedTarget: the code does not run here.
            DeviceError: there are barriers, and not as many threads as wait there.
        """
        with scratch(self.scratch_bytes(threads)) as place:
            self.run(addresses, threads, place)

    def run(self, addresses: Sequence[int], threads: int, place: int) -> None:
        """Run as a call does, with scratch of `scratch_bytes(threads)` at `place`."""
        if self.image.has_sync:
            self._run_team(*addresses, place)
            return
        shares, block = self.shares(threads), self._block(*addresses, place)
        if shares == 1:
            self.kernel.call(ctypes.addressof(block), 0, 1, at=self.image.entry)
        else:
            run_team(self.address, block, shares)

    def _run_team(self, *words: int) -> None:
        sync = (ctypes.c_int64 * (SYNC_BYTES // 8))()
        block = (ctypes.c_int64 * (len(words) + 2))(*words, ctypes.addressof(sync), let_others_run())
        run = run_together if self.image.together else run_team
        run(self.address, block, self.image.team)

    @property
    def launch(self) -> int:
        """The address of the function that starts the threads; see `einloom.jit.threads`."""
        return launch_together_address() if self.image.together else launch_address()

    @property
    def address(self) -> int:
        """The address of the program's function."""
        return self.kernel.address_of(self.image.entry)

    def shares(self, threads: int) -> int:
        """Return among how many threads the work is shared if up to `threads` may be used."""
        return self.image.team or min(threads, self.image.shared_trips)

    def scratch_bytes(self, threads: int) -> int:
        """Return the scratch of all these threads together, in bytes."""
        return self.image.scratch_bytes * self.shares(threads)


@once
def let_others_run() -> int:
    """Return the address of the C library's function that gives the rest of a thread's time to others."""
    return ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value or 0
