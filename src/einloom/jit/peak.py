"""`peak_flops`: what the multiply-add units of this machine deliver, measured with generated code on so many threads.

The code is a loop of independent multiply-adds between registers: no other code can be faster.
"""

from __future__ import annotations

import time
from typing import Any

from einloom.asm import Assembler
from einloom.asm.aarch64.scalable_operands import p, z
from einloom.errors import UnsupportedTarget
from einloom.jit.host import host
from einloom.jit.kernel import Kernel
from einloom.jit.threads import run_team
from einloom.once import once

__all__ = ["multiply_add_loop", "peak_flops"]

_TRIPS = 50_000
_ELEMENT_BITS = {"float32": 32, "float64": 64}
_SUFFIX = {"float32": "ps", "float64": "pd"}


def peak_flops(dtype: str, threads: int, seconds: float) -> float:
    """Return the flop a second of all threads together: the best of repeats for so many seconds, and of three at least.

    Raises:
        UnsupportedTarget: this machine has no vector ISA that kernels are written for.
    """
    kernel, flops = _mapped_loop(host().vector, dtype)
    least, spent, repeats = float("inf"), 0.0, 0
    while repeats < 3 or spent < seconds:
        begin = time.perf_counter()
        run_team(kernel.address, _TRIPS, threads)
        passed = time.perf_counter() - begin
        least, spent, repeats = min(least, passed), spent + passed, repeats + 1
    return threads * _TRIPS * flops / least


@once
def _mapped_loop(vector: str, dtype: str) -> tuple[Kernel, int]:
    asm, flops = multiply_add_loop(vector, dtype)
    return Kernel(asm, name=f"multiply-adds {dtype}"), flops


def multiply_add_loop(vector: str, dtype: str) -> tuple[Assembler, int]:
    """Return `void loop(int64 trips, …)`, and the flop of a trip. All numbers are zero.

    Raises:
        UnsupportedTarget: there is no such vector ISA.
    """
    if vector == "neon":
        return _neon_loop(dtype)
    if vector.startswith("sve"):
        return _sve_loop(dtype, int(vector.removeprefix("sve")))
    if vector not in ("avx2", "avx512"):
        raise UnsupportedTarget(f"no vector ISA to measure the peak of: {vector!r}")
    return _x86_loop(dtype, vector == "avx512")


def _x86_loop(dtype: str, wide: bool) -> tuple[Assembler, int]:
    asm: Any = Assembler("x86_64")
    registers = asm.zmm if wide else asm.ymm
    *sums, first, second = registers[: 26 if wide else 14]
    clear = asm.vpxord if wide else asm.vpxor
    multiply_add = getattr(asm, f"vfmadd231{_SUFFIX[dtype]}")
    for register in (*sums, first, second):
        clear(register, register, register)
    top = asm.label("trip")
    for register in sums:
        multiply_add(register, first, second)
    asm.sub(asm.rdi, 1)
    asm.jnz(top)
    asm.vzeroupper()
    asm.ret()
    return asm, 2 * len(sums) * (512 if wide else 256) // _ELEMENT_BITS[dtype]


def _sve_loop(dtype: str, bits: int) -> tuple[Assembler, int]:
    asm: Any = Assembler("aarch64")
    lanes = p[0].s if dtype == "float32" else p[0].d
    # The low halves of z8 to z15 belong to the caller.
    *sums, first, second = [z[n].s if dtype == "float32" else z[n].d for n in (*range(8), *range(16, 32))]
    asm.ptrue(lanes)
    for register in (*sums, first, second):
        asm.dup(register, 0)
    top = asm.label("trip")
    for register in sums:
        asm.fmla(register, p[0].merging, first, second)
    asm.sub(asm.x[0], asm.x[0], 1)
    asm.cbnz(asm.x[0], top)
    asm.ret()
    return asm, 2 * len(sums) * bits // _ELEMENT_BITS[dtype]


def _neon_loop(dtype: str) -> tuple[Assembler, int]:
    asm: Any = Assembler("aarch64")
    # v8 to v15 belong to the caller (AAPCS64, section 6.1.2).
    *sums, first, second = [*asm.v[:8], *asm.v[16:]]
    for register in (*sums, first, second):
        asm.movi(register.b16, 0)
    arranged = [register.s4 if dtype == "float32" else register.d2 for register in (*sums, first, second)]
    top = asm.label("trip")
    for register in arranged[:-2]:
        asm.fmla(register, *arranged[-2:])
    asm.sub(asm.x[0], asm.x[0], 1)
    asm.cbnz(asm.x[0], top)
    asm.ret()
    return asm, 2 * len(sums) * 128 // _ELEMENT_BITS[dtype]
