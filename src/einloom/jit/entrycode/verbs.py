"""`EntryCode`: the verbs that entries are written in, without an ISA; and the values that they pass to calls.

What the verbs are as instructions stands in `x86_64` and `aarch64`; what an entry does with them, in `einloom.arrays`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from einloom.frozen import frozen

if TYPE_CHECKING:
    from einloom.asm import Label


__all__ = ["EntryCode", "Number", "Register", "Slot", "SlotAddress", "Value"]

Register: TypeAlias = Any


@frozen
class Number:
    """A constant as an argument of a call."""

    value: int


@frozen
class Slot:
    """What a slot of the frame holds, as an argument of a call."""

    index: int


@frozen
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
