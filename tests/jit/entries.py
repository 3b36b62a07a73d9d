"""Work for thread teams, assembled for the host: entries that write down who called them."""

from __future__ import annotations

import ctypes
import threading
from functools import cache
from typing import Any

from einloom.asm import Assembler
from einloom.jit import Kernel, host, run_team, threads
from einloom.jit.poolcode import pool_code
from einloom.jit.poolcode.verbs import PoolCode
from einloom.kernels.select import machine_for

SHARES = 64  # most shares that a record has room for


class Record:
    """What the shares of a team write down: how often each came, of how many, and on which stack."""

    def __init__(self, turns: int = 0) -> None:
        self.words = (ctypes.c_int64 * (3 * SHARES))()
        self.block = (ctypes.c_int64 * 2)(ctypes.addressof(self.words), turns)

    def calls(self, shares: int) -> list[int]:
        """Return how often each share was called; no other share may have been."""
        assert not any(self.words[shares:SHARES])
        return self.words[:shares]

    def threads(self, shares: int) -> list[int]:
        """Return the number of threads that each share was told."""
        return self.words[SHARES : SHARES + shares]

    def stacks(self, shares: int) -> list[int]:
        """Return the stack pointer of each share."""
        return self.words[2 * SHARES : 2 * SHARES + shares]


@cache
def recorder() -> Kernel:
    """Return `void entry(block, thread, threads)`: write into a `Record`, then count down its turns to pass time."""
    asm: Any = Assembler(host().isa)
    (_recorder_x86 if host().isa == "x86_64" else _recorder_aarch64)(asm)
    return Kernel(asm, name="recorder")


def _recorder_x86(asm: Any) -> None:
    rax, rcx, rsi, rdi = asm.rax, asm.rcx, asm.rsi, asm.rdi
    asm.mov(rax, asm.mem(rdi))
    asm.lea(rax, asm.mem(rax, 0, rsi, 8))
    asm.mov(rcx, asm.mem(rax))
    asm.add(rcx, 1)
    asm.mov(asm.mem(rax), rcx)
    asm.mov(asm.mem(rax, 8 * SHARES), asm.rdx)
    asm.mov(asm.mem(rax, 16 * SHARES), asm.rsp)
    asm.mov(rcx, asm.mem(rdi, 8))
    top = asm.label("top")
    asm.sub(rcx, 1)
    asm.jg(top)
    asm.ret()


def _recorder_aarch64(asm: Any) -> None:
    x = asm.x
    asm.ldr(x[3], asm.mem(x[0]))
    asm.add(x[3], x[3], x[1], lsl=3)
    asm.ldr(x[4], asm.mem(x[3]))
    asm.add(x[4], x[4], 1)
    asm.str(x[4], asm.mem(x[3]))
    asm.str(x[2], asm.mem(x[3], 8 * SHARES))
    asm.mov(x[5], asm.sp)
    asm.str(x[5], asm.mem(x[3], 16 * SHARES))
    asm.ldr(x[4], asm.mem(x[0], 8))
    top = asm.label("top")
    asm.subs(x[4], x[4], 1)
    asm.b("gt", top)
    asm.ret()


@cache
def nester() -> Kernel:
    """Return `void entry(block, thread, threads)`: start an inner team.

    Its block is the address of `launch`, the inner entry, the inner threads, then the address of an inner block for
    each thread of the outer team.
    """
    asm: Any = Assembler(host().isa)
    (_nester_x86 if host().isa == "x86_64" else _nester_aarch64)(asm)
    return Kernel(asm, name="nester")


def _nester_x86(asm: Any) -> None:
    asm.mov(asm.rax, asm.mem(asm.rdi))
    asm.mov(asm.rcx, asm.mem(asm.rdi, 8))
    asm.mov(asm.rdx, asm.mem(asm.rdi, 16))
    asm.mov(asm.rsi, asm.mem(asm.rdi, 24, asm.rsi, 8))
    asm.mov(asm.rdi, asm.rcx)
    asm.jmp(asm.rax)


def _nester_aarch64(asm: Any) -> None:
    x = asm.x
    asm.add(x[3], x[0], x[1], lsl=3)
    asm.ldr(x[1], asm.mem(x[3], 24))
    asm.ldr(x[2], asm.mem(x[0], 16))
    asm.ldp(x[16], x[0], asm.mem(x[0]))
    asm.br(x[16])


@cache
def gate() -> Kernel:
    """Return `void entry(block, thread, threads)`: add 1 to word 0 of the block, then wait until word 1 is not 0.

    Shares below word 2 only wait until all shares have begun.
    """
    asm = Assembler(host().isa)
    km = machine_for(asm, host())
    block, share, shares, number = km.arguments[:4]
    free, done = asm.forward("free"), asm.forward("open")
    km.constant(number, 1)
    km.fetch_add(number, block)
    km.observe(number, block, 16)
    km.branch("lt", share, number, free)
    top = asm.label("wait")
    km.observe(number, block, 8)
    km.branch("ne", number, 0, done)
    km.pause()
    km.jump(top)
    asm.bind(free)
    km.pause()
    km.observe(number, block, 0)
    km.branch("lt", number, shares, free)
    asm.bind(done)
    km.return_()
    return Kernel(asm, name="gate")


@cache
def rounding_recorder() -> Kernel:
    """Return `void entry(block, thread, threads)`: write this thread's settings of numbers into word 1 + `thread`.

    Then add 1 to word 0, and wait until every thread has.
    """
    asm = Assembler(host().isa)
    km = machine_for(asm, host())
    block, share, shares, number = km.arguments[:4]
    done = asm.forward("done")
    km.multiply_constant(share, share, 8)
    km.add(share, block)
    pool_code_of(asm).store_rounding(share, 8)
    km.constant(number, 1)
    km.fetch_add(number, block)
    top = asm.label("wait")
    km.observe(number, block, 0)
    km.branch("ge", number, shares, done)
    km.pause()
    km.jump(top)
    asm.bind(done)
    km.return_()
    return Kernel(asm, name="rounding recorder")


@cache
def rounding_setter() -> Kernel:
    """Return `void entry(word)`: make a word the calling thread's settings of numbers."""
    asm = Assembler(host().isa)
    km = machine_for(asm, host())
    pool_code_of(asm).load_rounding(km.arguments[0], 0)
    km.return_()
    return Kernel(asm, name="rounding setter")


def pool_code_of(asm: Assembler) -> PoolCode:
    """Return the pool's verbs, as instructions of an assembler."""
    return type(pool_code(asm.isa))(asm)


class Gate:
    """A job that another Python thread calls within a `with` block: its shares wait until the gate opens or it ends."""

    def __init__(self, shares: int, free: int = 0) -> None:
        self.block = (ctypes.c_int64 * 3)(0, 0, free)
        self._caller = threading.Thread(target=run_team, args=(gate().address, self.block, shares))

    @property
    def begun(self) -> int:
        """How many shares have begun."""
        return self.block[0]

    @property
    def has_returned(self) -> bool:
        """Whether the caller has."""
        return not self._caller.is_alive()

    def open(self) -> None:
        """Let them end."""
        self.block[1] = 1

    def __enter__(self) -> Gate:
        self._caller.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.open()
        self._caller.join()


class PoolWord:
    """A word of the pool's memory, by its place."""

    def __init__(self, place: int) -> None:
        self.address = threads._pool().memory + place
        self._word = ctypes.c_int64.from_address(self.address)

    @property
    def value(self) -> int:
        return self._word.value

    @value.setter
    def value(self, number: int) -> None:
        self._word.value = number
