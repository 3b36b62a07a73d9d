"""`Statement`: one scalar operation in a nest, for programs that are not calls to primitives, and what it means.

Loops around statements step by one over an axis of their own, and a statement names the elements it touches by affine
functions of the loops' indices. Registers and temporary arrays are buffers like any other. `Barrier` stands where the
threads of a block wait for each other; `Signature` takes the place of the operation.

>>> mad = Statement("mad", Place("c", (("i", 1),)), (Place("a", (("i", 2),)), 3.0, Place("c", (("i", 1),))))
>>> print(mad)
c[i] = mad(a[2 i], 3, c[i])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

import numpy as np

from einloom.frozen import frozen
from einloom.ir.memory import Memory
from einloom.ir.operation import Operation, Primitive

__all__ = ["SCALARS", "Barrier", "LoopKind", "Place", "Signature", "Statement", "Terms", "run_statement"]

Terms = tuple[tuple[str, int], ...]
"""An affine function of loop indices: (name of a loop, factor) pairs."""

SCALARS: dict[str, Callable[..., float]] = {
    "load": lambda x: x,
    "store": lambda x: x,
    "move": lambda x: x,
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "min": lambda x, y: min(x, y),
    "max": lambda x, y: max(x, y),
    "mad": lambda x, y, z: x * y + z,
}
"""The scalar operators and their meaning. `load` and `store` are moves from and to memory."""


class LoopKind(StrEnum):
    """How the iterations of a loop around statements run."""

    LOOP = "loop"
    UNROLL = "unroll"
    VECTOR = "vector"
    THREAD = "thread"
    BLOCK = "block"


@frozen
class Place:
    """One element of a buffer: element 0 plus an affine function of loop indices."""

    buffer: str
    terms: Terms = ()

    def __str__(self) -> str:
        return f"{self.buffer}[{_terms_text(self.terms)}]"


@frozen
class Statement:
    """One scalar operation.

    Attributes:
        operator: a key of `SCALARS`.
        output: the element it writes.
        inputs: elements and numbers that it reads.
        within: it runs only where each affine function is below its limit (the tails of axes).
        flags: what a code generator should know, for instance which cache a load goes through.
    """

    operator: str
    output: Place
    inputs: tuple[Place | float, ...] = ()
    within: tuple[tuple[Terms, int], ...] = ()
    flags: tuple[str, ...] = ()

    def __str__(self) -> str:
        inputs = ", ".join(str(each) if isinstance(each, Place) else f"{each:g}" for each in self.inputs)
        value = inputs if self.operator in ("load", "store", "move") else f"{self.operator}({inputs})"
        limits = " and ".join(f"{_terms_text(terms)} < {limit}" for terms, limit in self.within)
        flags = "".join(f" {flag}" for flag in self.flags)
        return f"{self.output} = {value}{flags}{f' if {limits}' if limits else ''}"


@frozen
class Barrier:
    """All threads of a block wait here until the others arrive."""

    def __str__(self) -> str:
        return "barrier"


@frozen(slots=False)
class Signature(Operation):
    """What stands in for the operation of a nest of statements: one axis per loop, and the operands.

    The statements alone say what is computed, so `main` is none, and operands have no strides.
    """

    main: Primitive = Primitive.NONE
    name: str = ""

    def __post_init__(self) -> None:
        """Accept any operands: the rules of roles and strides are those of primitives."""


def run_statement(statement: Statement, memories: Mapping[str, Memory], index: Mapping[str, int]) -> None:
    """Compute one statement where the loops have the given indices.

    Raises:
        IndexError: an element lies outside its buffer.
    """
    for terms, limit in statement.within:
        if _value(terms, index) >= limit:
            return
    values = [_read(each, memories, index) if isinstance(each, Place) else each for each in statement.inputs]
    elements, position = _find(statement.output, memories, index)
    elements[position] = SCALARS[statement.operator](*values)


def _read(place: Place, memories: Mapping[str, Memory], index: Mapping[str, int]) -> float:
    elements, position = _find(place, memories, index)
    return elements.item(position)


def _find(place: Place, memories: Mapping[str, Memory], index: Mapping[str, int]) -> tuple[np.ndarray, int]:
    memory = memories[place.buffer]
    position = memory.origin + _value(place.terms, index)
    if not 0 <= position < len(memory.elements):
        raise IndexError(f"element {position} of buffer {place.buffer}, which has {len(memory.elements)}")
    return memory.elements, position


def _value(terms: Terms, index: Mapping[str, int]) -> int:
    return sum(index[loop] * factor for loop, factor in terms)


def _terms_text(terms: Terms) -> str:
    return " + ".join(loop if factor == 1 else f"{factor} {loop}" for loop, factor in terms) or "0"
