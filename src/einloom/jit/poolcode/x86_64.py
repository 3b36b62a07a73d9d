"""`X86PoolCode`: the verbs of the pool as x86-64 instructions, for the System V calling convention.

Loads are acquiring and stores releasing here; a load may overtake an earlier store to another place, unless an
instruction with `lock`, or an `xchg` with memory, stands between (Intel SDM, volume 3, section 9.2). These also wait
until stores that passed the caches have been seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from einloom.jit.poolcode.verbs import FRAME, PoolCode, Register

if TYPE_CHECKING:
    from einloom.asm import Label

__all__ = ["X86PoolCode"]

SPIN = 1 << 17
"""Ticks of the time-stamp counter, which runs at 2 to 5 GHz."""


class X86PoolCode(PoolCode):
    """Arguments in rdi, rsi, rdx, rcx, r8, r9; rsp is a multiple of 16 at every call. r11 holds what verbs need."""

    def __init__(self, asm: Any) -> None:
        super().__init__(asm)
        self.given = asm.rdi, asm.rsi, asm.rdx, asm.rcx, asm.r8, asm.r9
        self.kept = asm.rbx, asm.rbp, asm.r12, asm.r13, asm.r14, asm.r15
        self.work = asm.rax, asm.r10

    def enter(self) -> None:
        for register in self.kept:
            self.asm.push(register)
        self.asm.sub(self.asm.rsp, FRAME + 8)  # and the return address and six registers: a multiple of 16

    def leave(self) -> None:
        self.asm.add(self.asm.rsp, FRAME + 8)
        for register in reversed(self.kept):
            self.asm.pop(register)
        self.asm.ret()

    def frame(self, dst: Register) -> None:
        self.asm.mov(dst, self.asm.rsp)

    def _call(self, function: int) -> None:
        self.asm.mov(self.asm.r11, function)
        self.asm.xor(self.asm.eax, self.asm.eax)  # No arguments in vector registers: functions may be variadic.
        self.asm.call(self.asm.r11)

    def call_label(self, label: Label) -> None:
        self.asm.call(label)

    def call_word(self, base: Register, offset: int) -> None:
        self.asm.call(self.asm.mem.qword(base, offset))

    def call_register(self, register: Register) -> None:
        self.asm.call(register)

    def constant(self, dst: Register, value: int) -> None:
        self.asm.mov(dst, value)

    def address(self, dst: Register, label: Label) -> None:
        self.asm.lea(dst, self.asm.mem(label))

    def move(self, dst: Register, src: Register) -> None:
        self.asm.mov(dst, src)

    def add(self, dst: Register, src: Register, value: int) -> None:
        self.asm.lea(dst, self.asm.mem(src, value))

    def widen(self, register: Register) -> None:
        assert register is self.asm.rax
        self.asm.movsxd(self.asm.rax, self.asm.eax)

    def subtract(self, dst: Register, src: Register) -> None:
        self.asm.sub(dst, src)

    def flip_bit(self, base: Register, number: Register) -> None:
        self.asm.btc(self.asm.mem.qword(base), number)

    def branch(self, condition: str, left: Register, right: Register | int, label: Label) -> None:
        self.asm.cmp(left, right)
        jumps = {"eq": "je", "ne": "jne", "lt": "jl", "le": "jle", "gt": "jg", "ge": "jge"}
        getattr(self.asm, jumps[condition])(label)

    def jump(self, label: Label) -> None:
        self.asm.jmp(label)

    def load(self, dst: Register, base: Register, offset: int) -> None:
        self.asm.mov(dst, self.asm.mem(base, offset))

    def store(self, base: Register, offset: int, src: Register) -> None:
        self.asm.mov(self.asm.mem(base, offset), src)

    def observe(self, dst: Register, base: Register, offset: int) -> None:
        self.load(dst, base, offset)

    def release(self, base: Register, offset: int, src: Register) -> None:
        self.store(base, offset, src)

    def publish(self, base: Register, offset: int, src: Register) -> None:
        self.asm.xchg(self.asm.mem(base, offset), src)

    def fetch_add(self, number: Register, base: Register, offset: int) -> None:
        self.asm.lock_xadd(self.asm.mem(base, offset), number)

    def store_rounding(self, base: Register, offset: int) -> None:
        self.asm.stmxcsr(self.asm.mem.dword(base, offset))

    def load_rounding(self, base: Register, offset: int) -> None:
        self.asm.ldmxcsr(self.asm.mem.dword(base, offset))

    def pause(self) -> None:
        self.asm.pause()

    def deadline(self, dst: Register, doubled: int = 0) -> None:
        self._time()
        self.asm.lea(dst, self.asm.mem(self.asm.rax, SPIN << doubled))

    def before(self, deadline: Register, label: Label) -> None:
        self._time()
        self.branch("lt", self.asm.rax, deadline, label)

    def _time(self) -> None:
        self.asm.rdtsc()
        self.asm.shl(self.asm.rdx, 32)
        self.asm.or_(self.asm.rax, self.asm.rdx)
