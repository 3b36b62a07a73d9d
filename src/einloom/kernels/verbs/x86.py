"""The scalar verbs on x86-64 (System V calling convention). The vector verbs: `avx512`, `avx2`.

r11 is the machine's own: verbs that need a register take it, so it appears in no list.

>>> from einloom.asm import Assembler
>>> from einloom.kernels import machine_for
>>> from einloom.machine import AVX512
>>> km = machine_for(Assembler("x86_64"), AVX512)
>>> km.add_constant(km.arguments[0], 1 << 40)
>>> print(km.asm.listing())
     0    49bb0000000000010000              mov r11, 1099511627776
     a    4c01df                            add rdi, r11
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from einloom.asm import Assembler, Label
from einloom.asm.x86.operands import (
    R64,
    Address,
    Vector,
    gpr32,
    mem,
    r8,
    r9,
    r10,
    r11,
    r11b,
    r11d,
    r11w,
    r12,
    r13,
    r14,
    r15,
    rax,
    rbp,
    rbx,
    rcx,
    rdi,
    rdx,
    rsi,
    rsp,
)
from einloom.kernels.verbs.abilities import TileVerbs
from einloom.kernels.verbs.scalar import Condition
from einloom.kernels.verbs.vector import CopyVerbs, FormulaVerbs, KernelMachine, NarrowVerbs, Verb
from einloom.machine import Machine

__all__ = ["X86Machine", "behind"]

Copies: TypeAlias = CopyVerbs[R64, Vector, Address]
Narrow: TypeAlias = NarrowVerbs[R64, Vector, Address]
Vectors: TypeAlias = FormulaVerbs[R64, Vector, Address]

LOW = tuple(gpr32)
"""The lower halves of general registers, by numbers that nobody has to check."""

JUMPS = {"lt": "jl", "le": "jle", "eq": "je", "ne": "jne", "ge": "jge", "gt": "jg"}


def behind(place: Address, distance: int) -> Address:
    """Return the place so many bytes behind a place."""
    return mem(place.base, place.disp + distance, place.index, place.scale)


class X86Machine(KernelMachine[R64, Vector, Address]):
    """See `einloom.kernels.verbs.scalar.ScalarVerbs`."""

    arguments = (rdi, rsi, rdx, rcx, r8, r9)
    scratch = (rax, r10)
    saved = (rbx, rbp, r12, r13, r14, r15)
    result = rax
    # An address adds a register times one of these, so that one register reaches several columns.
    scales: tuple[int, ...] = (1, 2, 4, 8)
    reach = (1 << 31) - 1

    def __init__(
        self,
        asm: Assembler,
        machine: Machine,
        vectors: Callable[..., Vectors],
        narrow: Callable[..., Narrow],
        converted: Callable[..., Copies],
        dot_products: Callable[..., Vectors],
        tiles: TileVerbs[R64] | None = None,
    ) -> None:
        super().__init__(asm, machine, vectors, narrow, converted, dot_products, tiles)
        self._saved: tuple[R64, ...] = ()
        self._frame = 0
        self.instructions: dict[int, dict[str, Verb]] = {}  # of vectors, by the size of their elements

    # Functions

    def prologue(self, saved: Sequence[R64] = (), frame_bytes: int = 0, calls: bool = True) -> None:
        self._saved = tuple(saved)
        self._frame = -(-frame_bytes // 8) * 8
        if (calls or self._frame) and (self._frame + 8 * len(self._saved)) % 16 == 0:
            self._frame += 8  # The return address lies on the stack already.
        for register in self._saved:
            self.asm.push(register)
        if self._frame:
            self.asm.sub(rsp, self._frame)

    def epilogue(self) -> None:
        if self._frame:
            self.asm.add(rsp, self._frame)
        for register in reversed(self._saved):
            self.asm.pop(register)
        self.asm.ret()

    def load_slot(self, dst: R64, slot: int) -> None:
        self.asm.mov(dst, mem.direct(rsp, slot))

    def store_slot(self, slot: int, src: R64) -> None:
        self.asm.mov(mem.direct(rsp, slot), src)

    def set_slot(self, slot: int, value: int, temporary: R64) -> None:
        if -self.reach <= value <= self.reach:
            self.asm.mov(mem.qword.direct(rsp, slot), value)
        else:
            super().set_slot(slot, value, temporary)

    def increase_slot(self, slot: int, addend: R64 | int, temporary: R64) -> None:
        if isinstance(addend, int) and not -self.reach <= addend <= self.reach:
            self.asm.mov(temporary, addend)
            addend = temporary
        self.asm.add(mem.qword.direct(rsp, slot), addend)

    def count_down_slot(self, slot: int, label: Label, temporary: R64) -> None:
        self.asm.dec(mem.qword.direct(rsp, slot))
        self.asm.jne(label)

    def branch_slot(self, condition: Condition, slot: int, b: int, label: Label, temporary: R64) -> None:
        if -self.reach <= b <= self.reach:
            self.asm.cmp(mem.qword.direct(rsp, slot), b)
            getattr(self.asm, JUMPS[condition])(label)
        else:
            super().branch_slot(condition, slot, b, label, temporary)

    def slot_address(self, dst: R64, slot: int) -> None:
        self.asm.lea(dst, mem.direct(rsp, slot))

    def slot_place(self, slot: int) -> Address:
        return mem.direct(rsp, slot)

    def load_argument(self, dst: R64, index: int) -> None:
        if index < len(self.arguments):
            self.move(dst, self.arguments[index])
        else:
            above = self._frame + 8 * len(self._saved) + 8
            self.asm.mov(dst, mem(rsp, above + 8 * (index - len(self.arguments))))

    def call(self, label: Label) -> None:
        self.asm.call(label)

    def call_register(self, address: R64) -> None:
        self.asm.call(address)

    # Integers

    def constant(self, dst: R64, value: int) -> None:
        if value == 0:
            self.asm.xor(LOW[dst.number], LOW[dst.number])
        elif 0 < value < 1 << 32:
            self.asm.mov(LOW[dst.number], value)
        else:
            self.asm.mov(dst, value)

    def add(self, dst: R64, src: R64) -> None:
        self.asm.add(dst, src)

    def add_constant(self, dst: R64, value: int) -> None:
        if -self.reach <= value <= self.reach:
            if value:
                self.asm.add(dst, value)
        else:
            self.asm.mov(r11, value)
            self.asm.add(dst, r11)

    def sum_constant(self, dst: R64, src: R64, value: int) -> None:
        if value and -self.reach <= value <= self.reach:
            self.asm.lea(dst, mem.direct(src, value))
        else:
            self.move(dst, src)
            self.add_constant(dst, value)

    def sum_multiple(self, dst: R64, src: R64, addend: R64, count: int) -> None:
        if count in self.scales:
            self.asm.lea(dst, mem(src, 0, addend, count))
        else:
            if -self.reach <= count <= self.reach:
                self.asm.imul(r11, addend, count)
            else:
                self.asm.mov(r11, count)
                self.asm.imul(r11, addend)
            self.asm.lea(dst, mem(src, 0, r11))

    def add_slot(self, dst: R64, slot: int) -> None:
        self.asm.add(dst, mem.direct(rsp, slot))

    def align_down(self, dst: R64, boundary: int) -> None:
        self.asm.and_(dst, -boundary)

    def subtract(self, dst: R64, src: R64) -> None:
        self.asm.sub(dst, src)

    def multiply(self, dst: R64, src: R64) -> None:
        self.asm.imul(dst, src)

    def multiply_constant(self, dst: R64, src: R64, value: int) -> None:
        if value > 0 and value & (value - 1) == 0:
            self.move(dst, src)
            if value > 1:
                self.asm.shl(dst, value.bit_length() - 1)
        elif -self.reach <= value <= self.reach:
            self.asm.imul(dst, src, value)
        else:
            self.asm.mov(r11, value)
            self.asm.imul(r11, src)
            self.asm.mov(dst, r11)

    def minimum(self, dst: R64, src: R64) -> None:
        self.asm.cmp(dst, src)
        self.asm.cmovg(dst, src)

    def divide(self, quotient: R64, remainder: R64, dividend: R64, divisor: R64) -> None:
        self.move(rax, dividend)
        self.asm.xor(LOW[rdx.number], LOW[rdx.number])
        self.asm.div(divisor)
        if quotient is rdx and remainder is rax:
            self.asm.xchg(rax, rdx)
        elif quotient is rdx:
            self.move(remainder, rdx)
            self.move(quotient, rax)
        else:
            self.move(quotient, rax)
            self.move(remainder, rdx)

    def divide_constant(self, quotient: R64, remainder: R64, dividend: R64, divisor: int) -> None:
        if divisor & (divisor - 1) or divisor > 1 << 30:
            self.asm.mov(r11, divisor)
            self.divide(quotient, remainder, dividend, r11)
            return
        self.asm.mov(r11, dividend)
        self.move(quotient, dividend)
        if divisor > 1:
            self.asm.shr(quotient, divisor.bit_length() - 1)
        self.asm.and_(r11, divisor - 1)
        self.asm.mov(remainder, r11)

    # Memory and flow

    def place(self, base: R64, offset: int = 0, index: R64 | None = None, scale: int = 1) -> Address:
        return Address.at(base, offset) if index is None else mem(base, offset, index, scale)

    def load(self, dst: R64, base: R64, offset: int = 0) -> None:
        self.asm.mov(dst, mem.direct(base, offset))

    def store(self, base: R64, offset: int, src: R64) -> None:
        self.asm.mov(mem.direct(base, offset), src)

    def fetch_add(self, number: R64, address: R64) -> None:
        self.asm.lock_xadd(mem(address), number)

    def publish(self, base: R64, offset: int, src: R64) -> None:
        self.store(base, offset, src)  # Stores stay in order on x86.

    def observe(self, dst: R64, base: R64, offset: int) -> None:
        self.load(dst, base, offset)

    def pause(self) -> None:
        self.asm.pause()

    def copy_part(self, target: R64, source: R64, size: int) -> None:
        register = {1: r11b, 2: r11w, 4: r11d}.get(size, r11)
        for offset in range(0, size, 8):
            self.asm.mov(register, mem(source, offset))
            self.asm.mov(mem(target, offset), register)

    def prefetch(self, place: Address) -> None:
        if "prefetchw" in self.machine.features:
            self.asm.prefetchw(place)
        else:
            self.asm.prefetcht0(place)

    def prefetch_input(self, place: Address) -> None:
        self.asm.prefetcht0(place)

    def prefetch_block(self, place: Address) -> None:
        self.asm.prefetcht1(place)

    def order_stores(self) -> None:
        self.asm.sfence()

    def address_of(self, dst: R64, label: Label) -> None:
        self.asm.lea(dst, mem(label))

    def branch(self, condition: Condition, a: R64, b: R64 | int, label: Label) -> None:
        if b == 0 and condition in ("eq", "ne", "lt", "ge"):
            self.asm.test(a, a)
        elif isinstance(b, int) and not -self.reach <= b <= self.reach:
            self.asm.mov(r11, b)
            self.asm.cmp(a, r11)
        else:
            self.asm.cmp(a, b)
        getattr(self.asm, JUMPS[condition])(label)

    def jump(self, label: Label) -> None:
        self.asm.jmp(label)

    def count_down(self, counter: R64, label: Label) -> None:
        self.asm.dec(counter)
        self.asm.jne(label)

    def strided_places(self, base: R64, offset: int, stride: R64 | int, count: int) -> Iterator[Address]:
        """Yield the address of each lane: a walk along r11, so each must be used before the next is asked for."""
        if isinstance(stride, int):
            yield from (mem(base, offset + lane * stride) for lane in range(count))
            return
        self.asm.lea(r11, mem.direct(base, offset))
        for lane in range(count):
            if lane:
                self.asm.add(r11, stride)
            yield mem(r11)
