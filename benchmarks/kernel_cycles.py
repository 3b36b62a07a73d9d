"""How long kernels take, beside what the cost model predicts: cycles of random products of up to 100 x 100 x 100.

A cycle is what a loop of independent multiply-adds takes for as many as begin in one (the cost model's cycle, too); it
is measured before and after each kernel, so that neither the clock nor a busy neighbour changes the ratio. The median
of several rounds counts. Operands lie in L1 where they fit; what others wait for, the cost model counts elsewhere.

    python benchmarks/kernel_cycles.py            # both types, 100 sizes
    python benchmarks/kernel_cycles.py avx2 300   # of another vector ISA; 300 sizes
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable

import numpy as np

from einloom.asm import Assembler
from einloom.bench.data import aligned_copy
from einloom.dtypes import DType, data_type
from einloom.jit import Kernel, host
from einloom.kernels import Brgemm, machine_for
from einloom.kernels.contraction.bands import tiling_of
from einloom.kernels.contraction.product import Product
from einloom.kernels.contraction.tiles import Demand
from einloom.kernels.repeat import emit_repeated
from einloom.machine import Machine

LARGEST = 100
ROUNDS = 25
SHORTEST = 60
"""Cycles of the kernels that count: of shorter ones, one call after the other waits for the same C."""

IN_L1 = 0.75
"""Share of L1 that the operands of a kernel fill at most, to count as in L1."""

Timed = Callable[[], float]


def peak_cycle(machine: Machine) -> Timed:
    """Return what measures the seconds of a cycle by independent multiply-adds."""
    asm = Assembler(machine.isa)
    km = machine_for(asm, machine)
    vec = km.vectors(data_type("float32"))
    count, chains = 48, 12
    for register in vec.registers:
        vec.zero(register)
    with km.loop(km.arguments[0], km.arguments[0]):
        for number in range(count):
            vec.fma(vec.registers[number % chains], vec.registers[-1], vec.registers[-2])
    vec.finish()
    km.return_()
    run, trips = Kernel(asm).function(None, int), 1000

    def measure() -> float:
        begin = time.perf_counter()
        run(trips)
        return (time.perf_counter() - begin) / (trips * count) * machine.vectors.fmas_per_cycle

    return measure


def timed_kernel(spec: Brgemm, machine: Machine) -> Timed:
    """Return what measures the seconds of a call of a kernel."""
    asm = Assembler(machine.isa)
    entry = emit_repeated(machine_for(asm, machine), spec)
    run = Kernel(asm).function(None, int, int, at=entry)
    sizes = (spec.m * spec.k, spec.k * spec.n, spec.m * spec.n)
    operands = [aligned_copy(np.zeros(size, spec.dtype.name)) for size in sizes]
    block = np.array([operand.ctypes.data for operand in operands], np.int64)
    repeats = max(1, min(2000, 50_000 // (20 + spec.flops // 40)))

    def measure() -> float:
        begin = time.perf_counter()
        run(block.ctypes.data, repeats)
        return (time.perf_counter() - begin) / repeats + 0.0 * len(operands)  # which it keeps alive

    return measure


def cycles_of(kernel: Timed, peak: Timed) -> float:
    """Return the measured cycles of a kernel."""
    kernel()
    found, before = list[float](), peak()
    for _ in range(ROUNDS):
        seconds, after = kernel(), peak()
        found.append(2 * seconds / (before + after))
        before = after
    return statistics.median(found)


def compared(dtype: DType, size: tuple[int, ...], machine: Machine, peak: Timed) -> tuple[float, float, bool]:
    """Return the predicted and the measured cycles of a product of column-major matrices, and whether it fits L1."""
    m, n, k = size
    spec = Brgemm(dtype, m, n, k, a=(1, 0, m, 0), b=(0, k, 1, 0), c=(1, m))
    tiling = tiling_of(Demand.of(Product.of(spec), machine, in_order=True))
    measured = cycles_of(timed_kernel(spec, machine), peak)
    fits = (m * k + k * n + m * n) * dtype.size <= IN_L1 * machine.l1d
    return tiling.step * k + tiling.end, measured, fits


def main(vector: str, count: int) -> None:
    """Measure and print."""
    machine, choose = host().with_vector(vector), random.Random(1)
    peak = peak_cycle(machine)
    for dtype in map(data_type, ("float32", "float64")):
        sizes = [tuple(choose.randint(1, LARGEST) for _ in "mnk") for _ in range(count)]
        rows = [(size, *compared(dtype, size, machine, peak)) for size in sizes]
        for text, here in (("in L1", True), ("larger", False)):
            ratios = sorted((p / c, size) for size, p, c, fits in rows if fits == here and c >= SHORTEST)
            if not ratios:
                continue
            values = [ratio for ratio, _ in ratios]
            within = sum(0.9 <= ratio <= 1.1 for ratio in values) / len(values)
            print(f"{vector} {dtype} {text}: {len(values)} kernels, predicted / measured ", end="")
            print(f"{statistics.median(values):.2f} (median), {within:.0%} within a tenth")
            for ratio, size in (*ratios[:3], *ratios[-3:]):
                print(f"    {ratio:.2f}  {'x'.join(map(str, size))}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vector", nargs="?", default=host().vector, help="a vector ISA (default: the best here)")
    parser.add_argument("count", nargs="?", type=int, default=100, help="sizes (default: 100)")
    given = parser.parse_args()
    main(given.vector, given.count)
