"""`Recipe`: the verbs of a formula over numbered registers, replayed for every vector. `numbering` makes them."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from einloom.dtypes import Kind
from einloom.frozen import frozen
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import FormulaVerbs, V

__all__ = ["Condition", "Constant", "Input", "Location", "Recipe", "Slot", "Step", "Traits", "traits_of"]


@frozen
class Traits:
    """What a recipe needs to know of a vector ISA; see `FormulaVerbs`.

    Attributes:
        kind: of elements: how numbers are written as bits.
        size: bytes of an element.
        memory_operand: whether the last operand may be a constant in memory.
        multiplies_in_place: whether there is dst = dst * a + b.
        conditions: registers that hold conditions alone; 0: vector registers hold them.
        scales: whether there is dst = a * 2**b.
        keeps_nan: whether min and max are NaN if either operand is.
        nan_table: the constant that dst = NaN where a is takes; 0: there is no such verb.
    """

    kind: Kind
    size: int
    memory_operand: bool
    multiplies_in_place: bool
    conditions: int
    scales: bool
    keeps_nan: bool
    nan_table: int

    def bits(self, value: float) -> int:
        """Return the bits of an element that has a value; the nearest there is for an integer."""
        if self.kind is Kind.FLOAT:
            return int.from_bytes(struct.pack("<f" if self.size == 4 else "<d", value), "little")
        count = 8 * self.size - (self.kind is Kind.SIGNED)
        least, most = -(1 << count) if self.kind is Kind.SIGNED else 0, (1 << count) - 1
        whole = int(value) if math.isfinite(value) else least if value < 0 else most
        return whole & (1 << 8 * self.size) - 1


def traits_of(vec: FormulaVerbs[R, V, A]) -> Traits:
    """Return the traits of a vector ISA for its type of elements."""
    return Traits(
        vec.dtype.kind,
        vec.dtype.size,
        vec.memory_operand,
        vec.multiply_add is not None,
        len(vec.conditions),
        vec.scale is not None,
        vec.keeps_nan,
        vec.nan_table,
    )


@frozen
class Slot:
    """A vector register by number: the inputs first."""

    number: int


@frozen
class Condition:
    """A register for conditions, by number."""

    number: int


@frozen
class Constant:
    """A constant in memory, or in a register where it is held."""

    bits: int


@frozen
class Input:
    """An input that is read once, by an instruction that may take it from memory."""

    number: int


Location: TypeAlias = Slot | Condition | Constant | Input
Step: TypeAlias = tuple[str, tuple[Location | str | int, ...]]
"""A verb and what it takes: where operands are, and numbers and names as they are."""


@frozen
class Recipe:
    """The verbs of a formula in order, over numbered registers.

    Attributes:
        steps: (verb, arguments).
        result: where the result is.
        registers: how many the steps need, the inputs' included.
        held: the constants that stay in registers.
        direct: inputs that need not be in a register: `emit` takes their places in memory as well.
    """

    steps: tuple[Step, ...]
    result: Slot | Constant
    registers: int
    held: tuple[int, ...] = ()
    direct: frozenset[int] = frozenset()

    def hold(self, vec: FormulaVerbs[R, V, A], registers: Iterable[V]) -> dict[int, V]:
        """Load the constants that are held into the last of these registers; return where each is."""
        places = dict(zip(self.held, reversed([*registers])))
        for bits, register in places.items():
            vec.load_constant(register, bits)
        return places

    def emit(
        self,
        vec: FormulaVerbs[R, V, A],
        inputs: Sequence[V],
        free: Sequence[V],
        held: Mapping[int, V],
        memory: Mapping[int, A] = MappingProxyType({}),
    ) -> V:
        """Emit the steps over the registers of the inputs, which they may overwrite; return the result's register.

        Inputs of `memory` are read from these places; each of them is `direct`.
        """
        registers = [*inputs, *free]
        in_memory = vec.constant_operand

        def operand(given: Location | str | int) -> object:
            if isinstance(given, Slot):
                return registers[given.number]
            if isinstance(given, Constant):
                return held[given.bits] if given.bits in held or in_memory is None else in_memory(given.bits)
            if isinstance(given, Input):
                return memory.get(given.number, registers[given.number])
            return vec.conditions[given.number] if isinstance(given, Condition) else given

        for verb, arguments in self.steps:
            getattr(vec, verb)(*map(operand, arguments))
        if isinstance(self.result, Constant):
            return held[self.result.bits]
        return registers[self.result.number]
