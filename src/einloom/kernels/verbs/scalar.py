"""The protocol of scalar verbs: integers, memory, flow and functions, over one assembler.

Registers are the assembler's own operands. A verb emits one instruction, or the few that do the same on this ISA. The
implementations are `einloom.kernels.verbs.x86` and `einloom.kernels.verbs.aarch64`; they inherit the protocol.

A function that adds its two arguments ten times:

    km = machine_for(asm, machine)
    a, b = km.arguments[:2]
    with km.loop(10, km.scratch[0]):
        km.add(a, b)
    km.move(km.result, a)
    km.return_()
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Generic, Literal, TypeAlias, TypeVar

from einloom.asm import Assembler, Label
from einloom.machine import Machine

__all__ = ["A", "Condition", "R", "ScalarVerbs"]

Condition: TypeAlias = Literal["lt", "le", "eq", "ne", "ge", "gt"]

R = TypeVar("R")
"""A general register of the assembler."""

A = TypeVar("A")
"""An address of the assembler, made by `ScalarVerbs.place`."""


class ScalarVerbs(ABC, Generic[R, A]):
    """Scalar verbs. Integers are signed and have 64 bits; offsets are in bytes; no verb needs a free register.

    Attributes:
        asm: the assembler that takes the instructions.
        machine: what they are for.
        arguments: registers of a C function's first arguments; a call clobbers them.
        scratch: other registers that a call clobbers.
        saved: registers that a call preserves; a function that uses them names them to `prologue`.
        result: where a C function leaves its result.
        scales: multiples of an index register that an address can add; none: an address has no scaled index.
        reach: the longest displacement of an address, in bytes.
    """

    asm: Assembler
    machine: Machine
    arguments: tuple[R, ...]
    scratch: tuple[R, ...]
    saved: tuple[R, ...]
    result: R
    scales: tuple[int, ...]
    reach: int

    # Functions

    @abstractmethod
    def prologue(self, saved: Sequence[R] = (), frame_bytes: int = 0, calls: bool = True) -> None:
        """Begin a function that preserves `saved` and has a frame.

        If it `calls`, the return address is preserved and the stack aligned as C functions expect it.
        """

    @abstractmethod
    def epilogue(self) -> None:
        """End the function that `prologue` began: restore and return. It may be emitted several times."""

    @abstractmethod
    def load_slot(self, dst: R, slot: int) -> None:
        """dst = the 8 bytes at byte `slot` of the frame."""

    @abstractmethod
    def store_slot(self, slot: int, src: R) -> None:
        """The 8 bytes at byte `slot` of the frame = src. Slots from 0 up also are the stack arguments of a call."""

    @abstractmethod
    def add_slot(self, dst: R, slot: int) -> None:
        """dst += the 8 bytes at byte `slot` of the frame."""

    def set_slot(self, slot: int, value: int, temporary: R) -> None:
        """The 8 bytes at byte `slot` of the frame = a constant, any 64 bits."""
        self.constant(temporary, value)
        self.store_slot(slot, temporary)

    def increase_slot(self, slot: int, addend: R | int, temporary: R) -> None:
        """The 8 bytes at byte `slot` of the frame += another register or a constant."""
        self.load_slot(temporary, slot)
        if isinstance(addend, int):
            self.add_constant(temporary, addend)
        else:
            self.add(temporary, addend)
        self.store_slot(slot, temporary)

    def count_down_slot(self, slot: int, label: Label, temporary: R) -> None:
        """The 8 bytes at byte `slot` of the frame -= 1; go to the label unless they are 0 then."""
        self.increase_slot(slot, -1, temporary)
        self.branch("ne", temporary, 0, label)

    def branch_slot(self, condition: Condition, slot: int, b: int, label: Label, temporary: R) -> None:
        """Go to the label if the 8 bytes at byte `slot` of the frame `condition b`, signed."""
        self.load_slot(temporary, slot)
        self.branch(condition, temporary, b, label)

    @abstractmethod
    def slot_place(self, slot: int) -> A:
        """Return byte `slot` of the frame as a place."""

    @abstractmethod
    def slot_address(self, dst: R, slot: int) -> None:
        """dst = address of byte `slot` of the frame."""

    @abstractmethod
    def load_argument(self, dst: R, index: int) -> None:
        """dst = the function's argument `index`, from its register or, past the registers, from the stack."""

    @abstractmethod
    def call(self, label: Label) -> None:
        """Call a function of the same buffer."""

    @abstractmethod
    def call_register(self, address: R) -> None:
        """Call the function at an address."""

    def return_(self) -> None:
        """Return from a function that has no prologue."""
        self.asm.ret()

    # Integers

    def move(self, dst: R, src: R) -> None:
        """dst = src; nothing is emitted if they are the same."""
        if dst is not src:
            self.asm.mov(dst, src)

    @abstractmethod
    def constant(self, dst: R, value: int) -> None:
        """dst = value, any 64 bits."""

    @abstractmethod
    def add(self, dst: R, src: R) -> None:
        """dst += src."""

    @abstractmethod
    def add_constant(self, dst: R, value: int) -> None:
        """dst += value, any 64 bits."""

    @abstractmethod
    def sum_constant(self, dst: R, src: R, value: int) -> None:
        """dst = src + value, any 64 bits."""

    @abstractmethod
    def sum_multiple(self, dst: R, src: R, addend: R, count: int) -> None:
        """dst = src + addend * count."""

    @abstractmethod
    def align_down(self, dst: R, boundary: int) -> None:
        """dst = the greatest multiple of a power of two that is not above it."""

    @abstractmethod
    def subtract(self, dst: R, src: R) -> None:
        """dst -= src."""

    @abstractmethod
    def multiply(self, dst: R, src: R) -> None:
        """dst *= src."""

    @abstractmethod
    def multiply_constant(self, dst: R, src: R, value: int) -> None:
        """dst = src * value, any 64 bits."""

    @abstractmethod
    def minimum(self, dst: R, src: R) -> None:
        """dst = min(dst, src)."""

    @abstractmethod
    def divide(self, quotient: R, remainder: R, dividend: R, divisor: R) -> None:
        """quotient, remainder = divmod(dividend, divisor); dividend >= 0, divisor > 0, quotient is not remainder.

        Clobbers rax and rdx on x86-64, nothing on AArch64; the divisor is neither of these two nor a result.
        """

    @abstractmethod
    def divide_constant(self, quotient: R, remainder: R, dividend: R, divisor: int) -> None:
        """As `divide`, by a constant > 0."""

    # Memory and flow

    @abstractmethod
    def place(self, base: R, offset: int = 0, index: R | None = None, scale: int = 1) -> A:
        """Return the address base + offset + index * scale for a verb that takes a place."""

    @abstractmethod
    def load(self, dst: R, base: R, offset: int = 0) -> None:
        """dst = the 8 bytes at base + offset."""

    @abstractmethod
    def store(self, base: R, offset: int, src: R) -> None:
        """The 8 bytes at base + offset = src."""

    @abstractmethod
    def fetch_add(self, number: R, address: R) -> None:
        """number, the 8 bytes at an address = these bytes, their sum with number, as one step among threads.

        What this thread wrote before, those see that add to the bytes later.
        """

    @abstractmethod
    def publish(self, base: R, offset: int, src: R) -> None:
        """The 8 bytes at base + offset = src; who observes it, sees what this thread wrote before."""

    @abstractmethod
    def observe(self, dst: R, base: R, offset: int) -> None:
        """dst = the 8 bytes at base + offset, and see what their writer wrote before it published them."""

    @abstractmethod
    def pause(self) -> None:
        """Say that this thread waits for another one's store."""

    @abstractmethod
    def copy_part(self, target: R, source: R, size: int) -> None:
        """The bytes at the target = those at the source: a power of two, at most half a cache line."""

    @abstractmethod
    def prefetch(self, place: A) -> None:
        """Ask for the cache line at a place, to be written soon; any address is legal."""

    @abstractmethod
    def prefetch_input(self, place: A) -> None:
        """Ask for the cache line at a place, to be read soon; any address is legal."""

    @abstractmethod
    def prefetch_block(self, place: A) -> None:
        """Ask for the cache line at a place into the second-level cache, to be read later; any address is legal."""

    @abstractmethod
    def order_stores(self) -> None:
        """Let no later store pass the non-temporal ones before it."""

    @abstractmethod
    def address_of(self, dst: R, label: Label) -> None:
        """dst = address of a label in code or data."""

    @abstractmethod
    def branch(self, condition: Condition, a: R, b: R | int, label: Label) -> None:
        """Go to the label if `a condition b`, signed."""

    @abstractmethod
    def jump(self, label: Label) -> None:
        """Go to the label."""

    @abstractmethod
    def count_down(self, counter: R, label: Label) -> None:
        """counter -= 1; go to the label unless it is 0 then."""

    @contextmanager
    def loop(self, count: R | int, counter: R) -> Generator[None, None, None]:
        """Run the body `count` times; the counter goes from count down to 1 and is 0 behind the loop.

        A register's count may be 0 or less: then the body does not run. A known count is 1 at least; 1 emits no loop,
        and the counter is not touched.
        """
        if count == 1:
            yield
            return
        end = self.asm.forward("loop_end")
        if isinstance(count, int):
            self.constant(counter, count)
        else:
            self.move(counter, count)
            self.branch("le", counter, 0, end)
        start, top = len(self.asm.records), self.asm.label("loop")
        yield
        self.count_down(counter, top)
        if isinstance(count, int):
            self.asm.repeated(start, count)
        else:
            self.asm.bind(end)
