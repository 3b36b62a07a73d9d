"""The verbs that entries are written in: loads, comparisons that branch, slots of the frame, calls; for both ISAs.

An entry has the C signature `object *entry(object *called, object **arguments, size_t count, object *names)`. Until it
`enter`s it may branch to where it hands over to another function with these four as they came. Its registers are the
four and temporary ones, which no call preserves.

>>> code = entry_code("x86_64")
>>> code.unless_word(code.arguments, 8, 5, code.asm.label("top"))
>>> print(code.asm.listing())
top:
     0    48837e0805                        cmp qword ptr [rsi + 8], 5
     5    75f9                              jne top
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from einloom.asm import Assembler, Label
from einloom.errors import UnsupportedTarget

__all__ = ["EntryCode", "Number", "Register", "Slot", "SlotAddress", "Value", "entry_code"]

Register: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Number:
    """A constant as an argument of a call."""

    value: int


@dataclass(frozen=True, slots=True)
class Slot:
    """What a slot of the frame holds, as an argument of a call."""

    index: int


@dataclass(frozen=True, slots=True)
class SlotAddress:
    """The address of a slot of the frame, as an argument of a call."""

    index: int


Value: TypeAlias = Number | Slot | SlotAddress


class EntryCode(ABC):
    """Offsets are in bytes; words have 64 bits, halves 32; a slot is a word of the frame.

    Attributes:
        asm: takes the code.
        called, arguments, count, names: the registers of the entry's arguments.
        temporary: four more registers.
        result: of a call; the first temporary one.
        passed: how many arguments of a call go in registers.
    """

    called: Register
    arguments: Register
    count: Register
    names: Register
    temporary: tuple[Register, Register, Register, Register]
    result: Register
    passed: int

    def __init__(self, asm: Any) -> None:
        self.asm = asm
        self._frame: int = 0
        self._outgoing: int = 0

    def enter(self, slots: int, most_arguments: int) -> None:
        """Make the frame: so many slots, and room for calls with so many arguments."""
        self._outgoing = 8 * max(0, most_arguments - self.passed)
        self._frame = -(-(self._outgoing + 8 * slots) // 16) * 16
        self._make_frame()

    def call(self, address: int, values: Sequence[Value]) -> None:
        """Call a C function with these arguments; its result is in `result`."""
        for index, value in enumerate(values):
            self._pass(index, value)
        self._call(address)

    def load_slot(self, dst: Register, slot: int) -> None:
        """Load what a slot holds."""
        self.load(dst, self._stack, self._outgoing + 8 * slot)

    def store_slot(self, slot: int, src: Register) -> None:
        """Store into a slot."""
        self.store(self._stack, self._outgoing + 8 * slot, src)

    def _pass(self, index: int, value: Value) -> None:
        register = self._argument(index) if index < self.passed else self.temporary[3]
        match value:
            case Number(number):
                self.constant(register, number)
            case Slot(slot):
                self.load_slot(register, slot)
            case SlotAddress(slot):
                self.add(register, self._stack, self._outgoing + 8 * slot)
        if index >= self.passed:
            self.store(self._stack, 8 * (index - self.passed), register)

    _stack: Register

    @abstractmethod
    def _argument(self, index: int) -> Register: ...

    @abstractmethod
    def _make_frame(self) -> None: ...

    @abstractmethod
    def _call(self, address: int) -> None: ...

    @abstractmethod
    def leave(self) -> None:
        """Take the frame away."""

    @abstractmethod
    def return_(self) -> None:
        """Return `result`."""

    @abstractmethod
    def load(self, dst: Register, base: Register, offset: int = 0) -> None:
        """Load a word."""

    @abstractmethod
    def load_at(self, dst: Register, address: int) -> None:
        """Load the word at a constant address."""

    @abstractmethod
    def store(self, base: Register, offset: int, src: Register) -> None:
        """Store a word."""

    @abstractmethod
    def store_at(self, address: int, src: Register) -> None:
        """Store a word at a constant address. It changes the last temporary register."""

    @abstractmethod
    def constant(self, dst: Register, value: int) -> None:
        """Load a constant."""

    @abstractmethod
    def move(self, dst: Register, src: Register) -> None:
        """Copy a register."""

    @abstractmethod
    def add(self, dst: Register, src: Register, value: int) -> None:
        """`dst = src + value`."""

    @abstractmethod
    def unless_word(self, base: Register, offset: int, value: int, label: Label) -> None:
        """Branch unless the word in memory is `value`."""

    @abstractmethod
    def unless_half(self, base: Register, offset: int, value: int, label: Label) -> None:
        """Branch unless the half in memory is `value`, from 0 to 2^31 - 1."""

    @abstractmethod
    def unless_bit(self, base: Register, offset: int, bit: int, label: Label) -> None:
        """Branch unless the half in memory has this bit set."""

    @abstractmethod
    def unless_equal(self, register: Register, value: int, label: Label) -> None:
        """Branch unless the register holds `value`."""

    @abstractmethod
    def unless_count(self, count: int, label: Label) -> None:
        """Branch unless the entry got so many positional arguments; the count's highest bit is a flag of CPython's."""

    @abstractmethod
    def if_any_bit(self, register: Register, bits: int, label: Label) -> None:
        """Branch if the register has any of these bits set."""

    @abstractmethod
    def if_zero(self, register: Register, label: Label) -> None:
        """Branch if the register holds 0."""

    @abstractmethod
    def unless_zero(self, register: Register, label: Label) -> None:
        """Branch unless the register holds 0."""

    @abstractmethod
    def if_equal(self, first: Register, second: Register, label: Label) -> None:
        """Branch if both registers hold the same."""

    @abstractmethod
    def unless_below(self, first: Register, second: Register, label: Label) -> None:
        """Branch unless first < second, both unsigned."""

    @abstractmethod
    def jump(self, label: Label) -> None:
        """Go on at a label."""

    @abstractmethod
    def jump_to(self, address: int) -> None:
        """Go on at another function."""


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


def entry_code(isa: str) -> EntryCode:
    """Return the verbs of an ISA with an assembler of its own.

    Raises:
        UnsupportedTarget: there are none.
    """
    kinds: dict[str, type[EntryCode]] = {"x86_64": X86EntryCode, "aarch64": AArch64EntryCode}
    if isa not in kinds:
        raise UnsupportedTarget(f"there are entries from Python for {', '.join(kinds)}, not for {isa}")
    return kinds[isa](Assembler(isa))
