"""The rates that the cost model reckons with: a machine's recorded ones, else those of its core, else typical ones."""

from __future__ import annotations

from functools import lru_cache

from einloom.machine import Machine, Rates
from einloom.passes.model.microarchitectures import microarchitecture_of

__all__ = ["TYPICAL", "rates_of"]

TYPICAL = {
    "avx512": Rates(float32=200e9, float64=100e9, l2=180e9, l3=50e9, memory=30e9, stream=20e9),
    "avx2": Rates(float32=100e9, float64=50e9, l2=120e9, l3=50e9, memory=20e9, stream=14e9),
    "neon": Rates(float32=80e9, float64=40e9, l2=80e9, l3=40e9, memory=30e9, stream=20e9),
    "sve": Rates(float32=120e9, float64=60e9, l2=100e9, l3=40e9, memory=30e9, stream=20e9),
}
"""By vector ISA, of server processors of the years 2019 to 2025 with all cores at work."""


@lru_cache(16)
def rates_of(machine: Machine) -> Rates:
    """Return the recorded rates of a machine, else its microarchitecture's, else typical ones of its vector ISA."""
    if machine.rates:
        return machine.rates
    known = microarchitecture_of(machine)
    return known.rates(machine.vector_bits) if known else TYPICAL[machine.vectors.family]
