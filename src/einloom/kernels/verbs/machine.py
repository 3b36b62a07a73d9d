"""The abstract machine that kernels and loop nests are written on: scalar verbs and vector verbs over one assembler.

Registers are the assembler's own operands. A verb emits one instruction, or the few that do the same on this ISA. The
implementations are `einloom.kernels.verbs.x86` (AVX-512, AVX2) and `einloom.kernels.verbs.aarch64` (Neon).

A function that adds its two arguments ten times:

    km = machine_for(asm, machine)
    a, b = km.arguments[:2]
    with km.loop(10, km.scratch[0]):
        km.add(a, b)
    km.move(km.result, a)
    km.return_()
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol, TypeAlias

from einloom.asm import Assembler, Label
from einloom.dtypes import DType
from einloom.errors import UnsupportedTarget
from einloom.machine import Machine

__all__ = ["Condition", "GroupingMachine", "KernelMachine", "VectorMachine", "machine_for"]

Register: TypeAlias = Any  # a general register of the assembler
Vector: TypeAlias = Any  # a vector register of the assembler
Place: TypeAlias = Any  # an address of the assembler, made by `KernelMachine.place`
Mask: TypeAlias = Any  # what `VectorMachine.mask` returned; None: all lanes
Verb: TypeAlias = Callable[..., None]
Condition: TypeAlias = Literal["lt", "le", "eq", "ne", "ge", "gt"]


class KernelMachine(Protocol):
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
    arguments: tuple[Register, ...]
    scratch: tuple[Register, ...]
    saved: tuple[Register, ...]
    result: Register
    scales: tuple[int, ...]
    reach: int

    # Functions

    def prologue(self, saved: Sequence[Register] = (), frame_bytes: int = 0, calls: bool = True) -> None:
        """Begin a function that preserves `saved` and has a frame.

        If it `calls`, the return address is preserved and the stack aligned as C functions expect it.
        """
        ...

    def epilogue(self) -> None:
        """End the function that `prologue` began: restore and return. It may be emitted several times."""
        ...

    def load_slot(self, dst: Register, slot: int) -> None:
        """dst = the 8 bytes at byte `slot` of the frame."""
        ...

    def store_slot(self, slot: int, src: Register) -> None:
        """The 8 bytes at byte `slot` of the frame = src. Slots from 0 up also are the stack arguments of a call."""
        ...

    def add_slot(self, dst: Register, slot: int) -> None:
        """dst += the 8 bytes at byte `slot` of the frame."""
        ...

    def slot_place(self, slot: int) -> Place:
        """Return byte `slot` of the frame as a place."""
        ...

    def slot_address(self, dst: Register, slot: int) -> None:
        """dst = address of byte `slot` of the frame."""
        ...

    def load_argument(self, dst: Register, index: int) -> None:
        """dst = the function's argument `index`, from its register or, past the registers, from the stack."""
        ...

    def call(self, label: Label) -> None:
        """Call a function of the same buffer."""
        ...

    def call_register(self, address: Register) -> None:
        """Call the function at an address."""
        ...

    def return_(self) -> None:
        """Return from a function that has no prologue."""
        ...

    # Integers

    def move(self, dst: Register, src: Register) -> None:
        """dst = src; nothing is emitted if they are the same."""
        ...

    def constant(self, dst: Register, value: int) -> None:
        """dst = value, any 64 bits."""
        ...

    def add(self, dst: Register, src: Register) -> None:
        """dst += src."""
        ...

    def add_constant(self, dst: Register, value: int) -> None:
        """dst += value, any 64 bits."""
        ...

    def sum_constant(self, dst: Register, src: Register, value: int) -> None:
        """dst = src + value, any 64 bits."""
        ...

    def sum_multiple(self, dst: Register, src: Register, addend: Register, count: int) -> None:
        """dst = src + addend * count."""
        ...

    def align_down(self, dst: Register, boundary: int) -> None:
        """dst = the greatest multiple of a power of two that is not above it."""
        ...

    def subtract(self, dst: Register, src: Register) -> None:
        """dst -= src."""
        ...

    def multiply(self, dst: Register, src: Register) -> None:
        """dst *= src."""
        ...

    def multiply_constant(self, dst: Register, src: Register, value: int) -> None:
        """dst = src * value, any 64 bits."""
        ...

    def minimum(self, dst: Register, src: Register) -> None:
        """dst = min(dst, src)."""
        ...

    def divide(self, quotient: Register, remainder: Register, dividend: Register, divisor: Register) -> None:
        """quotient, remainder = divmod(dividend, divisor); dividend >= 0, divisor > 0, quotient is not remainder.

        Clobbers rax and rdx on x86-64, nothing on AArch64; the divisor is neither of these two nor a result.
        """
        ...

    def divide_constant(self, quotient: Register, remainder: Register, dividend: Register, divisor: int) -> None:
        """As `divide`, by a constant > 0."""
        ...

    # Memory and flow

    def place(self, base: Register, offset: int = 0, index: Register | None = None, scale: int = 1) -> Place:
        """Return the address base + offset + index * scale for a verb that takes a place."""
        ...

    def load(self, dst: Register, base: Register, offset: int = 0) -> None:
        """dst = the 8 bytes at base + offset."""
        ...

    def store(self, base: Register, offset: int, src: Register) -> None:
        """The 8 bytes at base + offset = src."""
        ...

    def stream_part(self, target: Register, source: Register, size: int) -> None:
        """The bytes at the target = those at the source: a power of two, at most half a cache line.

        They pass the caches where the processor has such stores for so few bytes.
        """
        ...

    def prefetch(self, place: Place) -> None:
        """Ask for the cache line at a place, to be written soon; any address is legal."""
        ...

    def order_stores(self) -> None:
        """Let no later store pass the non-temporal ones before it."""
        ...

    def address_of(self, dst: Register, label: Label) -> None:
        """dst = address of a label in code or data."""
        ...

    def branch(self, condition: Condition, a: Register, b: Register | int, label: Label) -> None:
        """Go to the label if `a condition b`, signed."""
        ...

    def jump(self, label: Label) -> None:
        """Go to the label."""
        ...

    def loop(self, count: Register | int, counter: Register) -> AbstractContextManager[None]:
        """Run the body `count` times; the counter goes from count down to 1 and is 0 behind the loop.

        A register's count may be 0 or less: then the body does not run. A known count is 1 at least; 1 emits no loop,
        and the counter is not touched.
        """
        ...

    # Vectors

    def vectors(self, dtype: DType) -> VectorMachine:
        """Return the vector verbs for a type of elements."""
        ...


class VectorMachine(Protocol):
    """Vector verbs over elements of one type. Arithmetic writes its first operand: `add(dst, a, b)`.

    Attributes:
        dtype: the type.
        lanes: elements of a register.
        registers: all vector registers.
        memory_operand: whether arithmetic takes a place as its last operand.
        broadcast_operand: whether arithmetic takes `element(place)` as its last operand.
        index_bytes: bytes of the frame that `stride_index` needs for a stride in a register.
        fma: dst += a * b, rounded once.
        add, sub, mul, div: of two.
        min, max: of two; b if either is NaN or both are zeros (on x86).
    """

    dtype: DType
    lanes: int
    registers: tuple[Vector, ...]
    memory_operand: bool
    broadcast_operand: bool
    index_bytes: int
    fma: Verb
    add: Verb
    sub: Verb
    mul: Verb
    div: Verb
    min: Verb
    max: Verb

    def mask(self, count: int) -> Mask:
        """Return what masks all but the first `count` lanes, None for all lanes; emits what sets it up, once."""
        ...

    def load(self, dst: Vector, place: Place, mask: Mask = None) -> None:
        """dst = the lanes at a place, 0 where masked; masked bytes are not touched."""
        ...

    def store(
        self, place: Place, src: Vector, mask: Mask = None, nontemporal: bool = False, temporary: Vector = None
    ) -> None:
        """The lanes at a place = src; masked bytes are not touched. A mask may need a free register.

        A non-temporal store of a whole vector needs a place that is a multiple of the vector's size.
        """
        ...

    def broadcast(self, dst: Vector, place: Place) -> None:
        """Every lane of dst = the element at a place."""
        ...

    def broadcast_constant(self, dst: Vector, value: float) -> None:
        """Every lane of dst = a number that lies behind the code."""
        ...

    def element(self, place: Place) -> Place:
        """Return the element at a place as an operand that is broadcast to all lanes, where there are such."""
        ...

    def zero(self, dst: Vector) -> None:
        """dst = 0."""
        ...

    def copy(self, dst: Vector, src: Vector) -> None:
        """dst = src."""
        ...

    def add_memory(self, dst: Vector, place: Place, mask: Mask = None, temporary: Vector = None) -> None:
        """dst += the lanes at a place; masked bytes are not touched. It may need a free register."""
        ...

    def keep_nan(self, dst: Vector, src: Vector, temporary: Vector) -> None:
        """Lanes of dst = src where src is NaN."""
        ...

    def transpose(self, block: list[Vector], free: list[Vector]) -> tuple[list[Vector], list[Vector]]:
        """Transpose a block of `lanes` registers with as many free ones; return (where it is now, the others)."""
        ...

    def sum_lanes(self, registers: list[Vector], temporary: Vector) -> None:
        """registers[0] = in lane i the sum over the lanes of registers[i]; up to `lanes` registers, all clobbered."""
        ...

    def finish(self) -> None:
        """End a function that used vectors."""
        ...

    def stride_index(self, stride: Register | int, slot: int, temporary: Vector) -> Any:
        """Return what strided accesses need to know of a stride in bytes; it may use the frame from `slot` on."""
        ...

    def load_strided(
        self, dst: Vector, base: Register, offset: int, index: Any, count: int, temporaries: Sequence[Vector]
    ) -> None:
        """dst = `count` elements that lie a stride apart, the first at base + offset; 0 in the other lanes.

        Needs two free registers.
        """
        ...

    def store_strided(
        self, base: Register, offset: int, src: Vector, index: Any, count: int, temporaries: Sequence[Vector]
    ) -> None:
        """`count` elements that lie a stride apart, the first at base + offset, = the first lanes of src."""
        ...


class GroupingMachine(VectorMachine, Protocol):
    """Vector verbs that put several products of k side by side; see `einloom.kernels.verbs.grouped`."""

    def lane_mask(self, lanes: int) -> Mask:
        """Return what masks all lanes whose bit is 0; emits what sets it up, once."""
        ...

    def load_piece(self, dst: Vector, place: Place, piece: int, rows: int, group: int) -> None:
        """Lanes (piece, row) of dst = rows of a place that lies as many lanes before them; the first piece clears."""
        ...

    def order_rows(self, dst: Vector, pieces: Vector | Place, group: int, pitch: int) -> None:
        """dst = lanes (row, k) from lanes (k, row), `pitch` lanes from one k to the next, of a register or place."""
        ...

    def broadcast_group(self, dst: Vector, place: Place, group: int, count: int) -> None:
        """dst = `group` consecutive elements over and over, 0 from element `count` on."""
        ...

    def sum_groups(self, registers: list[Vector], group: int, pitch: int, temporary: Vector) -> None:
        """registers[0] = the sums over k of `group` registers of lanes (row, k), as lanes (register, row)."""
        ...


def machine_for(asm: Assembler, machine: Machine) -> KernelMachine:
    """Return the abstract machine that emits into `asm` what `machine` can run.

    Raises:
        UnsupportedTarget: no kernels exist for the machine's vector ISA.
    """
    if machine.vector in ("avx512", "avx2") and asm.isa == machine.isa == "x86_64":
        from einloom.kernels.verbs.x86 import X86Machine

        return X86Machine(asm, machine)
    if machine.vector == "neon" and asm.isa == machine.isa == "aarch64":
        from einloom.kernels.verbs.aarch64 import AArch64Machine

        return AArch64Machine(asm, machine)
    raise UnsupportedTarget(
        f"no kernels for vector ISA {machine.vector!r} on {machine.isa}, assembled for {asm.isa}\n"
        "  There are avx512 and avx2 on x86_64, neon on aarch64. target='interpreter' runs anywhere."
    )
