"""Devices that a processor emulates: what bounds their kernels, and the barriers that their compilers need."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from einloom.dtypes import FLOAT32
from einloom.ir.gpu.text import read_launch, write_launch
from einloom.jit.gpu.driver import GpuLimits
from einloom.jit.host import host
from einloom.space.candidate import Space
from einloom.space.on_cpu.rates import cpu_rates
from einloom.targets.gpu.device import device_of
from einloom.targets.gpu.emulated import fitted_launch
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


LOOPS = """
launch f
  thread n 4
  global out float32 b 4
  register float32 r 1
  shared float32 t 4
  loop i 2
    loop j 2
      t[n] = r[0] shared
      barrier
      r[0] = t[0] if n < 3
    loop k 2
      r[0] = 0
  b[n] = r[0] global
"""


def test_loops_that_hold_a_barrier_begin_and_end_with_one_on_processors():
    launch = read_launch(LOOPS)
    fitted = write_launch(fitted_launch(launch, POCL))
    assert fitted.split("loop i 2\n")[1] == (
        "    barrier\n    loop j 2\n      barrier\n      t[n] = r[0] shared\n      barrier\n"
        "      r[0] = t[0] if n < 3\n      barrier\n    loop k 2\n      r[0] = 0\n    barrier\n  b[n] = r[0] global"
    )
    assert fitted_launch(read_launch(fitted), POCL) == read_launch(fitted)
    assert fitted_launch(launch, replace(POCL, architecture="sm_90")) is launch
