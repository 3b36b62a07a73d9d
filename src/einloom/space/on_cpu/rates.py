"""What one core of a processor can do at best: limits, for bounds. A mean of measurements would cut good schedules."""

from __future__ import annotations

from dataclasses import astuple, replace
from math import inf

from einloom.frozen import frozen
from einloom.machine import Machine

__all__ = ["FASTEST_CLOCK", "MARGIN", "CpuRates", "cpu_rates"]

FASTEST_CLOCK = 6.2e9
"""Cycles a second of the fastest core that is sold: turbo of an Intel Core i9-14900KS, by its data sheet."""

MOST_FMAS = {"avx512": 2, "avx2": 2, "neon": 4, "sve": 4}
"""Vector multiply-adds that a core starts in a cycle, at most (Arm and Apple cores have four narrow units)."""

MOST_STORES = 2
"""Stores that a core finishes in a cycle, at most (Zen 3 and later, Golden Cove: 2 of 256 bits)."""

MOST_CALLS = 1
"""Calls that a core makes in a cycle, at most: with the return and the loop's branch three taken branches."""

LINE_BYTES = 64
"""Bytes that a level of the caches delivers to the one above in a cycle, at most: one line."""

MEMORY_BYTES = 500e9
"""Bytes a second that one core reads from memory, at most: far above any core's line fill buffers."""

MARGIN = 1.03
"""How much above the best that was ever measured a rate may still be."""


@frozen
class CpuRates:
    """Limits of one core, a second. The last five limit what the code of schedules executes, which is
    only looked at where one of them was measured.

    Attributes:
        fmas: vector multiply-adds that start.
        stores: stores that finish, of a vector or less.
        calls: calls of a primitive that return, whatever they compute.
        l2, l3, memory: bytes that come from these levels.
        instructions: that finish, branches left out.
        loads, shuffles: that start: from L1, of registers of 512 bits.
        gathers, full_gathers: that start, of whatever lanes or of all.
    """

    fmas: float
    stores: float
    calls: float
    l2: float
    l3: float
    memory: float
    instructions: float = inf
    loads: float = inf
    shuffles: float = inf
    gathers: float = inf
    full_gathers: float = inf

    @property
    def limit_code(self) -> bool:
        """Whether some of them limit what code executes."""
        return any(rate < inf for rate in self.of_code)

    @property
    def of_code(self) -> tuple[float, ...]:
        """Those that limit nothing but code."""
        return self.instructions, self.loads, self.shuffles, self.gathers, self.full_gathers

    def times(self, factor: float) -> CpuRates:
        """Return every rate so many times as fast: `MARGIN` times what was measured is what may be reached."""
        return CpuRates(*(factor * rate for rate in astuple(self)))

    def or_faster(self, other: CpuRates) -> CpuRates:
        """Return the larger one of each rate."""
        return CpuRates(*map(max, zip(astuple(self), astuple(other))))


def cpu_rates(machine: Machine) -> CpuRates:
    """Return the limits of a machine: the best that was recorded of it, with a margin, else those of any processor."""
    line = LINE_BYTES * FASTEST_CLOCK
    fmas, stores, calls = (
        most * FASTEST_CLOCK for most in (MOST_FMAS.get(machine.vectors.family, 4), MOST_STORES, MOST_CALLS)
    )
    of_any = CpuRates(fmas, stores, calls, line, line, MEMORY_BYTES)
    rates = machine.rates
    if rates is None:
        return of_any
    bits = 2 * machine.vector_bits
    return replace(
        of_any,
        fmas=MARGIN * max(rates.float32 * 32, rates.float64 * 64) / bits,
        l2=MARGIN * max(rates.l2, rates.l3),
        l3=MARGIN * max(rates.l3, rates.memory),
        memory=MARGIN * rates.memory,
    )
