"""`X86EntryCode`: the verbs of entries as x86-64 instructions, for the System V calling convention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from einloom.jit.entrycode.verbs import EntryCode, Register

if TYPE_CHECKING:
    from einloom.asm import Label

__all__ = ["X86EntryCode"]


class X86EntryCode(EntryCode):
    """System V: arguments in rdi, rsi, rdx, rcx, r8, r9; rsp is a multiple of 16 at every call. r11 holds constants."""

    passed = 6

    def __init__(self, asm: Any) -> None:
        super().__init__(asm)
        self.called, self.arguments, self.count, self.names = asm.rdi, asm.rsi, asm.rdx, asm.rcx
        self.temporary = asm.rax, asm.r8, asm.r9, asm.r10
        self.result = asm.rax
        self._stack = asm.rsp
        self._order = asm.rdi, asm.rsi, asm.rdx, asm.rcx, asm.r8, asm.r9

    def _argument(self, index: int) -> Register:
        return self._order[index]

    def _make_frame(self) -> None:
        self._frame += 8  # The return address lies on the stack already.
        self.asm.sub(self.asm.rsp, self._frame)

    def leave(self) -> None:
        self.asm.add(self.asm.rsp, self._frame)

    def return_(self) -> None:
        self.asm.ret()

    def _call(self, address: int) -> None:
        self.asm.mov(self.asm.r11, address)
        self.asm.call(self.asm.r11)

    def load(self, dst: Register, base: Register, offset: int = 0) -> None:
        self.asm.mov(dst, self.asm.mem(base, offset))

    def load_at(self, dst: Register, address: int) -> None:
        self.asm.mov(self.asm.r11, address)
        self.asm.mov(dst, self.asm.mem(self.asm.r11))

    def store(self, base: Register, offset: int, src: Register) -> None:
        self.asm.mov(self.asm.mem(base, offset), src)

    def store_at(self, address: int, src: Register) -> None:
        self.asm.mov(self.asm.r11, address)
        self.asm.mov(self.asm.mem(self.asm.r11), src)

    def constant(self, dst: Register, value: int) -> None:
        self.asm.mov(dst, value)

    def move(self, dst: Register, src: Register) -> None:
        self.asm.mov(dst, src)

    def add(self, dst: Register, src: Register, value: int) -> None:
        if -(2**31) <= value < 2**31:
            self.asm.lea(dst, self.asm.mem(src, value))
        else:
            self.asm.mov(self.asm.r11, value)
            self.asm.lea(dst, self.asm.mem(src, 0, self.asm.r11, 1))

    def _compare_memory(self, base: Register, offset: int, value: int) -> None:
        if -(2**31) <= value < 2**31:
            self.asm.cmp(self.asm.mem.qword(base, offset), value)
        else:
            self.asm.mov(self.asm.r11, value)
            self.asm.cmp(self.asm.mem(base, offset), self.asm.r11)

    def unless_word(self, base: Register, offset: int, value: int, label: Label) -> None:
        self._compare_memory(base, offset, value)
        self.asm.jne(label)

    def unless_half(self, base: Register, offset: int, value: int, label: Label) -> None:
        self.asm.cmp(self.asm.mem.dword(base, offset), value)
        self.asm.jne(label)

    def unless_bit(self, base: Register, offset: int, bit: int, label: Label) -> None:
        self.asm.test(self.asm.mem.dword(base, offset), bit)
        self.asm.je(label)

    def unless_equal(self, register: Register, value: int, label: Label) -> None:
        self.asm.mov(self.asm.r11, value)
        self.asm.cmp(register, self.asm.r11)
        self.asm.jne(label)

    def unless_count(self, count: int, label: Label) -> None:
        self.asm.lea(self.asm.r11, self.asm.mem(self.count, 0, self.count, 1))
        self.asm.cmp(self.asm.r11, 2 * count)
        self.asm.jne(label)

    def if_any_bit(self, register: Register, bits: int, label: Label) -> None:
        self.asm.test(register, bits)
        self.asm.jne(label)

    def if_zero(self, register: Register, label: Label) -> None:
        self.asm.test(register, register)
        self.asm.je(label)

    def unless_zero(self, register: Register, label: Label) -> None:
        self.asm.test(register, register)
        self.asm.jne(label)

    def if_equal(self, first: Register, second: Register, label: Label) -> None:
        self.asm.cmp(first, second)
        self.asm.je(label)

    def unless_below(self, first: Register, second: Register, label: Label) -> None:
        self.asm.cmp(first, second)
        self.asm.jae(label)

    def jump(self, label: Label) -> None:
        self.asm.jmp(label)

    def jump_to(self, address: int) -> None:
        self.asm.mov(self.asm.r11, address)
        self.asm.jmp(self.asm.r11)
