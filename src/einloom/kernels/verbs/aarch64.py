"""The scalar verbs on AArch64 (AAPCS64 calling convention). The vector verbs: `neon`.

x16 and x17 are the machine's own: verbs that need a register take them, so they appear in no list. x18 belongs to the
platform, x29 and x30 to frames.

>>> from einloom.asm import Assembler
>>> from einloom.kernels import machine_for
>>> from einloom.machine import NEON
>>> km = machine_for(Assembler("aarch64"), NEON)
>>> km.add_constant(km.arguments[0], 1 << 40)
>>> print(km.asm.listing())
     0    d2c02010  mov x16, #1099511627776
     4    8b100000  add x0, x0, x16
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from einloom.asm import Assembler, Label
from einloom.asm.aarch64.operands import Address, Arranged, Offset, Register, StackX, X, mem, sp, w, x
from einloom.errors import InternalError
from einloom.kernels.verbs.preserved import PreservedVectors
from einloom.kernels.verbs.scalar import Condition
from einloom.kernels.verbs.vector import ArithmeticVerbs, CopyVerbs, FormulaVerbs, KernelMachine, NarrowVerbs, Verb
from einloom.machine import Machine

__all__ = ["AArch64Machine"]

Copies: TypeAlias = CopyVerbs[X, Arranged, Offset]
Narrow: TypeAlias = NarrowVerbs[X, Arranged, Offset]
Vectors: TypeAlias = FormulaVerbs[X, Arranged, Offset]

own, other = x[16], x[17]
LINK = (x[29], x[30])


class AArch64Machine(KernelMachine[X, Arranged, Offset]):
    """See `einloom.kernels.verbs.scalar.ScalarVerbs`."""

    arguments = x[:8]
    scratch = x[8:16]
    saved = x[19:29]
    result = x[0]
    # An address adds an index register or an offset, not both, so columns have pointers of their own.
    scales: tuple[int, ...] = ()
    # As far as the load of one float32 reaches; what a vector's load does not reach costs an addition.
    reach = 4095 * 4

    def __init__(
        self,
        asm: Assembler,
        machine: Machine,
        vectors: Callable[..., Vectors],
        narrow: Callable[..., Narrow],
        converted: Callable[..., Copies],
        dot_products: Callable[..., Vectors],
        scalable: Callable[..., ArithmeticVerbs[X, Arranged, Offset]] | None = None,
    ) -> None:
        super().__init__(asm, machine, vectors, narrow, converted, dot_products, scalable=scalable)
        self._saved: tuple[X, ...] = ()
        self._frame = 0
        self._vectors: PreservedVectors | None = None

    # Functions

    def prologue(self, saved: Sequence[X] = (), frame_bytes: int = 0, calls: bool = True) -> None:
        """Begin a function; only one without calls may use vector registers, and those of its caller are saved."""
        self._saved = (*saved, *LINK) if calls else tuple(saved)
        self._frame = -(-frame_bytes // 16) * 16
        self._vectors = None if calls else PreservedVectors(self.asm)
        for index, pair in enumerate(_pairs(self._saved)):
            place = mem(sp, 16 * index) if index else mem(sp, -self._saved_bytes).pre
            self._each_of(pair, place, self.asm.stp, self.asm.str)
        self._move_stack(-self._frame)

    def epilogue(self) -> None:
        self._move_stack(self._frame)
        for index, pair in reversed([*enumerate(_pairs(self._saved))]):
            place = mem(sp, 16 * index) if index else mem(sp).post(self._saved_bytes)
            self._each_of(pair, place, self.asm.ldp, self.asm.ldr)
        if self._vectors is not None:
            self._vectors.restore()
        self.asm.ret()

    def preserve_vectors(self) -> None:
        """Save all of the caller's vector registers, whichever of them the function names."""
        assert self._vectors is not None
        self._vectors.bytes_below()

    @property
    def _saved_bytes(self) -> int:
        return 16 * len(_pairs(self._saved))

    @staticmethod
    def _each_of(registers: tuple[X, ...], place: Address, both: Verb, one: Verb) -> None:
        (both if len(registers) == 2 else one)(*registers, place)

    def _move_stack(self, distance: int) -> None:
        if not -1 << 24 < distance < 1 << 24:
            raise InternalError(f"a frame of {abs(distance)} bytes")
        operation = self.asm.add if distance > 0 else self.asm.sub
        for part in (abs(distance) & 0xFFF, abs(distance) & 0xFFF000):
            if part:
                operation(sp, sp, part)

    def load_slot(self, dst: X, slot: int) -> None:
        self.load(dst, sp, slot)

    def store_slot(self, slot: int, src: X) -> None:
        self.store(sp, slot, src)

    def add_slot(self, dst: X, slot: int) -> None:
        self.load(own, sp, slot)
        self.asm.add(dst, dst, own)

    def slot_place(self, slot: int) -> Offset:
        return mem(sp, slot)

    def slot_address(self, dst: X, slot: int) -> None:
        self.sum_constant(dst, sp, slot)

    def load_argument(self, dst: X, index: int) -> None:
        if index < len(self.arguments):
            self.move(dst, self.arguments[index])
            return
        above = self._frame + self._saved_bytes + (self._vectors.bytes_below() if self._vectors else 0)
        self.load(dst, sp, above + 8 * (index - len(self.arguments)))

    def call(self, label: Label) -> None:
        self.asm.bl(label)

    def call_register(self, address: X) -> None:
        self.asm.blr(address)

    # Integers

    def constant(self, dst: X, value: int) -> None:
        self.asm.mov_constant(dst, value)

    def add(self, dst: X, src: X) -> None:
        self.asm.add(dst, dst, src)

    def add_constant(self, dst: X, value: int) -> None:
        if value:
            self.sum_constant(dst, dst, value)

    def sum_constant(self, dst: X, src: Register, value: int) -> None:
        if not -1 << 24 < value < 1 << 24:
            self.asm.mov_constant(own, value)
            self.asm.add(dst, src, own)
            return
        operation = self.asm.add if value > 0 else self.asm.sub
        parts = [part for part in (abs(value) & 0xFFF000, abs(value) & 0xFFF) if part]
        for part in parts:
            operation(dst, src, part)
            src = dst
        if not parts and dst is not src:
            self.asm.mov(dst, src)

    def sum_multiple(self, dst: X, src: X, addend: X, count: int) -> None:
        shift = abs(count).bit_length() - 1
        if count == 1:
            self.asm.add(dst, src, addend)
        elif count and abs(count) == 1 << shift:
            (self.asm.add if count > 0 else self.asm.sub)(dst, src, addend, lsl=shift)
        elif count > 0 and count - 1 & count - 2 == 0:
            self.asm.add(own, addend, addend, lsl=(count - 1).bit_length() - 1)
            self.asm.add(dst, src, own)
        else:
            self.asm.mov_constant(own, count)
            self.asm.madd(dst, addend, own, src)

    def align_down(self, dst: X, boundary: int) -> None:
        self.asm.and_(dst, dst, -boundary)

    def subtract(self, dst: X, src: X) -> None:
        self.asm.sub(dst, dst, src)

    def multiply(self, dst: X, src: X) -> None:
        self.asm.mul(dst, dst, src)

    def multiply_constant(self, dst: X, src: X, value: int) -> None:
        if value > 0 and value & value - 1 == 0:
            if value > 1:
                self.asm.lsl(dst, src, value.bit_length() - 1)
            else:
                self.move(dst, src)
        else:
            self.asm.mov_constant(own, value)
            self.asm.mul(dst, src, own)

    def minimum(self, dst: X, src: X) -> None:
        self.asm.cmp(dst, src)
        self.asm.csel(dst, dst, src, "le")

    def divide(self, quotient: X, remainder: X, dividend: X, divisor: X) -> None:
        self.asm.udiv(own, dividend, divisor)
        self.asm.msub(other, own, divisor, dividend)
        self.asm.mov(quotient, own)
        self.asm.mov(remainder, other)

    def divide_constant(self, quotient: X, remainder: X, dividend: X, divisor: int) -> None:
        if divisor & divisor - 1:
            self.asm.mov_constant(other, divisor)
            self.divide(quotient, remainder, dividend, other)
        elif divisor == 1:
            self.move(quotient, dividend)
            self.asm.mov(remainder, 0)
        else:
            self.asm.and_(own, dividend, divisor - 1)
            self.asm.lsr(quotient, dividend, divisor.bit_length() - 1)
            self.asm.mov(remainder, own)

    # Memory and flow

    def place(self, base: X, offset: int = 0, index: X | None = None, scale: int = 1) -> Offset:
        if index is not None:
            raise InternalError("an AArch64 address has no index beside an offset")
        return mem(base, offset)

    def near(self, place: Offset, size: int) -> Offset:
        """Return a place that a load or store of `size` bytes reaches; one that is too far is first added up in x16."""
        if _reaches(place.offset, size):
            return place
        rest = place.offset & 0xFFF
        if place.offset > 0xFFF and _reaches(rest, size):
            self.sum_constant(own, place.base, place.offset - rest)
            return mem(own, rest)
        return self.at(place)

    def near_all(self, place: Offset, size: int, count: int) -> Offset:
        """Return a place from which `count` consecutive loads or stores of `size` bytes reach."""
        last = place.offset + (count - 1) * size
        return place if _reaches(place.offset, size) and _reaches(last, size) else self.at(place)

    def at(self, place: Offset) -> Offset:
        """Return a place without offset, for instructions that take none."""
        if not place.offset:
            return place
        self.sum_constant(own, place.base, place.offset)
        return mem(own)

    def load(self, dst: X, base: X | StackX, offset: int = 0) -> None:
        self.asm.ldr(dst, self.near(mem(base, offset), 8))

    def store(self, base: X | StackX, offset: int, src: X) -> None:
        self.asm.str(src, self.near(mem(base, offset), 8))

    def fetch_add(self, number: X, address: X) -> None:
        asm, failed = self.asm, w[own.number]
        again = asm.label("again")
        asm.ldaxr(other, mem(address))
        asm.add(number, number, other)
        asm.stlxr(failed, number, mem(address))
        asm.sub(number, number, other)
        asm.cbnz(failed, again)
        asm.mov(number, other)

    def publish(self, base: X, offset: int, src: X) -> None:
        self.asm.dmb("ish")
        self.store(base, offset, src)

    def observe(self, dst: X, base: X, offset: int) -> None:
        self.load(dst, base, offset)
        self.asm.dmb("ish")

    def pause(self) -> None:
        self.asm.hint(1)

    def copy_part(self, target: X, source: X, size: int) -> None:
        asm = self.asm
        load, store = {1: (asm.ldrb, asm.strb), 2: (asm.ldrh, asm.strh)}.get(size, (asm.ldr, asm.str))
        register = own if size >= 8 else w[own.number]
        for offset in range(0, size, 8):
            load(register, mem(source, offset))
            store(register, mem(target, offset))

    def prefetch(self, place: Offset) -> None:
        self.asm.prfm("pstl1keep", self.near(place, 8))

    def prefetch_input(self, place: Offset) -> None:
        self.asm.prfm("pldl1keep", self.near(place, 8))

    def prefetch_block(self, place: Offset) -> None:
        self.asm.prfm("pldl2keep", self.near(place, 8))

    def order_stores(self) -> None:
        self.asm.dmb("ishst")

    def address_of(self, dst: X, label: Label) -> None:
        self.asm.adr(dst, label)

    def branch(self, condition: Condition, a: X, b: X | int, label: Label) -> None:
        if b == 0 and condition in ("eq", "ne"):
            (self.asm.cbz if condition == "eq" else self.asm.cbnz)(a, label)
            return
        if isinstance(b, int) and not -4095 <= b <= 4095:
            self.asm.mov_constant(own, b)
            b = own
        self.asm.cmp(a, b)
        getattr(self.asm, f"b_{condition}")(label)

    def jump(self, label: Label) -> None:
        self.asm.b(label)

    def count_down(self, counter: X, label: Label) -> None:
        self.asm.sub(counter, counter, 1)
        self.asm.cbnz(counter, label)


def _reaches(offset: int, size: int) -> bool:
    """Whether an offset fits a load or store of `size` bytes: any small one, or a multiple of the size."""
    return -256 <= offset < 256 or (offset % size == 0 and 0 <= offset < 4096 * size)


def _pairs(registers: tuple[X, ...]) -> list[tuple[X, ...]]:
    return [registers[i : i + 2] for i in range(0, len(registers), 2)]
