"""`PoolCode`: the verbs that the pool of threads is written in, without an ISA.

What the verbs are as instructions stands in `x86_64` and `aarch64`; what the pool does with them, in
`einloom.jit.pool`. How memory is ordered is a part of their meaning: `load` and `store` promise nothing, and the
others what they say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from einloom.asm import Label

__all__ = ["FRAME", "PoolCode", "Register"]

Register: TypeAlias = Any

FRAME = 192
"""Bytes of a function's frame, for what it hands to the C library."""


class PoolCode(ABC):
    """Offsets are in bytes; words have 64 bits and are signed.

    Attributes:
        asm: takes the code.
        given: the registers of a function's arguments, and of those of a call.
        kept: six registers that calls preserve.
        work: two that neither they nor points in time preserve; the first holds the result of a call.
    """

    given: tuple[Register, ...]
    kept: tuple[Register, ...]
    work: tuple[Register, Register]

    def __init__(self, asm: Any) -> None:
        self.asm = asm

    def call(self, function: int, *values: Register | int) -> None:
        """Call a C function with registers, kept ones or `work`, and numbers."""
        for register, value in zip(self.given, values):
            if isinstance(value, int):
                self.constant(register, value)
            else:
                self.move(register, value)
        self._call(function)

    # ---- functions

    @abstractmethod
    def enter(self) -> None:
        """Begin a function: preserve the kept registers and make the frame."""

    @abstractmethod
    def leave(self) -> None:
        """Undo `enter` and return the first of `work`."""

    @abstractmethod
    def frame(self, dst: Register) -> None:
        """Load the address of the frame."""

    @abstractmethod
    def _call(self, function: int) -> None: ...

    @abstractmethod
    def call_label(self, label: Label) -> None:
        """Call a function of this code."""

    @abstractmethod
    def call_word(self, base: Register, offset: int) -> None:
        """Call the function whose address is a word in memory."""

    @abstractmethod
    def call_register(self, register: Register) -> None:
        """Call the function at an address."""

    # ---- numbers and branches

    @abstractmethod
    def constant(self, dst: Register, value: int) -> None:
        """Load a constant."""

    @abstractmethod
    def address(self, dst: Register, label: Label) -> None:
        """Load the address of a label."""

    @abstractmethod
    def move(self, dst: Register, src: Register) -> None:
        """Copy a register."""

    @abstractmethod
    def add(self, dst: Register, src: Register, value: int) -> None:
        """`dst = src + value`, from -2048 to 2047."""

    @abstractmethod
    def widen(self, register: Register) -> None:
        """Make a word of a result of 32 bits."""

    @abstractmethod
    def subtract(self, dst: Register, src: Register) -> None:
        """`dst -= src`."""

    @abstractmethod
    def flip_bit(self, base: Register, number: Register) -> None:
        """Change one of the bits that begin at an address."""

    @abstractmethod
    def branch(self, condition: str, left: Register, right: Register | int, label: Label) -> None:
        """Branch if left is `eq`, `ne`, `lt`, `le`, `gt` or `ge` right, a register or a small number."""

    @abstractmethod
    def jump(self, label: Label) -> None:
        """Go on at a label."""

    # ---- memory that threads share

    @abstractmethod
    def load(self, dst: Register, base: Register, offset: int) -> None:
        """Load a word."""

    @abstractmethod
    def store(self, base: Register, offset: int, src: Register) -> None:
        """Store a word."""

    @abstractmethod
    def observe(self, dst: Register, base: Register, offset: int) -> None:
        """Load a word before anything that follows is read or written."""

    @abstractmethod
    def release(self, base: Register, offset: int, src: Register) -> None:
        """Store a word after all that precedes has been read and written."""

    @abstractmethod
    def publish(self, base: Register, offset: int, src: Register) -> None:
        """`release`, and what follows is read and written after that. It may change `src`."""

    @abstractmethod
    def fetch_add(self, number: Register, base: Register, offset: int) -> None:
        """Add to a word and get what it was, in one step, which all accesses before and after keep their side of."""

    # ---- how numbers are rounded

    @abstractmethod
    def store_rounding(self, base: Register, offset: int) -> None:
        """Store this thread's settings of floating-point numbers: roundings, what becomes of the smallest, traps."""

    @abstractmethod
    def load_rounding(self, base: Register, offset: int) -> None:
        """Make what was stored the settings of this thread."""

    # ---- time

    @abstractmethod
    def pause(self) -> None:
        """Say that this thread looks again and again."""

    @abstractmethod
    def deadline(self, dst: Register, doubled: int = 0) -> None:
        """Load a point in time, some 50 microseconds from now, or so often twice as long.

        50 microseconds a thread looks whether something has happened before it sleeps: longer than Python takes from
        one call to the next, and not much longer than it takes to wake a thread. What threads of other libraries have
        to do on the same core waits meanwhile.

        Args:
            dst: a kept register.
            doubled: how often, 13 times at most.
        """

    @abstractmethod
    def before(self, deadline: Register, label: Label) -> None:
        """Branch while that point has not come."""
