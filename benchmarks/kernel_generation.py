"""How long kernels take to be generated, and how long their code is: every layout, both types, sizes up to 128x128x128.

A time is that of the first and only such kernel of a process that has compiled one small kernel of the same type and
layout before: instructions have their encoders, but neither the tiles nor the code of this size are remembered. The
least of several processes counts. Python's garbage collector, whose turns are as long as the process is large, rests.

    python benchmarks/kernel_generation.py            # medians, and the slowest kernels
    python benchmarks/kernel_generation.py avx2 20    # of another vector ISA; 20 random sizes more
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import product

from einloom.asm import Assembler
from einloom.dtypes import data_type
from einloom.jit import Kernel, host
from einloom.kernels import Brgemm, machine_for
from einloom.kernels.emit import emit_kernel
from einloom.machine import Machine

SIZES = ((128, 128, 128), (64, 64, 64), (127, 127, 127), (33, 33, 33), (16, 6, 64), (100, 3, 100), (7, 90, 41))
WARM_UP = (35, 20, 30)
PROCESSES = 5
SLOWEST = 12


def spec_of(dtype: str, layout: str, m: int, n: int, k: int) -> Brgemm:
    """Return a product with known leading dimensions; A, B and C are `c`olumn- or `r`ow-major."""
    (am, ak), (bk, bn), (cm, cn) = (
        (1, rows) if each == "c" else (columns, 1) for each, rows, columns in zip(layout, (m, k, m), (k, n, n))
    )
    return Brgemm(data_type(dtype), m, n, k, a=(am, 0, ak, 0), b=(0, bn, bk, 0), c=(cm, cn))


def generate(spec: Brgemm, machine: Machine) -> tuple[float, int, int]:
    """Return the milliseconds from a spec to a kernel, its bytes and its instructions."""
    begin = time.perf_counter()
    asm = Assembler(machine.isa)
    emit_kernel(machine_for(asm, machine), spec)
    kernel = Kernel(asm, name="kernel")
    return (time.perf_counter() - begin) * 1e3, len(kernel.code), sum(asm.counts().values())


def measure_here(vector: str, random_sizes: int) -> Iterator[tuple[str, float, int, int]]:
    """Yield (name, milliseconds, bytes, instructions) of every kernel."""
    gc.disable()
    machine, choose = host().with_vector(vector), random.Random(1)
    sizes = [*SIZES, *(tuple(choose.randint(1, 128) for _ in range(3)) for _ in range(random_sizes))]
    for dtype, layout in product(("float32", "float64"), map("".join, product("cr", repeat=3))):
        generate(spec_of(dtype, layout, *WARM_UP), machine)
        gc.collect()
        for size in sizes:
            yield f"{layout} {dtype} {'x'.join(map(str, size))}", *generate(spec_of(dtype, layout, *size), machine)


def main(vector: str, random_sizes: int) -> None:
    """Measure in several processes and print."""
    command = [sys.executable, __file__, vector, str(random_sizes), "--json"]
    runs = [json.loads(subprocess.check_output(command)) for _ in range(PROCESSES)]
    rows = [min(same, key=lambda row: row[1]) for same in zip(*runs)]
    for layout in dict.fromkeys(row[0][:3] for row in rows):
        times = [row[1] for row in rows if row[0].startswith(layout)]
        print(f"{layout}  median {statistics.median(times):5.2f} ms  slowest {max(times):5.2f} ms")
    longest, most = (max(row[i] for row in rows) for i in (2, 3))
    print(f"{len(rows)} kernels, median {statistics.median(row[1] for row in rows):.2f} ms; ", end="")
    print(f"at most {longest} bytes, {most} instructions")
    for name, milliseconds, length, count in sorted(rows, key=lambda row: -row[1])[:SLOWEST]:
        print(f"{milliseconds:6.2f} ms {length:6} bytes {count:5} instructions  {name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vector", nargs="?", default=host().vector, help="a vector ISA (default: the best here)")
    parser.add_argument("sizes", nargs="?", type=int, default=4, help="random sizes beside the fixed ones (default: 4)")
    parser.add_argument("--json", action="store_true", help="measure once, in this process, and print JSON")
    given = parser.parse_args()
    if given.json:
        print(json.dumps(list(measure_here(given.vector, given.sizes))))
    else:
        main(given.vector, given.sizes)
