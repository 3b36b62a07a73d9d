"""`timed_calls`: how long calls take, one after the other; the least of them is what the work takes undisturbed."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

__all__ = ["timed_calls"]


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
