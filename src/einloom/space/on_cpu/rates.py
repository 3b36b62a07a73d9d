"""What one core of a processor can do at best: limits, for bounds. A mean of measurements would cut good schedules."""

from __future__ import annotations

from dataclasses import dataclass

from einloom.machine import Machine

__all__ = ["CpuRates", "cpu_rates"]

FASTEST_CLOCK = 6.2e9
"""Cycles a second of the fastest core that is sold: turbo of an Intel Core i9-14900KS, by its data sheet."""

MOST_FMAS = {"avx512": 2, "avx2": 2, "neon": 4}
"""Vector multiply-adds that a core starts in a cycle, at most (Arm and Apple cores have four narrow units)."""

MOST_STORES = 2
"""Vector stores that a core finishes in a cycle, at most (Zen 3 and later, Golden Cove: 2 of 256 bits)."""

LINE_BYTES = 64
"""Bytes that a level of the caches delivers to the one above in a cycle, at most: one line."""

MEMORY_BYTES = 500e9
"""Bytes a second that one core reads from memory, at most: far above any core's line fill buffers."""

MARGIN = 1.03
"""How much above the best that was ever measured a rate may still be."""


@dataclass(frozen=True, slots=True)
class CpuRates:
    """Limits of one core.

    Attributes:
        clock: cycles a second.
        fmas, stores: vector multiply-adds and stores a cycle.
        l2, l3, memory: bytes a second that come from these levels.
    """

    clock: float
    fmas: float
    stores: float
    l2: float
    l3: float
    memory: float


def cpu_rates(machine: Machine) -> CpuRates:
    """Return the limits of a machine: the best that was recorded of it, with a margin, else those of any processor."""
    fmas = MOST_FMAS.get(machine.vector, 4)
    if machine.rates is None:
        line = LINE_BYTES * FASTEST_CLOCK
        return CpuRates(FASTEST_CLOCK, fmas, MOST_STORES, line, line, MEMORY_BYTES)
    lanes = machine.vector_bits / 32
    peak = max(machine.rates.float32, 2 * machine.rates.float64)
    return CpuRates(
        clock=MARGIN * peak / (2 * lanes * machine.vectors.fmas_per_cycle),
        fmas=machine.vectors.fmas_per_cycle,
        stores=MOST_STORES,
        l2=MARGIN * max(machine.rates.l2, machine.rates.l3),
        l3=MARGIN * max(machine.rates.l3, machine.rates.memory),
        memory=MARGIN * machine.rates.memory,
    )
