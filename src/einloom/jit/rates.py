"""`measured_rates`: what one core of this machine reads and writes a second, level by level, with generated code.

Nothing of einloom compiles by what it measures unless somebody records it: see `einloom.rates`.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from einloom.asm import Assembler
from einloom.errors import UnsupportedTarget
from einloom.jit.host import host
from einloom.jit.kernel import Kernel
from einloom.jit.peak import peak_flops
from einloom.machine import Rates

__all__ = ["bytes_loop", "measured_rates"]

PAGE = 4096

CHUNK = 512
"""Bytes that one trip of a loop moves."""

REPEATS = 7


def measured_rates(memory: int = 256 * 2**20, seconds: float = 0.1) -> Rates:
    """Return the rates of this machine, measured in a second or two.

    Args:
        memory: bytes of an array that no cache holds.
        seconds: how long the peak of each type is looked for.

    Raises:
        UnsupportedTarget: there are no kernels for this machine.
    """
    machine = host()
    buffer = np.zeros(memory + PAGE, np.uint8)
    start = -(-buffer.ctypes.data // PAGE) * PAGE
    read, stream = (Kernel(bytes_loop(machine.vector, way), name=f"{way}s") for way in ("read", "stream"))
    third = min(machine.l3 // 4, memory // 4)
    return Rates(
        float32=peak_flops("float32", 1, seconds),
        float64=peak_flops("float64", 1, seconds),
        l2=_rate(read, start, machine.l2 // 2),
        l3=_rate(read, start, max(min(third, 16 * machine.l2), machine.l2 * 2)),
        memory=_rate(read, start, memory),
        stream=_rate(stream, start, memory),
    )


def _rate(kernel: Kernel, start: int, size: int) -> float:
    """Return the bytes a second of a loop over `size` bytes, the best of some repeats."""
    size = size // CHUNK * CHUNK
    passes = max(2**24 // size, 1)
    best = 0.0
    for _ in range(REPEATS):
        begin = time.thread_time()  # What other processes take of the core does not count.
        for _ in range(passes):
            kernel.call(start, size)
        best = max(best, passes * size / (time.thread_time() - begin))
    return best


def bytes_loop(vector: str, way: str) -> Assembler:
    """Return `void loop(char *start, int64 bytes)` that reads, or streams zeros to, a multiple of `CHUNK` bytes.

    Raises:
        UnsupportedTarget: there is no such vector ISA.
    """
    if vector == "neon":
        return _neon_loop(way)
    if vector not in ("avx2", "avx512"):
        raise UnsupportedTarget(f"no vector ISA to measure rates of: {vector!r}")
    return _x86_loop(way, vector == "avx512")


def _x86_loop(way: str, wide: bool) -> Assembler:
    from einloom.asm.x86 import mem

    asm: Any = Assembler("x86_64")
    registers, width = (asm.zmm, 64) if wide else (asm.ymm, 32)
    (asm.vpxord if wide else asm.vpxor)(registers[0], registers[0], registers[0])
    asm.add(asm.rsi, asm.rdi)
    top = asm.label("trip")
    for offset in range(0, CHUNK, width):
        if way == "read":
            asm.vmovups(registers[offset // width % 16], mem(asm.rdi, offset))
        else:
            asm.vmovntps(mem(asm.rdi, offset), registers[0])
    asm.add(asm.rdi, CHUNK)
    asm.cmp(asm.rdi, asm.rsi)
    asm.jb(top)
    asm.sfence()
    asm.vzeroupper()
    asm.ret()
    return asm


def _neon_loop(way: str) -> Assembler:
    asm: Any = Assembler("aarch64")
    x0, x1 = asm.x[0], asm.x[1]
    asm.movi(asm.v[0].b16, 0)
    asm.add(x1, x1, x0)
    top = asm.label("trip")
    for offset in range(0, CHUNK, 32):
        if way == "read":
            asm.ldp(asm.q[16 + offset // 16 % 16], asm.q[17 + offset // 16 % 16], asm.mem(x0, offset))
        else:
            asm.stnp(asm.q[0], asm.q[0], asm.mem(x0, offset))
    asm.add(x0, x0, CHUNK)
    asm.cmp(x0, x1)
    asm.b_lo(top)
    asm.ret()
    return asm
