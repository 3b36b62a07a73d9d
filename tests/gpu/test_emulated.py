"""Devices that a processor emulates: what bounds their kernels."""

from __future__ import annotations

from math import prod

from einloom.dtypes import FLOAT32
from einloom.jit.gpu.driver import GpuLimits
from einloom.jit.host import host
from einloom.space.candidate import Space
from einloom.space.on_cpu.rates import cpu_rates
from einloom.targets.gpu.device import device_of
from tests.gpu.leaves import kernel

POCL = GpuLimits("a processor", 4096, (4096, 4096, 4096), 2**20, 2**30, True, "processor", 2)


def test_only_multiply_adds_and_memory_bound_a_processor():
    device = device_of(POCL, [FLOAT32])
    sizes = {"m": 64, "n": 64, "k": 32}
    leaf = Space(kernel("matmul", **sizes), device).random_leaf(2)
    bound = leaf.bound()
    assert {name for name, seconds in bound.terms.items() if seconds > 0} <= {"arithmetic", "latency"}
    vectors = (prod(sizes.values()) + 64 * 64) / (host().vector_bits / 32)  # The sums, and their starts.
    peak = cpu_rates(host()).fmas * POCL.processors
    assert vectors / peak * 0.99 <= bound.terms["arithmetic"] <= 2 * vectors / peak  # Twice: one block on one of both.
    assert "arithmetic" in str(bound.explain())
