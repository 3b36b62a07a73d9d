"""The vector verbs on Neon: 32 registers of 16 bytes, seen as four float32 or two float64.

A mask is the number of lanes: 1 and 2 float32 (1 float64) are loads of a narrower register, 3 take a load more for the
last lane. No access touches a byte that is masked.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from einloom.asm.aarch64.operands import d, mem, q, s, v
from einloom.dtypes import DType
from einloom.errors import EncodingError, InternalError
from einloom.kernels.contraction.neon_microkernel import NeonMicrokernel
from einloom.kernels.verbs.aarch64 import own
from einloom.kernels.verbs.machine import Place, Verb
from einloom.kernels.verbs.neon_formula import NeonFormulas

if TYPE_CHECKING:
    from einloom.kernels.verbs.aarch64 import AArch64Machine

__all__ = ["NeonVectors"]

# Registers that callees preserve come late, but for the last two, which serve as temporaries.
ORDER = (*range(8), *range(16, 30), *range(8, 16), 30, 31)
VIEWS = {4: tuple(v[number].s4 for number in ORDER), 8: tuple(v[number].d2 for number in ORDER)}
ARITHMETIC = ("add", "sub", "mul", "div", "min", "max", "sqrt")


class NeonVectors(NeonFormulas):
    """See `einloom.kernels.verbs.machine.VectorMachine`. Masks are numbers of lanes, registers v0.4s or v0.2d."""

    broadcast_operand = False
    index_bytes = 0
    microkernel = NeonMicrokernel

    fma: Verb
    add: Verb
    sub: Verb
    mul: Verb
    div: Verb
    min: Verb
    max: Verb
    sqrt: Verb

    def __init__(self, km: AArch64Machine, dtype: DType) -> None:
        self.km = km
        self.dtype = dtype
        self.lanes = 16 // dtype.size
        self.registers: tuple[Any, ...] = VIEWS[dtype.size]
        self.asm = asm = km.asm
        self._element = s if dtype.size == 4 else d
        self.fma = asm.fmla
        for name in ARITHMETIC:
            setattr(self, name, getattr(asm, f"f{name}"))
        self._set_formulas()

    def mask(self, count: int) -> int | None:
        return None if count == self.lanes else count

    # Whole vectors

    def load(self, dst: Any, place: Place, mask: int | None = None) -> None:
        self._move(self.asm.ldr, self.asm.ld1, dst, place, mask)

    def store(
        self, place: Place, src: Any, mask: int | None = None, nontemporal: bool = False, temporary: Any = None
    ) -> None:
        """The lanes at a place = src. Neon has non-temporal stores of pairs only, so this one is ordinary."""
        self._move(self.asm.str, self.asm.st1, src, place, mask)

    def _move(self, whole: Verb, lane: Verb, register: Any, place: Place, mask: int | None) -> None:
        number, size = register.number, self.dtype.size * (mask or self.lanes)
        if size == 12:
            whole(d[number], self.km.near(place, 8))
            lane((v[number].s[2],), self.km.at(mem(place.base, place.offset + 8)))
        else:
            whole({16: q, 8: d, 4: s}[size][number], self.km.near(place, size))

    def load_row(self, registers: Sequence[Any], place: Place, mask: int | None = None) -> None:
        """Load consecutive vectors, the last one masked."""
        self._move_row(self.asm.ldp, self.asm.ldr, self.asm.ld1, registers, place, mask)

    def store_row(self, place: Place, registers: Sequence[Any], mask: int | None = None) -> None:
        """Store consecutive vectors, the last one masked."""
        self._move_row(self.asm.stp, self.asm.str, self.asm.st1, registers, place, mask)

    def _move_row(
        self, both: Verb, whole: Verb, lane: Verb, registers: Sequence[Any], place: Place, mask: int | None
    ) -> None:
        """Move consecutive vectors two at a time where their address allows it."""
        place = self.km.near_all(place, 16, len(registers))
        paired = len(registers) - (mask is not None)
        row = 0
        while row < len(registers):
            at = mem(place.base, place.offset + 16 * row)
            if row + 1 < paired and at.offset % 16 == 0 and -1024 <= at.offset < 1024:
                both(q[registers[row].number], q[registers[row + 1].number], at)
                row += 2
            else:
                self._move(whole, lane, registers[row], at, None if row < paired else mask)
                row += 1

    def load_element(self, dst: Any, place: Place, count: int = 1) -> list[Any]:
        """Load `count` consecutive elements; return them as operands of `fma` and `mul` that stand for all lanes."""
        self._move(self.asm.ldr, self.asm.ld1, dst, place, count)
        lanes = getattr(v[dst.number], "s" if self.lanes == 4 else "d")
        return [lanes[number] for number in range(count)]

    def broadcast(self, dst: Any, place: Place) -> None:
        self.asm.ld1r((dst,), self.km.at(place))

    def broadcast_constant(self, dst: Any, value: float) -> None:
        """Every lane of dst = a number: an immediate, else one that lies behind the code."""
        try:
            self.asm.fmov(dst, value)
        except EncodingError:
            lanes = struct.pack("<f" if self.dtype.size == 4 else "<d", value) * self.lanes
            self.asm.ldr(q[dst.number], self.asm.data(lanes))

    def element(self, place: Place) -> Place:
        raise InternalError("Neon has no broadcast operands in memory")

    def zero(self, dst: Any) -> None:
        self.asm.movi(v[dst.number].d2, 0)

    def copy(self, dst: Any, src: Any) -> None:
        self.asm.mov(v[dst.number].b16, v[src.number].b16)

    def add_memory(self, dst: Any, place: Place, mask: int | None = None, temporary: Any = None) -> None:
        """dst += the lanes at a place; masked bytes are not touched."""
        self.load(temporary, place, mask)
        self.add(dst, dst, temporary)

    def keep_nan(self, dst: Any, src: Any, temporary: Any) -> None:
        """Lanes of dst = src where src is NaN."""
        self.asm.fcmeq(temporary, src, src)
        self.asm.bif(v[dst.number].b16, v[src.number].b16, v[temporary.number].b16)

    def transpose(self, block: list[Any], free: list[Any]) -> tuple[list[Any], list[Any]]:
        """Transpose a block of `lanes` registers with as many free ones; return (where it is now, the others)."""
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

    def sum_lanes(self, registers: list[Any], temporary: Any) -> None:
        """registers[0] = in lane i the sum over the lanes of registers[i]; up to `lanes` registers."""
        for _ in range(self.lanes.bit_length() - 1):
            for i in range(0, len(registers), 2):
                self.asm.faddp(registers[i], registers[i], registers[min(i + 1, len(registers) - 1)])
            registers = registers[::2]

    def split_lanes(self, level: int, first: Any, second: Any, temporary: Any) -> None:
        """Take neighbours apart."""
        self.asm.uzp1(temporary, first, second)
        self.asm.uzp2(first, first, second)

    def keep_lanes(self, dst: Any, other: Any, mask: int, temporary: Any) -> None:
        """Lanes of dst that are masked = those of another register."""
        size = self.dtype.size
        lanes = b"\xff" * size * mask + bytes(16 - size * mask)
        self.asm.ldr(q[temporary.number], self.asm.data(lanes))
        self.select(dst, temporary, dst, other)

    def finish(self) -> None:
        """Nothing is left to do at the end of a function that used vectors."""

    # Strided vectors, an element at a time: a walk along x16

    def stride_index(self, stride: Any, slot: int, temporary: Any) -> Any:
        return stride

    def load_strided(self, dst: Any, base: Any, offset: int, index: Any, count: int, temporaries: Any) -> None:
        self._move_strided(self.asm.ldr, self.asm.ld1, dst, base, offset, index, count)

    def store_strided(self, base: Any, offset: int, src: Any, index: Any, count: int, temporaries: Any) -> None:
        self._move_strided(self.asm.str, self.asm.st1, src, base, offset, index, count)

    def _move_strided(
        self, first: Verb, lane: Verb, register: Any, base: Any, offset: int, stride: Any, count: int
    ) -> None:
        element, lanes = self._element[register.number], getattr(v[register.number], "s" if self.lanes == 4 else "d")
        if isinstance(stride, int):
            first(element, self.km.near(mem(base, offset), self.dtype.size))
            for number in range(1, count):
                lane((lanes[number],), self.km.at(mem(base, offset + number * stride)))
            return
        first(element, self.km.near(mem(base, offset), self.dtype.size))
        if count > 1:
            self.km.sum_constant(own, base, offset)
            self.km.add(own, stride)
        for number in range(1, count):
            place = mem(own) if number == count - 1 else mem(own).post(stride)
            lane((lanes[number],), place)
