"""`AArch64EntryCode`: the verbs of entries as AArch64 instructions, for the calling convention AAPCS64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from einloom.jit.entrycode.verbs import EntryCode, Register

if TYPE_CHECKING:
    from einloom.asm import Label

__all__ = ["AArch64EntryCode"]


class AArch64EntryCode(EntryCode):
    """AAPCS64: arguments in x0 … x7; sp is a multiple of 16. x15 and x16 hold what the verbs need."""

    passed = 8

    def __init__(self, asm: Any) -> None:
        super().__init__(asm)
        self.called, self.arguments, self.count, self.names = (asm.x[i] for i in range(4))
        self.temporary = asm.x[12], asm.x[9], asm.x[10], asm.x[11]
        self.result = asm.x[0]
        self._stack = asm.sp
        self._half = asm.w[15]
        self._word, self._constant = asm.x[15], asm.x[16]

    def _argument(self, index: int) -> Register:
        return self.asm.x[index]

    def _make_frame(self) -> None:
        self.asm.stp(self.asm.x[29], self.asm.x[30], self.asm.mem(self.asm.sp, -16).pre)
        self.asm.sub(self.asm.sp, self.asm.sp, self._frame)

    def leave(self) -> None:
        self.asm.add(self.asm.sp, self.asm.sp, self._frame)
        self.asm.ldp(self.asm.x[29], self.asm.x[30], self.asm.mem(self.asm.sp).post(16))

    def return_(self) -> None:
        self.asm.ret()

    def _call(self, address: int) -> None:
        self.constant(self._constant, address)
        self.asm.blr(self._constant)

    def load(self, dst: Register, base: Register, offset: int = 0) -> None:
        self.asm.ldr(dst, self.asm.mem(base, offset))

    def load_at(self, dst: Register, address: int) -> None:
        self.constant(self._constant, address)
        self.asm.ldr(dst, self.asm.mem(self._constant))

    def store(self, base: Register, offset: int, src: Register) -> None:
        self.asm.str(src, self.asm.mem(base, offset))

    def store_at(self, address: int, src: Register) -> None:
        self.constant(self._constant, address)
        self.asm.str(src, self.asm.mem(self._constant))

    def constant(self, dst: Register, value: int) -> None:
        if -(2**16) <= value < 2**16:
            self.asm.mov(dst, value)
        else:
            self.asm.ldr(dst, self.asm.data((value % 2**64).to_bytes(8, "little")))

    def move(self, dst: Register, src: Register) -> None:
        self.asm.mov(dst, src)

    def add(self, dst: Register, src: Register, value: int) -> None:
        if 0 <= value < 2**12:
            self.asm.add(dst, src, value)
        else:
            self.constant(self._word, value)
            self.asm.add(dst, src, self._word)

    def unless_word(self, base: Register, offset: int, value: int, label: Label) -> None:
        self.load(self._word, base, offset)
        self.unless_equal(self._word, value, label)

    def unless_half(self, base: Register, offset: int, value: int, label: Label) -> None:
        self.asm.ldr(self._half, self.asm.mem(base, offset))
        self.unless_equal(self._word, value, label)

    def unless_bit(self, base: Register, offset: int, bit: int, label: Label) -> None:
        self.asm.ldr(self._half, self.asm.mem(base, offset))
        self.asm.tst(self._half, bit)
        self.asm.b("eq", label)

    def unless_equal(self, register: Register, value: int, label: Label) -> None:
        self.constant(self._constant, value)
        self.asm.cmp(register, self._constant)
        self.asm.b("ne", label)

    def unless_count(self, count: int, label: Label) -> None:
        self.asm.lsl(self._word, self.count, 1)
        self.unless_equal(self._word, 2 * count, label)

    def if_any_bit(self, register: Register, bits: int, label: Label) -> None:
        self.asm.tst(register, bits)
        self.asm.b("ne", label)

    def if_zero(self, register: Register, label: Label) -> None:
        self.asm.cbz(register, label)

    def unless_zero(self, register: Register, label: Label) -> None:
        self.asm.cbnz(register, label)

    def if_equal(self, first: Register, second: Register, label: Label) -> None:
        self.asm.cmp(first, second)
        self.asm.b("eq", label)

    def unless_below(self, first: Register, second: Register, label: Label) -> None:
        self.asm.cmp(first, second)
        self.asm.b("hs", label)

    def jump(self, label: Label) -> None:
        self.asm.b(label)

    def jump_to(self, address: int) -> None:
        self.constant(self._constant, address)
        self.asm.br(self._constant)
