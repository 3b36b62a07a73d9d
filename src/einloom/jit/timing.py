"""`timed_calls`: how long calls take, one after the other; `undisturbed`: what the work takes, judged by them."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence

__all__ = ["timed_calls", "undisturbed"]


def timed_calls(
    call: Callable[[], object],
    seconds: float,
    hopeless: float = float("inf"),
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Return the seconds of each call: two at least, and for at least so many seconds.

    Args:
        call: the work.
        seconds: how long to go on.
        hopeless: a first call that takes longer than this is the only one.
        clock: what tells the time; `time.thread_time` counts only while the calling thread runs.
    """
    times, spent = list[float](), 0.0
    collects = gc.isenabled()
    gc.disable()
    try:
        while len(times) < 2 or spent < seconds:
            begin = clock()
            call()
            times.append(clock() - begin)
            spent += times[-1]
            if times[0] > hopeless:
                break
    finally:
        if collects:
            gc.enable()
    return times


def undisturbed(times: Sequence[float]) -> float:
    """Return the least of some times, but for those that no call can have taken.

    A clock of processor time leaves out what a hypervisor took of the core, at times within a call that lost nothing:
    times under half of the median, 0 among them, are its mistakes.

    >>> undisturbed([3.0, 2.0, 0.0, 2.5, 9.0])
    2.0
    """
    usual = statistics.median(times)
    return min(each for each in times if 2 * each >= usual)
