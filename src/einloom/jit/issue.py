"""`issue_rates`: how many instructions of some kinds one core of this machine starts a second, measured with code.

The code is loops of independent instructions, each the cheapest of its kind, on data in L1: no other code is faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from einloom.asm import Assembler
from einloom.jit.kernel import Kernel
from einloom.machine import Machine

__all__ = ["issue_rates"]

TRIPS, BODY, REPEATS = 1000, 96, 300


def issue_rates(machine: Machine) -> dict[str, float]:
    """Return instructions, loads, shuffles of 512 bits and gathers a second; without what it does not have.

    >>> from einloom.jit.host import host
    >>> rates = issue_rates(host())
    >>> all(rate > 1e6 for rate in rates.values())
    True
    """
    if machine.isa != "x86_64":
        return {}
    kinds: dict[str, Callable[[Any], None]] = {"instructions": _instructions, "loads": _loads}
    if machine.vectors.family == "avx512":
        kinds |= {"shuffles": _shuffles, "gathers": _gathers, "full_gathers": _full_gathers}
    data = np.zeros(128, np.uint8)
    return {kind: _rate(body, data.ctypes.data) for kind, body in kinds.items()}


def _rate(body: Callable[[Any], None], address: int) -> float:
    """Return how many instructions of a loop's body run a second: the best of some repeats."""
    asm: Any = Assembler("x86_64")
    asm.mov(asm.rsi, TRIPS)
    top = asm.label("trip")
    body(asm)
    asm.sub(asm.rsi, 1)
    asm.jnz(top)
    asm.vzeroupper()
    asm.ret()
    kernel, least = Kernel(asm, name="issues"), inf
    for _ in range(REPEATS):
        begin = time.perf_counter()
        kernel.call(address)
        least = min(least, time.perf_counter() - begin)
    return TRIPS * BODY / least


def _instructions(asm: Any) -> None:
    for _ in range(BODY):
        asm.nop()


def _loads(asm: Any) -> None:
    from einloom.asm.x86 import mem

    for number in range(BODY):
        asm.mov((asm.rax, asm.rcx, asm.rdx, asm.r8)[number % 4], mem(asm.rdi, 8 * (number % 8)))


def _shuffles(asm: Any) -> None:
    for number in range(BODY):
        asm.vshufps(asm.zmm[number % 16], asm.zmm[16], asm.zmm[17], 0)


def _gathers(asm: Any) -> None:
    """No lane is asked for: what is left is what every gather costs."""
    from einloom.asm.x86 import mem

    for number in range(BODY):
        masked = asm.ymm[number % 16] | asm.k[1 + number % 7]
        if number < 7:
            asm.kxorw(asm.k[1 + number], asm.k[1 + number], asm.k[1 + number])
        asm.vgatherqps(masked, mem(asm.rdi, 0, asm.zmm[16]))


def _full_gathers(asm: Any) -> None:
    """All lanes of the same element."""
    from einloom.asm.x86 import mem

    asm.vpxord(asm.zmm[16], asm.zmm[16], asm.zmm[16])
    for number in range(BODY):
        mask = asm.k[1 + number % 7]
        asm.kxnorw(mask, mask, mask)
        asm.vgatherqps(asm.ymm[number % 16] | mask, mem(asm.rdi, 0, asm.zmm[16]))
