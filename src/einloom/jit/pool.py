"""A team from threads of the standard library: where there is no OpenMP runtime, and in forked children.

It needs no generated code of its own. A share is taken and done inside one loop in C, so no signal handler of Python
can run between the two: every share is done exactly once, whatever interrupts the caller.

>>> Pool().threads
0
"""

from __future__ import annotations

import _thread
import ctypes
import itertools
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue

from einloom.errors import DeviceError

__all__ = ["Pool", "run_apart"]

_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class _Job:
    """One team's work: shares to take, and how many are done."""

    __slots__ = ("_arguments", "_entry", "_finished", "_shares", "_untaken", "_wake")

    def __init__(self, entry: int, arguments: int, shares: int) -> None:
        self._entry = _ENTRY(entry)
        self._arguments = arguments
        self._shares = shares
        self._untaken = deque(range(shares))
        self._finished: deque[None] = deque()
        # A bare lock, held until the last share is done: an interrupt can leave an Event locked for ever.
        self._wake = threading.Lock()
        self._wake.acquire()

    def work(self) -> None:
        """Do shares until all are taken."""
        shares = iter(self._untaken.popleft, None)
        work = map(self._entry, itertools.repeat(self._arguments), shares, itertools.repeat(self._shares))
        with suppress(IndexError):  # popleft's: nothing is left to take
            deque(map(self._finished.append, work), maxlen=0)
        if len(self._finished) == self._shares:
            with suppress(RuntimeError):  # another thread has released it: both came to the end at once
                self._wake.release()

    def finish(self) -> None:
        """Work, and wait for the others; return when the last share is done."""
        while len(self._finished) < self._shares:
            self.work()
            if len(self._finished) < self._shares:
                self._wake.acquire()


class Pool:
    """Helper threads that come when they are first needed and stay.

    The caller takes part and never waits for a share that nobody has begun: it does that itself. So nested use cannot
    wait for itself, and helpers that are busy, or that the system refuses, only cost time.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._lock = threading.Lock()
        self.threads = 0

    def run(self, entry: int, arguments: int, shares: int, team: int) -> None:
        """Call `entry(arguments, share, shares)` for every share on up to `team` threads; return when all are done.

        What interrupts this, such as KeyboardInterrupt, is raised when the last share is done: until then helpers use
        the arguments.
        """
        job = _Job(entry, arguments, shares)
        helpers = min(team, shares) - 1
        interrupt: BaseException | None = None
        while True:
            try:
                self._invite(job, helpers)
                job.finish()
                break
            except BaseException as error:
                interrupt, helpers = error, 0
        if interrupt is not None:
            raise interrupt

    def _invite(self, job: _Job, helpers: int) -> None:
        self._start(helpers)
        for _ in range(helpers):
            self._jobs.put(job)

    def _start(self, wanted: int) -> None:
        with self._lock, suppress(RuntimeError):  # RuntimeError: no more threads, or the interpreter is ending
            while self.threads < wanted:
                _thread.start_new_thread(self._help, ())  # threading.Thread.start waits on an Event
                self.threads += 1

    def _help(self) -> None:
        while True:
            self._jobs.get().work()


def run_apart(entry: int, arguments: int, shares: int) -> None:
    """Call `entry(arguments, share, shares)` for every share, all at the same time, each on a new thread.

    No share begins before all threads are there. What interrupts the caller is raised when the last share is done.

    Raises:
        DeviceError: the system refuses a thread; then nothing has been done.
    """
    work, gate, ended = _ENTRY(entry), threading.Lock(), threading.Semaphore(0)
    begin: list[bool] = []

    def member(share: int) -> None:
        with gate:
            pass
        if begin:
            work(arguments, share, shares)
        ended.release()

    with gate:
        started = _started(member, shares)
        if started == shares:
            begin.append(True)
    interrupt: BaseException | None = None
    while started:
        try:
            ended.acquire()
            started -= 1
        except BaseException as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt
    if not begin:
        raise DeviceError(f"the system refuses {shares} threads at the same time\n  Ask for fewer.")


def _started(member: Callable[[int], None], count: int) -> int:
    for share in range(count):
        try:
            _thread.start_new_thread(member, (share,))
        except RuntimeError:
            return share
    return count
