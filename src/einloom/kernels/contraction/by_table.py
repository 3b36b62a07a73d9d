"""`emit_by_table`: one function for all tiny contractions of a type. Sizes and strides are in a table that it walks.

The table says for every element of the output where the inputs' first factors lie and where it lies itself, and once
for all of them how far on the others are. That costs a nanosecond a product, where a kernel of its own would cost
milliseconds to generate. All of it are words of 8 bytes, and places are in bytes:

    count of outputs, count of products of each
    (place in each input, for each product)
    (place in each input and in the output, for each output)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from einloom.dtypes import DType, Kind
from einloom.kernels.verbs.frame import leaf_frame

__all__ = ["WORD", "emit_by_table"]

WORD = 8


def emit_by_table(km: Any, dtype: DType, conjugated: Sequence[bool]) -> None:
    """Emit `void f(words)`: the addresses of one or two inputs, of the output, and of the table.

    Args:
        km: the machine.
        dtype: of all tensors.
        conjugated: for each input, whether its elements are conjugated.
    """
    inputs = [f"in{i}" for i in range(len(conjugated))]
    frame = leaf_frame(km, ["words"], ["words", "out", "row", "first", "term", "outputs", "terms", *inputs], [])
    sums = _Sums(km, dtype, conjugated)
    frame.enter()
    words, row, first, term = (frame.read(name) for name in ("words", "row", "first", "term"))
    sums.begin()
    km.load(row, words, WORD * (len(inputs) + 1))
    km.load(frame.read("out"), words, WORD * len(inputs))
    outputs, terms, place = frame.read("outputs"), frame.read("terms"), frame.temporary
    km.load(outputs, row, 0)
    km.load(terms, row, WORD)
    km.sum_constant(first, row, 2 * WORD)
    km.multiply_constant(row, terms, WORD * len(inputs))
    km.add(row, first)
    top = km.asm.label("output")
    for i, name in enumerate(inputs):
        km.load(frame.read(name), words, WORD * i)
        km.load(place, row, WORD * i)
        km.add(frame.read(name), place)
    sums.zero()
    km.move(term, first)
    product = km.asm.label("product")
    for i, name in enumerate(inputs):
        km.load(place, term, WORD * i)
        km.add(place, frame.read(name))
        sums.load(i, place)
    sums.multiply()
    km.add_constant(term, WORD * len(inputs))
    km.count_down(terms, product)
    km.load(terms, row, WORD * len(inputs))
    km.add(terms, frame.read("out"))
    sums.store(terms)
    km.add_constant(row, WORD * (len(inputs) + 1))
    km.move(terms, first)
    km.load(terms, terms, -WORD)
    km.count_down(outputs, top)
    sums.vec.finish()
    frame.leave()


class _Sums:
    """A sum of products in vector registers, of which one lane counts: a register a part of a complex number."""

    def __init__(self, km: Any, dtype: DType, conjugated: Sequence[bool]) -> None:
        self.km, self.conjugated = km, conjugated
        self.unit = dtype.real if dtype.kind is Kind.COMPLEX else dtype
        self.parts = dtype.size // self.unit.size
        self.vec = km.vectors(self.unit)
        registers = iter(self.vec.working)
        self.sums = [next(registers) for _ in range(self.parts)]
        self.factors = [[next(registers) for _ in range(self.parts)] for _ in conjugated]
        self.free = next(registers)

    def begin(self) -> None:
        self.vec.begin()
        self.mask = self.vec.mask(1)

    def zero(self) -> None:
        for register in self.sums:
            self.vec.zero(register)

    def load(self, factor: int, place: Any) -> None:
        for part, register in enumerate(self.factors[factor]):
            self.vec.broadcast(register, self.km.place(place, part * self.unit.size))

    def multiply(self) -> None:
        """Add the product of the factors, or the only factor."""
        vec = self.vec
        if len(self.factors) == 1:
            for register, factor in zip(self.sums, self.factors[0]):
                vec.add(register, register, factor)
            return
        (a, *a_rest), (b, *b_rest) = self.factors
        vec.fma(self.sums[0], a, b)
        if self.parts == 2:
            (ai,), (bi,), (first, second) = a_rest, b_rest, self.conjugated
            (vec.fnma if first == second else vec.fma)(self.sums[0], ai, bi)
            (vec.fnma if second else vec.fma)(self.sums[1], a, bi)
            (vec.fnma if first else vec.fma)(self.sums[1], ai, b)

    def store(self, place: Any) -> None:
        for part, register in enumerate(self.sums):
            self.vec.store(self.km.place(place, part * self.unit.size), register, self.mask, temporary=self.free)
