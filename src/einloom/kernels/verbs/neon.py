"""The vector verbs on Neon: 32 registers of 16 bytes, seen as four float32 or two float64.

Masks of 1 and 2 float32 (1 float64) are loads of a narrower register, 3 take a load more for the last lane. No access
touches a byte that is masked. Conditions are vectors of all ones or all zeros; constants are loaded whole from behind
the code.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from einloom.asm.aarch64.operands import Arranged, Offset, Scalar, X, d, mem, q, s, v
from einloom.dtypes import FLOAT32, DType
from einloom.errors import EncodingError
from einloom.kernels.verbs.aarch64 import AArch64Machine, own
from einloom.kernels.verbs.fold import fold_lanes
from einloom.kernels.verbs.half_products_neon import NeonHalfProducts
from einloom.kernels.verbs.neon_elements import NeonElements, lanes_of
from einloom.kernels.verbs.products import vectors_of
from einloom.kernels.verbs.vector import Block, FormulaVerbs, Mask, StrideIndex, Verb
from einloom.machine import NEON

__all__ = ["NeonVectors"]

# Registers that callees preserve come late, but for the last two, which serve as temporaries.
ORDER = (*range(8), *range(16, 30), *range(8, 16), 30, 31)
VIEWS: dict[int, tuple[Arranged, ...]] = {
    4: tuple(v[number].s4 for number in ORDER),
    8: tuple(v[number].d2 for number in ORDER),
}
ARITHMETIC = ("add", "sub", "mul", "div", "min", "max", "sqrt")


class NeonVectors(FormulaVerbs[X, Arranged, Offset]):
    """See `einloom.kernels.verbs.vector.FormulaVerbs`. Registers are v0.4s or v0.2d."""

    memory_operand = False
    keeps_nan = True
    index_bytes = 0
    conditions = ()
    nan_table = 0
    load_transposed = element = grouping = None
    multiply_add = scale = fix_nan = constant_operand = None

    def __init__(self, km: AArch64Machine, dtype: DType) -> None:
        self.km = km
        self.dtype = dtype
        self.lanes = 16 // dtype.size
        self.registers = VIEWS[dtype.size]
        self.working = self.registers[: vectors_of(NEON.vectors, dtype).registers]
        self.asm = asm = km.asm
        self._element: tuple[Scalar, ...] = s if dtype.size == 4 else d
        self.fma, self.fnma, self.shift_left, self.shift_right = asm.fmla, asm.fmls, asm.shl, asm.ushr
        for name in ARITHMETIC:
            setattr(self, name, getattr(asm, f"f{name}"))
        self.bit_and, self.bit_or, self.bit_xor = map(_on_bytes, (asm.and_, asm.orr, asm.eor))
        self.product = self.mul
        self.elements = NeonElements(self)
        if dtype == FLOAT32 and "fp16fml" in km.machine.features:
            self.halves = NeonHalfProducts(km)

    # Whole vectors

    def load(self, dst: Arranged, place: Offset, mask: Mask = None) -> None:
        self.move(self.asm.ldr, self.asm.ld1, dst, place, mask)

    def store(
        self,
        place: Offset,
        src: Arranged,
        mask: Mask = None,
        nontemporal: bool = False,
        temporary: Arranged | None = None,
    ) -> None:
        """The lanes at a place = src. Neon has non-temporal stores of pairs only, so this one is ordinary."""
        self.move(self.asm.str, self.asm.st1, src, place, mask)

    def move(self, whole: Verb, lane: Verb, register: Arranged, place: Offset, mask: Mask) -> None:
        """Load or store a register, with the instructions for a whole one and for one lane."""
        number, size = register.number, self.dtype.size * (self.lanes if mask is None else mask.bit_length())
        if size == 12:
            whole(d[number], self.km.near(place, 8))
            lane((v[number].s[2],), self.km.at(mem(place.base, place.offset + 8)))
        else:
            whole({16: q, 8: d, 4: s}[size][number], self.km.near(place, size))

    def broadcast(self, dst: Arranged, place: Offset) -> None:
        self.asm.ld1r((dst,), self.km.at(place))

    def broadcast_constant(self, dst: Arranged, value: float) -> None:
        """Every lane of dst = a number: an immediate, else one that lies behind the code."""
        try:
            self.asm.fmov(dst, value)
        except EncodingError:
            lanes = struct.pack("<f" if self.dtype.size == 4 else "<d", value) * self.lanes
            self.asm.ldr(q[dst.number], self.asm.data(lanes))

    def zero(self, dst: Arranged) -> None:
        self.asm.movi(v[dst.number].d2, 0)

    def copy(self, dst: Arranged, src: Arranged) -> None:
        self.asm.mov(v[dst.number].b16, v[src.number].b16)

    def add_memory(self, dst: Arranged, place: Offset, mask: Mask = None, temporary: Arranged | None = None) -> None:
        assert temporary is not None
        self.load(temporary, place, mask)
        self.add(dst, dst, temporary)

    def transpose(self, block: list[Arranged], free: list[Arranged]) -> Block[Arranged]:
        asm = self.asm
        for i in range(0, self.lanes, 2):
            asm.trn1(free[i], block[i], block[i + 1])
            asm.trn2(free[i + 1], block[i], block[i + 1])
        if self.lanes == 2:
            return free, block
        for i, zip_ in ((0, asm.zip1), (2, asm.zip2)):
            for j in (0, 1):
                zip_(*(v[register.number].d2 for register in (block[i + j], free[j], free[j + 2])))
        return block, free

    def sum_lanes(self, registers: list[Arranged], temporary: Arranged, group: int = 1) -> None:
        if group > 1:
            fold_lanes(self, registers, temporary, lambda first, second: self.add(first, first, second), group)
            return
        for _ in range(self.lanes.bit_length() - 1):
            for i in range(0, len(registers), 2):
                self.asm.faddp(registers[i], registers[i], registers[min(i + 1, len(registers) - 1)])
            registers = registers[::2]

    def split_lanes(self, level: int, first: Arranged, second: Arranged, temporary: Arranged, group: int = 1) -> None:
        if group > 1:
            first, second, temporary = (v[register.number].d2 for register in (first, second, temporary))
        self.asm.uzp1(temporary, first, second)
        self.asm.uzp2(first, first, second)

    # Neighbours

    def swap_neighbours(self, dst: Arranged, src: Arranged) -> None:
        if self.dtype.size == 4:
            self.asm.rev64(dst, src)
        else:
            whole = v[src.number].b16
            self.asm.ext(v[dst.number].b16, whole, whole, 8)

    def repeat_neighbour(self, dst: Arranged, src: Arranged, odd: bool) -> None:
        (self.asm.trn2 if odd else self.asm.trn1)(dst, src, src)

    def load_lanes(self, dst: Arranged, bits: Sequence[int]) -> None:
        elements = b"".join(each.to_bytes(self.dtype.size, "little") for each in bits)
        self.asm.ldr(q[dst.number], self.asm.data(elements))

    def exchange_lanes(self, dst: Arranged, src: Arranged, distance: int) -> None:
        whole = v[src.number].b16
        self.asm.ext(v[dst.number].b16, whole, whole, distance * self.dtype.size)

    # Formulas

    def load_constant(self, dst: Arranged, bits: int) -> None:
        if bits:
            size = self.dtype.size
            self.asm.ldr(q[dst.number], self.asm.data(bits.to_bytes(size, "little") * (16 // size)))
        else:
            self.zero(dst)

    def compare(self, operation: str, dst: Arranged, a: Arranged, b: Arranged) -> None:
        if operation in ("lt", "le"):
            a, b = b, a
        asm = self.asm
        instruction = {"gt": asm.fcmgt, "lt": asm.fcmgt, "ge": asm.fcmge, "le": asm.fcmge}.get(operation, asm.fcmeq)
        instruction(dst, a, b)
        if operation == "ne":
            whole = v[dst.number].b16
            asm.not_(whole, whole)

    def select(self, dst: Arranged, condition: Arranged, a: Arranged, b: Arranged) -> None:
        if dst is condition:
            _on_bytes(self.asm.bsl)(dst, a, b)
        elif dst is a:
            _on_bytes(self.asm.bif)(dst, b, condition)
        else:
            if dst is not b:
                _on_bytes(self.asm.mov)(dst, b)
            _on_bytes(self.asm.bit)(dst, a, condition)

    def keep_lanes(self, dst: Arranged, other: Arranged, mask: int, temporary: Arranged) -> None:
        kept = self.dtype.size * mask.bit_length()
        self.asm.ldr(q[temporary.number], self.asm.data(b"\xff" * kept + bytes(16 - kept)))
        self.select(dst, temporary, dst, other)

    def load_single(self, dst: Arranged, place: Offset, mask: Mask = None) -> None:
        low = (d if mask is None else s)[dst.number]
        self.asm.ldr(low, self.km.near(place, 8 if mask is None else 4))
        self.widen(dst)

    def store_single(self, place: Offset, src: Arranged, mask: Mask = None) -> None:
        self.narrow(src)
        low = (d if mask is None else s)[src.number]
        self.asm.str(low, self.km.near(place, 8 if mask is None else 4))

    def widen(self, register: Arranged) -> None:
        self.asm.fcvtl(v[register.number].d2, v[register.number].s2)

    def narrow(self, register: Arranged) -> None:
        self.asm.fcvtn(v[register.number].s2, v[register.number].d2)

    # Strided vectors, an element at a time: a walk along x16

    def load_strided(
        self, dst: Arranged, base: X, offset: int, index: StrideIndex, count: int, temporaries: Sequence[Arranged]
    ) -> None:
        self._move_strided(self.asm.ldr, self.asm.ld1, dst, base, offset, index, count)

    def store_strided(
        self, base: X, offset: int, src: Arranged, index: StrideIndex, count: int, temporaries: Sequence[Arranged]
    ) -> None:
        self._move_strided(self.asm.str, self.asm.st1, src, base, offset, index, count)

    def _move_strided(
        self, first: Verb, lane: Verb, register: Arranged, base: X, offset: int, stride: X | int, count: int
    ) -> None:
        lanes = lanes_of(register, self.dtype.size)
        first(self._element[register.number], self.km.near(mem(base, offset), self.dtype.size))
        if isinstance(stride, int):
            for number in range(1, count):
                lane((lanes[number],), self.km.at(mem(base, offset + number * stride)))
            return
        if count > 1:
            self.km.sum_constant(own, base, offset)
            self.km.add(own, stride)
        for number in range(1, count):
            place = mem(own) if number == count - 1 else mem(own).post(stride)
            lane((lanes[number],), place)


def _on_bytes(instruction: Verb) -> Verb:
    """Return an instruction that takes the same registers as 16 bytes."""

    def on_bytes(*registers: Arranged) -> None:
        instruction(*(v[register.number].b16 for register in registers))

    return on_bytes
