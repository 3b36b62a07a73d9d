"""`AArch64PoolCode`: the verbs of the pool as AArch64 instructions, for the calling convention AAPCS64.

Accesses go in any order but for `ldar`, before what follows, `stlr`, after what precedes, and `dmb ish`, between the
two (Arm Architecture Reference Manual, section B2.3). Numbers are added by exclusive pairs, which every core has; a
`dmb` follows them, since what follows might else be read before the store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from einloom.jit.poolcode.verbs import FRAME, PoolCode, Register

if TYPE_CHECKING:
    from einloom.asm import Label

__all__ = ["AArch64PoolCode"]

SPIN_SHIFT = 14
"""The counter's ticks in a second, shifted right so far, are those in 61 microseconds."""


class AArch64PoolCode(PoolCode):
    """Arguments in x0 … x7; sp is a multiple of 16. x13 to x16 hold what the verbs need."""

    def __init__(self, asm: Any) -> None:
        super().__init__(asm)
        self.given = tuple(asm.x[number] for number in range(8))
        self.kept = tuple(asm.x[number] for number in range(19, 25))
        self.work = asm.x[9], asm.x[10]
        self._address, self._old, self._sum, self._failed = asm.x[16], asm.x[15], asm.x[14], asm.w[13]

    def enter(self) -> None:
        asm = self.asm
        asm.stp(asm.x[29], asm.x[30], asm.mem(asm.sp, -64).pre)
        for place in range(3):
            asm.stp(*self.kept[2 * place : 2 * place + 2], asm.mem(asm.sp, 16 * (place + 1)))
        asm.sub(asm.sp, asm.sp, FRAME)

    def leave(self) -> None:
        asm = self.asm
        asm.mov(asm.x[0], self.work[0])
        asm.add(asm.sp, asm.sp, FRAME)
        for place in range(3):
            asm.ldp(*self.kept[2 * place : 2 * place + 2], asm.mem(asm.sp, 16 * (place + 1)))
        asm.ldp(asm.x[29], asm.x[30], asm.mem(asm.sp).post(64))
        asm.ret()

    def frame(self, dst: Register) -> None:
        self.asm.add(dst, self.asm.sp, 0)

    def _call(self, function: int) -> None:
        self.constant(self._address, function)
        self.call_register(self._address)

    def call_label(self, label: Label) -> None:
        self.asm.bl(label)
        self.asm.mov(self.work[0], self.asm.x[0])

    def call_word(self, base: Register, offset: int) -> None:
        self.load(self._address, base, offset)
        self.call_register(self._address)

    def call_register(self, register: Register) -> None:
        self.asm.blr(register)
        self.asm.mov(self.work[0], self.asm.x[0])

    def constant(self, dst: Register, value: int) -> None:
        if -(2**16) <= value < 2**16:
            self.asm.mov(dst, value)
        else:
            self.asm.ldr(dst, self.asm.data((value % 2**64).to_bytes(8, "little")))

    def address(self, dst: Register, label: Label) -> None:
        self.asm.adr(dst, label)

    def move(self, dst: Register, src: Register) -> None:
        self.asm.mov(dst, src)

    def add(self, dst: Register, src: Register, value: int) -> None:
        if value < 0:
            self.asm.sub(dst, src, -value)
        else:
            self.asm.add(dst, src, value)

    def widen(self, register: Register) -> None:
        self.asm.sxtw(register, self.asm.w[register.number])

    def subtract(self, dst: Register, src: Register) -> None:
        self.asm.sub(dst, dst, src)

    def flip_bit(self, base: Register, number: Register) -> None:
        asm = self.asm
        asm.lsr(self._address, number, 6)
        asm.add(self._address, base, self._address, lsl=3)
        asm.ldr(self._old, asm.mem(self._address))
        asm.mov(self._sum, 1)
        asm.lsl(self._sum, self._sum, number)  # by the number modulo 64
        asm.eor(self._old, self._old, self._sum)
        asm.str(self._old, asm.mem(self._address))

    def branch(self, condition: str, left: Register, right: Register | int, label: Label) -> None:
        if isinstance(right, int) and not 0 <= right < 2**12:
            self.constant(self._old, right)
            right = self._old
        self.asm.cmp(left, right)
        self.asm.b(condition, label)

    def jump(self, label: Label) -> None:
        self.asm.b(label)

    def load(self, dst: Register, base: Register, offset: int) -> None:
        self.asm.ldr(dst, self.asm.mem(base, offset))

    def store(self, base: Register, offset: int, src: Register) -> None:
        self.asm.str(src, self.asm.mem(base, offset))

    def observe(self, dst: Register, base: Register, offset: int) -> None:
        self.asm.add(self._address, base, offset)
        self.asm.ldar(dst, self.asm.mem(self._address))

    def release(self, base: Register, offset: int, src: Register) -> None:
        self.asm.add(self._address, base, offset)
        self.asm.stlr(src, self.asm.mem(self._address))

    def publish(self, base: Register, offset: int, src: Register) -> None:
        self.release(base, offset, src)
        self.asm.dmb("ish")

    def fetch_add(self, number: Register, base: Register, offset: int) -> None:
        asm = self.asm
        asm.add(self._address, base, offset)
        again = asm.label()
        asm.ldaxr(self._old, asm.mem(self._address))
        asm.add(self._sum, self._old, number)
        asm.stlxr(self._failed, self._sum, asm.mem(self._address))
        asm.cbnz(self._failed, again)
        asm.dmb("ish")
        asm.mov(number, self._old)

    def store_rounding(self, base: Register, offset: int) -> None:
        self.asm.mrs(self._old, "fpcr")
        self.store(base, offset, self._old)

    def load_rounding(self, base: Register, offset: int) -> None:
        self.load(self._old, base, offset)
        self.asm.msr("fpcr", self._old)

    def pause(self) -> None:
        self.asm.hint(1)  # yield

    def deadline(self, dst: Register, doubled: int = 0) -> None:
        self.asm.mrs(self._old, "cntfrq_el0")
        self.asm.lsr(self._old, self._old, SPIN_SHIFT - doubled)
        self.asm.mrs(dst, "cntvct_el0")
        self.asm.add(dst, dst, self._old)

    def before(self, deadline: Register, label: Label) -> None:
        self.asm.mrs(self._old, "cntvct_el0")
        self.asm.cmp(self._old, deadline)
        self.asm.b("lt", label)
