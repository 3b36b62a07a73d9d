"""The generator for products of complex numbers that sum over lanes: see `einloom.ir.vector_lanes`.

Vectors of B's elements stay in registers for all rows. A vector of A is multiplied by the real parts of those that meet
its lanes, and with its parts exchanged by the imaginary ones; then lanes are exchanged and meet the next two:

    (re a, im a) (re b, re b)  +  (im a, re a) (-im b, im b)

Signs, those of conjugation among them, are in the vectors of B's elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, TypeAlias

from einloom.ir.vector_lanes import FEWEST, LaneAxis, Lanes, lanes_of
from einloom.kernels.contraction.add_c import add_c
from einloom.kernels.parts import parts
from einloom.kernels.specs import PairProduct, signature
from einloom.kernels.verbs.frame import leaf_frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import FormulaVerbs, KernelMachine, Mask, V

__all__ = ["lane_product"]

Places: TypeAlias = tuple[tuple[int, int], ...]
"""Where each column lies in B and in C."""

PART = 3
"""Which part of L1 vectors of A take, one in so many."""


def lane_product(km: KernelMachine[R, V, A], spec: PairProduct) -> LaneProduct[R, V, A] | None:
    """Return the generator for a spec; None where lanes do not lie so, registers are too few, or rows do not repay."""
    vec = km.vectors(spec.dtype)
    for names, each in (("ab", spec), ("ba", spec.with_other_first)):
        lanes = lanes_of(_axes(each), vec.lanes // 2)
        if lanes is not None and lanes.repays(len(vec.working)):
            return LaneProduct(km, vec, each, names, lanes)
    return None


class LaneProduct(Generic[R, V, A]):
    """One run of the generator."""

    def __init__(
        self,
        km: KernelMachine[R, V, A],
        vec: FormulaVerbs[R, V, A],
        spec: PairProduct,
        names: str,
        lanes: Lanes,
    ) -> None:
        self.km, self.vec, self.spec, self.lanes = km, vec, spec, lanes
        self.a, self.b = names
        self.size = 2 * spec.dtype.size
        arguments = signature(spec)
        self.frame = leaf_frame(km, arguments, [self.a, "c", "rows"], [self.b, "blocks", *arguments[3:]])
        self.registers = list(vec.working)
        self.loaded: Places = ()

    def emit(self) -> None:
        """Emit the function."""
        lanes, frame = self.lanes, self.frame
        self.km.asm.comment(f"sums over lanes: {lanes.digits}")
        frame.enter()
        width = lanes.columns_at_once(len(self.registers))
        groups = [lanes.columns[at : at + width] for at in range(0, len(lanes.columns), width)]
        whole, tail = divmod(lanes.rows.extent, lanes.each)
        for vectors, times in parts(whole, whole if len(groups) == 1 else self._kept()):
            with frame.loop(times, "blocks"):
                self._block(vectors, groups, None)
        if tail:
            self._block(1, groups, self.vec.mask(2 * tail * lanes.period))
        self.vec.finish()
        frame.leave()

    def _kept(self) -> int:
        """Vectors of A that L1 keeps, for each index that is summed, until all columns have met them."""
        size = self.lanes.room * self.size
        return max(self.km.machine.l1d // PART // (len(self.lanes.summed) * size), FEWEST)

    def _block(self, vectors: int, groups: Sequence[Places], mask: Mask) -> None:
        """Multiply so many vectors of A by all columns."""
        for number, columns in enumerate(groups):
            self.sums, *factors = self.registers[: len(columns)], *self.registers[len(columns) :]
            count = 2 * len(columns) * len(self.lanes.summed) * len(self.lanes.exchanged)
            self.factors, self.free = factors[:count], factors[count:]
            if self.loaded != columns:
                self._load_factors(columns)
                self.loaded = columns
            with self.frame.loop(vectors, "rows"):
                self._vector(columns, mask)
                self._move(1)
            if number < len(groups) - 1:
                self._move(-vectors)

    def _move(self, count: int) -> None:
        rows = self.lanes.rows
        for name, stride in ((self.a, rows.a), ("c", rows.c)):
            self.frame.advance(name, self.size * self.lanes.each * stride, count)

    def _place(self, name: str, offset: int) -> A:
        base = self.frame.read(name)
        if abs(offset) <= self.km.reach:
            return self.km.place(base, offset)
        self.km.move(self.frame.temporary, base)
        self.km.add_constant(self.frame.temporary, offset)
        return self.km.place(self.frame.temporary)

    # ---- B's elements -----------------------------------------------------------------------------------------------

    def _load_factors(self, columns: Places) -> None:
        """Load the vectors of B's elements in the order in which a vector meets them: of all columns, for each step."""
        own, other = self.spec.conjugated
        signs = (False, own), (own == other, other)
        factors = iter(self.factors)
        for _, along in self.lanes.summed:
            for exchanged in self.lanes.exchanged:
                places = self.lanes.offsets(exchanged)
                for column, _ in columns:
                    for part in (0, 1):
                        offsets = [self.size * (along + column + place) + self.size // 2 * part for place in places]
                        self._load_factor(next(factors), offsets, signs[part])

    def _load_factor(self, factor: V, offsets: list[int], signs: tuple[bool, bool]) -> None:
        """factor = the numbers at these places of B, each in both lanes of an element of C, with the signs of parts."""
        vec, (spare, bits) = self.vec, self.free[:2]
        ones = (1 << 8 * self.spec.dtype.size) - 1
        for number, offset in enumerate(dict.fromkeys(offsets)):
            target = spare if number else factor
            vec.broadcast(target, self._place(self.b, offset))
            if len(set(offsets)) > 1:
                vec.load_lanes(bits, [ones * (each == offset) for each in offsets for _ in (0, 1)])
                vec.bit_and(target, target, bits)
            if number:
                vec.bit_or(factor, factor, spare)
        if any(signs):
            vec.load_signs(bits, *signs)
            vec.bit_xor(factor, factor, bits)

    # ---- one vector of C for each column ----------------------------------------------------------------------------

    def _vector(self, columns: Places, mask: Mask) -> None:
        vec, (lanes, swapped, spare) = self.vec, self.free[:3]
        factors, begun = iter(self.factors), False
        for offset, _ in self.lanes.summed:
            vec.load(lanes, self._place(self.a, self.size * offset), mask)
            for distance in (0, *self.lanes.exchanges):
                if distance:
                    vec.exchange_lanes(lanes, lanes, 2 * distance)
                vec.swap_neighbours(swapped, lanes)
                for total in self.sums:
                    (vec.fma if begun else vec.product)(total, lanes, next(factors))
                    vec.fma(total, swapped, next(factors))
                begun = True
        add_c(self.km, vec, self.spec.beta, self.frame, self._places_of_c(columns), mask, spare)
        for total, place in self._places_of_c(columns):
            vec.store(place, total, mask, temporary=spare)

    def _places_of_c(self, columns: Places) -> Iterator[tuple[V, A]]:
        """Yield each sum with its place; each must be used before the next is asked for."""
        for total, (_, offset) in zip(self.sums, columns):
            yield total, self._place("c", self.size * offset)


def _axes(spec: PairProduct) -> Iterator[LaneAxis]:
    yield LaneAxis(spec.m, spec.a[0], spec.b[0], spec.c[0])
    yield LaneAxis(spec.n, spec.a[1], spec.b[1], spec.c[1])
    yield LaneAxis(spec.k, spec.a[2], spec.b[2], 0)
    yield LaneAxis(spec.batch, spec.a[3], spec.b[3], 0)
    yield from (LaneAxis(*each) for each in spec.around)
