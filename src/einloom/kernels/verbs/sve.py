"""Scalable vectors for sums of products: registers of as many float32 or float64 as the machine's have.

Kernels are generated for one width, and check at their beginning that the processor has it: who changed it since the
program was made gets an undefined instruction, not wrong numbers. Lanes of a part of a vector are chosen by predicates,
so no access touches a byte that is masked. What does not lie in memory one after the other is Neon's business.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NoReturn

from einloom.asm.aarch64.operands import Offset, X, mem, xzr
from einloom.asm.aarch64.scalable_operands import Scalable, VectorsAway, ZPredicate, mem_vectors, p, z
from einloom.dtypes import DType
from einloom.errors import InternalError
from einloom.kernels.verbs.aarch64 import AArch64Machine, own
from einloom.kernels.verbs.neon import ORDER
from einloom.kernels.verbs.vector import ArithmeticVerbs, Block, CopyVerbs, Mask, StrideIndex

__all__ = ["WHOLE", "CopiesInOrder", "SveVectors", "chosen", "refuse"]

WHOLE, TAIL = p[0], p[1]
REPLICATED = 64
"""Elements behind a register that a load of one for all lanes reaches."""


class CopiesInOrder(CopyVerbs[X, Scalable, Offset]):
    """Verbs of copying for kernels whose elements lie in order, one after the other."""

    scalable = True
    index_bytes = 0
    load_transposed = None

    def transpose(self, block: list[Scalable], free: list[Scalable]) -> Block[Scalable]:
        refuse()

    def load_strided(
        self, dst: Scalable, base: X, offset: int, index: StrideIndex, count: int, temporaries: Sequence[Scalable]
    ) -> None:
        refuse()

    def store_strided(
        self, base: X, offset: int, src: Scalable, index: StrideIndex, count: int, temporaries: Sequence[Scalable]
    ) -> None:
        refuse()


class SveVectors(CopiesInOrder, ArithmeticVerbs[X, Scalable, Offset]):
    """See `einloom.kernels.verbs.vector.ArithmeticVerbs`. Registers are z0.s or z0.d."""

    memory_operand = False
    element = grouping = elements = None

    def __init__(self, km: AArch64Machine, dtype: DType) -> None:
        self.km, self.asm, self.dtype = km, km.asm, dtype
        self.bytes, self._tail = km.machine.vector_bits // 8, 0
        self.lanes = self.bytes // dtype.size
        self.registers = self.working = tuple(z[n].s if dtype.size == 4 else z[n].d for n in ORDER)
        asm, is_single = km.asm, dtype.size == 4
        self._load, self._store = (asm.ld1w, asm.st1w) if is_single else (asm.ld1d, asm.st1d)
        self._replicate = asm.ld1rw if is_single else asm.ld1rd
        self.fma, self.product, self.mul, self.add = self._multiply_add, asm.fmul, asm.fmul, asm.fadd
        self.sub = self.div = self.min = self.max = refuse

    def begin(self) -> None:
        """Check the width, and choose all lanes."""
        asm = self.asm
        asm.require(self.km.machine.vector)
        agrees = asm.forward("width")
        asm.rdvl(own, 1)
        asm.cmp(own, self.bytes)
        asm.b_eq(agrees)
        asm.udf(0)
        asm.bind(agrees)
        asm.ptrue(self._lanes_of(WHOLE))

    def mask(self, count: int) -> Mask:
        if count == self.lanes:
            return None
        if self._tail != count:
            assert not self._tail, "a kernel has one part of a vector"
            self._tail = count
            self.km.constant(own, count)
            self.asm.whilelo(self._lanes_of(TAIL), xzr, own)
        return (1 << count) - 1

    def _lanes_of(self, predicate: ZPredicate) -> object:
        return predicate.s if self.dtype.size == 4 else predicate.d

    def load(self, dst: Scalable, place: Offset, mask: Mask = None) -> None:
        self._load((dst,), chosen(mask).zeroing, self.vectors_away(place, self.bytes))

    def store(
        self,
        place: Offset,
        src: Scalable,
        mask: Mask = None,
        nontemporal: bool = False,
        temporary: Scalable | None = None,
    ) -> None:
        self._store((src,), chosen(mask).whole, self.vectors_away(place, self.bytes))

    def vectors_away(self, place: Offset, size: int) -> VectorsAway:
        """Return a place as so many vectors of some bytes behind a register: behind x16 where they are no few."""
        count, rest = divmod(place.offset, size)
        if rest or not -8 <= count < 8:
            return mem_vectors(self.km.at(place).base, 0)
        return mem_vectors(place.base, count)

    def broadcast(self, dst: Scalable, place: Offset) -> None:
        self._replicate((dst,), WHOLE.zeroing, self.element_at(place, self.dtype.size))

    def element_at(self, place: Offset, size: int) -> Offset:
        """Return a place from which an element of some bytes may be loaded for all lanes."""
        count, rest = divmod(place.offset, size)
        return place if not rest and 0 <= count < REPLICATED else self.km.at(place)

    def broadcast_constant(self, dst: Scalable, value: float) -> None:
        number = struct.pack("<f" if self.dtype.size == 4 else "<d", value)
        self.km.address_of(own, self.asm.data(number))
        self._replicate((dst,), WHOLE.zeroing, mem(own))

    def zero(self, dst: Scalable) -> None:
        self.asm.dup(dst, 0)

    def copy(self, dst: Scalable, src: Scalable) -> None:
        self.asm.mov(z[dst.number].d, z[src.number].d)

    def _multiply_add(self, dst: Scalable, a: Scalable, b: Scalable) -> None:
        self.asm.fmla(dst, WHOLE.merging, a, b)

    def add_memory(self, dst: Scalable, place: Offset, mask: Mask = None, temporary: Scalable | None = None) -> None:
        assert temporary is not None
        self.load(temporary, place, mask)
        self.add(dst, dst, temporary)

    # Kernels of elements in order need none of the rest.

    def sum_lanes(self, registers: list[Scalable], temporary: Scalable, group: int = 1) -> None:
        refuse()

    def split_lanes(self, level: int, first: Scalable, second: Scalable, temporary: Scalable, group: int = 1) -> None:
        refuse()

    def swap_neighbours(self, dst: Scalable, src: Scalable) -> None:
        refuse()

    def repeat_neighbour(self, dst: Scalable, src: Scalable, odd: bool) -> None:
        refuse()

    def load_lanes(self, dst: Scalable, bits: Sequence[int]) -> None:
        refuse()

    def exchange_lanes(self, dst: Scalable, src: Scalable, distance: int) -> None:
        refuse()


def chosen(mask: Mask) -> ZPredicate:
    """Return the predicate of all lanes, or of those of the kernel's mask."""
    return WHOLE if mask is None else TAIL


def refuse(*_: object) -> NoReturn:
    """Raise: kernels of elements in order ask for nothing of the kind."""
    raise InternalError("scalable vectors sum products of elements in order, nothing else")
