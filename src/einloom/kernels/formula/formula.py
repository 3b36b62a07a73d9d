"""Formulas over vectors: an element-wise function as a value. Its instructions on a vector ISA are a `recipe`'s.

A formula is written with operators and a few functions on `Node`s; it knows no registers and no instruction set.

>>> x = argument(0)
>>> select(less(x, 0.0), x * 0.5, x)
select(lt(x0, 0.0), mul(x0, 0.5), x0)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from einloom.frozen import frozen

__all__ = [
    "COMPARISONS",
    "Bits",
    "Formula",
    "Node",
    "argument",
    "bit_and",
    "bit_or",
    "bit_xor",
    "equal",
    "fma",
    "fnma",
    "greater",
    "greater_equal",
    "horner",
    "less",
    "maximum",
    "minimum",
    "nodes_of",
    "not_equal",
    "scale",
    "select",
    "shift_left",
    "shift_right",
    "square_root",
    "with_nan",
]


@frozen
class Bits:
    """A constant given by the bits of an element."""

    value: int


Formula: TypeAlias = "Node | float | Bits"


@frozen(eq=False)
class Node:
    """One operation: its name, its operands, and a number that belongs to it (a shift's distance, an input)."""

    operation: str
    operands: tuple[Formula, ...]
    number: int = 0

    def __add__(self, other: Formula) -> Node:
        return Node("add", (self, other))

    def __radd__(self, other: float) -> Node:
        return Node("add", (self, other))

    def __sub__(self, other: Formula) -> Node:
        return Node("sub", (self, other))

    def __rsub__(self, other: float) -> Node:
        return Node("sub", (other, self))

    def __mul__(self, other: Formula) -> Node:
        return Node("mul", (self, other))

    def __rmul__(self, other: float) -> Node:
        return Node("mul", (self, other))

    def __truediv__(self, other: Formula) -> Node:
        return Node("div", (self, other))

    def __rtruediv__(self, other: float) -> Node:
        return Node("div", (other, self))

    def __repr__(self) -> str:
        if self.operation == "argument":
            return f"x{self.number}"
        number = f", {self.number}" if self.number else ""
        return f"{self.operation}({', '.join(map(repr, self.operands))}{number})"


def argument(position: int) -> Node:
    """Return an input of the formula."""
    return Node("argument", (), position)


def fma(a: Formula, b: Formula, c: Formula) -> Node:
    """a * b + c, rounded once."""
    return Node("fma", (a, b, c))


def fnma(a: Formula, b: Formula, c: Formula) -> Node:
    """c - a * b, rounded once."""
    return Node("fnma", (a, b, c))


def horner(x: Node, coefficients: tuple[float, ...]) -> Node:
    """Return the polynomial with these coefficients, that of x**0 first; two at least."""
    value: Formula = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        value = fma(value, x, coefficient)
    assert isinstance(value, Node)
    return value


def minimum(a: Formula, b: Formula) -> Node:
    """The lesser of two; b if b is NaN, either if a is; of two zeros either."""
    return Node("min", (a, b))


def maximum(a: Formula, b: Formula) -> Node:
    """The greater of two; b if b is NaN, either if a is; of two zeros either."""
    return Node("max", (a, b))


def with_nan(a: Formula, source: Formula) -> Node:
    """a, but NaN where the source is; only where `Traits.nan_table`."""
    return Node("with_nan", (a, source))


def square_root(a: Formula) -> Node:
    """The square root, rounded correctly."""
    return Node("sqrt", (a,))


def scale(a: Formula, power: Formula) -> Node:
    """a * 2**power for a whole number, rounded once; only where `Traits.scales`."""
    return Node("scale", (a, power))


def bit_and(a: Formula, b: Formula) -> Node:
    """The bits that are set in both."""
    return Node("bit_and", (a, b))


def bit_or(a: Formula, b: Formula) -> Node:
    """The bits that are set in either."""
    return Node("bit_or", (a, b))


def bit_xor(a: Formula, b: Formula) -> Node:
    """The bits that differ."""
    return Node("bit_xor", (a, b))


def shift_left(a: Formula, bits: int) -> Node:
    """The bits of each element, shifted to the left as an integer."""
    return Node("shift_left", (a,), bits)


def shift_right(a: Formula, bits: int) -> Node:
    """The bits of each element, shifted to the right as an unsigned integer."""
    return Node("shift_right", (a,), bits)


def less(a: Formula, b: Formula) -> Node:
    """Whether a < b; false for NaN, as are all comparisons but `not_equal`."""
    return Node("lt", (a, b))


def greater(a: Formula, b: Formula) -> Node:
    """Whether a > b."""
    return Node("gt", (a, b))


def greater_equal(a: Formula, b: Formula) -> Node:
    """Whether a >= b."""
    return Node("ge", (a, b))


def equal(a: Formula, b: Formula) -> Node:
    """Whether a == b."""
    return Node("eq", (a, b))


def not_equal(a: Formula, b: Formula) -> Node:
    """Whether a != b; true for NaN, so that `not_equal(a, a)` asks for it."""
    return Node("ne", (a, b))


def select(condition: Node, a: Formula, b: Formula) -> Node:
    """a where the condition holds, else b."""
    return Node("select", (condition, a, b))


COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})


def nodes_of(formula: Formula) -> Iterator[Node]:
    """Yield every node of a formula once, behind its operands; a condition comes last, so that it is not kept long."""
    seen: set[int] = set()

    def visit(node: Formula) -> Iterator[Node]:
        if isinstance(node, Node) and id(node) not in seen:
            seen.add(id(node))
            for operand in node.operands if node.operation != "select" else (*node.operands[1:], node.operands[0]):
                yield from visit(operand)
            yield node

    yield from visit(formula)
