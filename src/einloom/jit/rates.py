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
from einloom.jit.timing import undisturbed
from einloom.machine import Machine, Rates

__all__ = ["CHUNK", "bytes_loop", "measured_rates", "read_rates"]

PAGE = 4096

CHUNK = 512
"""Bytes that one trip of a loop moves."""

LEAST_MEMORY, MOST_MEMORY = 32 * 2**20, 256 * 2**20
"""Bytes of an array that is read from memory: what a process fills it with takes longer than reading it."""

REPEATS = 7

ROUNDS = 4
"""How often everything is measured: what disturbs one rate for a tenth of a second has gone a second later."""


def measured_rates(memory: int = MOST_MEMORY, seconds: float = 0.1) -> Rates:
    """Return the rates of this machine, the best of some rounds of a second or less.

    Args:
        memory: bytes of an array that no cache holds.
        seconds: how long the peak of each type is looked for.

    Raises:
        UnsupportedTarget: there are no kernels for this machine.
    """
    rounds = [_rates_once(memory, seconds) for _ in range(ROUNDS)]
    return Rates(*[max(rates) for rates in zip(*rounds)])


def _rates_once(memory: int, seconds: float) -> tuple[float, float, float, float, float, float]:
    machine = host()
    buffer, start = _pages(memory)
    l2, l3, far = read_rates(machine, memory)
    stream = _rate(Kernel(bytes_loop(machine.vector, "stream"), name="streams"), start, memory)
    del buffer
    return peak_flops("float32", 1, seconds), peak_flops("float64", 1, seconds), l2, l3, far, stream


def read_rates(machine: Machine, memory: int | None = None) -> tuple[float, float, float]:
    """Return the bytes a second that one core of this machine reads from L2, L3 and memory.

    Args:
        memory: bytes of an array that no cache holds; if None, four times the last level, as STREAM's rules ask for.
    """
    if memory is None:
        memory = min(max(4 * machine.l3, LEAST_MEMORY), MOST_MEMORY)
    read, third = Kernel(bytes_loop(machine.vector, "read"), name="reads"), min(machine.l3 // 4, memory // 4)
    buffer, start = _pages(memory)
    sizes = (machine.l2 // 2, max(min(third, 16 * machine.l2), machine.l2 * 2), memory)
    near, middle, far = (_rate(read, start, size) for size in sizes)
    del buffer  # It has to live till here.
    return near, middle, far


def _pages(size: int) -> tuple[np.ndarray[Any, Any], int]:
    """Return an array, and the address of the first page in it, from which on there are `size` bytes."""
    buffer = np.ones(size + PAGE, np.uint8)  # Pages of zeros that nobody has written to are one and the same in memory.
    return buffer, -(-buffer.ctypes.data // PAGE) * PAGE


def _rate(kernel: Kernel, start: int, size: int) -> float:
    """Return the bytes a second of a loop over `size` bytes, the best of some repeats."""
    size = size // CHUNK * CHUNK
    passes = max(2**24 // size, 1)  # In one call: a call takes as long as L2 takes for a tenth of a MiB.
    times = list[float]()
    for _ in range(REPEATS):
        begin = time.thread_time()  # What other processes take of the core does not count.
        kernel.call(start, size, passes)
        times.append(time.thread_time() - begin)
    return passes * size / undisturbed(times)


def bytes_loop(vector: str, way: str) -> Assembler:
    """Return `void loop(char *start, int64 bytes, int64 passes)`: a multiple of `CHUNK` bytes, so many times over.

    The `way` is `read`, `store` or `stream`. Streams of zeros pass the caches. Stores of half a vector, of which some
    processors finish two a cycle, go to the first `CHUNK` again and again: twice as many of them as of vectors in so
    many bytes.

    Raises:
        UnsupportedTarget: there is no such vector ISA.
    """
    if vector.startswith(("neon", "sve")):
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
    asm.mov(asm.r8, asm.rdi)
    once_more = asm.label("pass")
    asm.mov(asm.rdi, asm.r8)
    top = asm.label("trip")
    for offset in range(0, CHUNK, width):
        if way == "read":
            asm.vmovups(registers[offset // width % 16], mem(asm.rdi, offset))
        elif way == "stream":
            asm.vmovntps(mem(asm.rdi, offset), registers[0])
        else:
            for half in (0, width // 2):
                asm.vmovups(mem(asm.r8, offset + half), (asm.ymm if wide else asm.xmm)[0])
    asm.add(asm.rdi, CHUNK)
    asm.cmp(asm.rdi, asm.rsi)
    asm.jb(top)
    asm.sub(asm.rdx, 1)
    asm.jnz(once_more)
    asm.sfence()
    asm.vzeroupper()
    asm.ret()
    return asm


def _neon_loop(way: str) -> Assembler:
    asm: Any = Assembler("aarch64")
    x0, x1 = asm.x[0], asm.x[1]
    asm.movi(asm.v[0].b16, 0)
    asm.add(x1, x1, x0)
    asm.mov(asm.x[3], x0)
    once_more = asm.label("pass")
    asm.mov(x0, asm.x[3])
    top = asm.label("trip")
    for offset in range(0, CHUNK, 32):
        if way == "read":
            asm.ldp(asm.q[16 + offset // 16 % 16], asm.q[17 + offset // 16 % 16], asm.mem(x0, offset))
        elif way == "stream":
            asm.stnp(asm.q[0], asm.q[0], asm.mem(x0, offset))
        else:
            for half in (0, 16):
                asm.stp(asm.q[0], asm.q[0], asm.mem(asm.x[3], offset + half))
    asm.add(x0, x0, CHUNK)
    asm.cmp(x0, x1)
    asm.b_lo(top)
    asm.subs(asm.x[2], asm.x[2], 1)
    asm.b_ne(once_more)
    asm.ret()
    return asm
