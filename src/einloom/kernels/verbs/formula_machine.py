"""`FormulaMachine`: the vector verbs that formulas need beside arithmetic; one implementation an ISA.

Every verb may write to a register that it reads. Constants are given by the bits of one element.
"""

from __future__ import annotations

from typing import Any, Protocol

from einloom.kernels.verbs.machine import Mask, Place, Vector, VectorMachine, Verb

__all__ = ["FormulaMachine"]


class FormulaMachine(VectorMachine, Protocol):
    """Vector verbs for `einloom.kernels.formula.recipe`, on the type of elements of the machine.

    Attributes:
        conditions: registers for conditions; none: they are vectors.
        multiplies_in_place: whether there is `multiply_add`.
        scales: whether there is `scale`.
        keeps_nan: whether min and max are NaN if either operand is; otherwise they return the second operand then.
        nan_table: the constant that `fix_nan` takes; 0: there is no such verb.
        fnma: dst -= a * b, rounded once.
        multiply_add: dst = dst * factor + addend, rounded once.
        scale: dst = a * 2**b for whole numbers b, rounded once.
        sqrt: the square root of an operand.
        bit_and, bit_or, bit_xor: of two.
        shift_left, shift_right: dst = a shifted by a number of bits, zeros coming in.
    """

    conditions: tuple[Any, ...]
    multiplies_in_place: bool
    scales: bool
    keeps_nan: bool
    nan_table: int
    fnma: Verb
    multiply_add: Verb
    scale: Verb
    sqrt: Verb
    bit_and: Verb
    bit_or: Verb
    bit_xor: Verb
    shift_left: Verb
    shift_right: Verb

    def compare(self, operation: str, dst: Any, a: Vector, b: Any) -> None:
        """Condition dst = in each lane whether a `operation` b; `ne` is true for NaN, the others false."""
        ...

    def select(self, dst: Vector, condition: Any, a: Any, b: Vector) -> None:
        """dst = a where the condition holds, else b."""
        ...

    def fix_nan(self, dst: Vector, src: Vector, table: Any) -> None:
        """Lanes of dst = src where src is NaN; `table` is the operand of the constant `nan_table`."""
        ...

    def constant_operand(self, bits: int) -> Place:
        """Return a constant as a last operand, where `memory_operand`."""
        ...

    def load_constant(self, dst: Vector, bits: int) -> None:
        """Every lane of dst = the element of these bits."""
        ...

    def load_single(self, dst: Vector, place: Place, mask: Mask = None) -> None:
        """Lanes of float64 = as many float32 at a place; 0 where masked; masked bytes are not touched."""
        ...

    def store_single(self, place: Place, src: Vector, mask: Mask = None) -> None:
        """float32 at a place = lanes of float64, rounded to nearest; src is clobbered."""
        ...

    def split_lanes(self, level: int, first: Vector, second: Vector, temporary: Vector) -> None:
        """temporary, first = the even and the odd ones of neighbours, those of first before those of second.

        What neighbours are depends on the level; after log2(lanes) levels every lane has met every other.
        """
        ...

    def keep_lanes(self, dst: Vector, other: Vector, mask: Mask, temporary: Vector) -> None:
        """Lanes of dst that are masked = those of another register."""
        ...

    def widen(self, register: Vector) -> None:
        """Lanes of float64 = the first lanes of float32."""
        ...

    def narrow(self, register: Vector) -> None:
        """The first lanes of float32 = lanes of float64, rounded to nearest."""
        ...
