"""`bound_line`: what no program can beat on one core of this machine, from its measured peak and bandwidth.

Measured once in a process, in less than a tenth of a second, when somebody asks.
"""

from __future__ import annotations

import time
from functools import cache

import numpy as np

from einloom.ir.operation import Operation
from einloom.jit.peak import peak_flops

__all__ = ["bound_line"]

COPIED = 32 * 2**20
"""Bytes of the array that is copied: more than the caches of one core hold."""


def bound_line(operation: Operation) -> str:
    """Return one line: the least time of an operation on one core, and what that follows from.

    Raises:
        UnsupportedTarget: this machine has no vector ISA that kernels are written for.
    """
    flops, bandwidth = _peak(operation.output.dtype.name), _bandwidth()
    arithmetic, traffic = operation.flops / flops, operation.bytes / bandwidth
    reason = "arithmetic" if arithmetic >= traffic else "memory"
    return (
        f"at least {max(arithmetic, traffic) * 1e3:.3g} ms on one core of this machine, by its {reason}: "
        f"{flops / 1e9:.0f} GFLOP/s, copies at {bandwidth / 1e9:.1f} GB/s"
    )


@cache
def _peak(dtype: str) -> float:
    return peak_flops(dtype, 1, 0.02)


@cache
def _bandwidth() -> float:
    """Bytes a second, read and written, of the fastest of some plain copies."""
    source, target = np.ones(COPIED, np.uint8), np.zeros(COPIED, np.uint8)
    least = float("inf")
    for _ in range(4):
        begin = time.perf_counter()
        np.copyto(target, source)
        least = min(least, time.perf_counter() - begin)
    return 2 * COPIED / least
