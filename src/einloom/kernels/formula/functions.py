"""The tables of element-wise operators: what each computes on vectors, and how exact it is.

One row an operator. Kernels, the errors that tests allow and the reference page derive from these tables; what the
operators mean in NumPy is said in `einloom.ir.meanings` under the same names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from einloom.dtypes import DType, Kind
from einloom.errors import ArgumentError, UnsupportedTarget
from einloom.frozen import frozen
from einloom.kernels.formula.exponentials import Elements
from einloom.kernels.formula.formula import (
    COMPARISONS,
    Bits,
    Formula,
    Node,
    argument,
    bit_or,
    bit_xor,
    fma,
    greater,
    greater_equal,
    less,
    maximum,
    minimum,
    not_equal,
    select,
    shift_left,
    shift_right,
    square_root,
)
from einloom.kernels.formula.recipe import Traits

__all__ = [
    "BINARY",
    "PAIRED",
    "TERNARY",
    "UNARY",
    "Function",
    "elements_of",
    "formula_of",
    "function_of",
    "pair_name",
]


FLOATS = frozenset({Kind.FLOAT})
NUMBERS = FLOATS | {Kind.SIGNED, Kind.UNSIGNED}
EVERY = NUMBERS | {Kind.BOOL}
"""Kinds of elements. Of truth values the sum and the greatest are or, the product and the least are and."""


@frozen
class Function:
    """An operator: how its formula is made, and its largest errors.

    Attributes:
        formula: makes the formula from the type of elements, the inputs and, where there is one, the parameter.
        float32, float64: largest error against the exact result, in units of the result's last place (0.5: rounded
            correctly); None where the operator is exact or rounds as NumPy does.
        error_of: `"result"`, or `"argument"` where errors are in units of the last place of x instead.
        reads_output: whether the output is the last input.
        kinds: of the elements that it is there for.
    """

    formula: Callable[..., Formula]
    float32: float | None = None
    float64: float | None = None
    error_of: str = "result"
    reads_output: bool = False
    kinds: frozenset[Kind] = FLOATS


# What these return is what they are given: a type checker then knows what a lambda takes.


def _one(formula: Callable[[Elements, Node], Formula]) -> Callable[..., Formula]:
    return formula


def _two(formula: Callable[[Elements, Node, Node], Formula]) -> Callable[..., Formula]:
    return formula


def _three(formula: Callable[[Elements, Node, Node, Node], Formula]) -> Callable[..., Formula]:
    return formula


def _negate(e: Elements, x: Node) -> Formula:
    return bit_xor(x, e.sign) if e.is_float else 0.0 - x


def _magnitude(e: Elements, x: Node) -> Formula:
    return e.magnitude(x) if e.is_float else maximum(x, 0.0 - x) if e.kind is Kind.SIGNED else x


def _sign(e: Elements, x: Node) -> Formula:
    # The last case turns -0 into 0 and keeps NaN.
    return select(greater(x, 0.0), 1.0, select(less(x, 0.0), -1.0, x + 0.0))


def _leaky_relu(e: Elements, x: Node, alpha: float) -> Formula:
    if 0 < alpha <= 1:
        return maximum(x * alpha, x)  # NaN stays: x comes second.
    return select(greater(x, 0.0), x, x * alpha)


def _elu(e: Elements, x: Node, alpha: float) -> Formula:
    negative = e.expm1_negative(x)
    return select(greater_equal(x, 0.0), x, negative if alpha == 1 else negative * alpha)


def _gelu(e: Elements, x: Node) -> Formula:
    return (x * 0.5) * (e.erf(x * math.sqrt(0.5)) + 1.0)


def _gelu_tanh(e: Elements, x: Node) -> Formula:
    # (1 + tanh(y)) / 2 = sigmoid(2 y)
    slope = 2 * math.sqrt(2 / math.pi)
    return x * e.sigmoid(x * fma(x * x, 0.044715 * slope, slope))


UNARY: dict[str, Function] = {
    "zero": Function(_one(lambda e, x: 0.0), kinds=EVERY),
    "identity": Function(_one(lambda e, x: x), kinds=EVERY),
    "relu": Function(_one(lambda e, x: maximum(0.0, x)), kinds=NUMBERS),
    "leaky_relu": Function(_leaky_relu),
    "elu": Function(_elu, 1.2, 1.5),
    "negate": Function(_negate, kinds=NUMBERS),
    "abs": Function(_magnitude, kinds=NUMBERS),
    "square": Function(_one(lambda e, x: x * x), kinds=NUMBERS),
    "sqrt": Function(_one(lambda e, x: square_root(x))),
    "reciprocal": Function(_one(lambda e, x: 1.0 / x)),
    "rsqrt": Function(_one(lambda e, x: 1.0 / square_root(x))),
    "increment": Function(_one(lambda e, x: x + 1.0), kinds=NUMBERS),
    "decrement": Function(_one(lambda e, x: x - 1.0), kinds=NUMBERS),
    "exp": Function(_one(lambda e, x: e.exp(x)), 1.1, 1.2),
    "log": Function(_one(lambda e, x: e.log(x)), 0.9, 0.9),
    "tanh": Function(_one(lambda e, x: e.tanh(x)), 2.7, 2.8),
    "sigmoid": Function(_one(lambda e, x: e.sigmoid(x)), 2.3, 2.7),
    "erf": Function(_one(lambda e, x: e.erf(x)), 2.5, 2.5),
    "gelu": Function(_gelu, 2.0, 2.0, "argument"),
    "gelu_tanh": Function(_gelu_tanh, 2.1, 2.2, "argument"),
    "silu": Function(_one(lambda e, x: x * e.sigmoid(x)), 2.5, 2.8, "argument"),
    "sign": Function(_sign, kinds=NUMBERS),
}


def _comparison(operation: str) -> Callable[..., Formula]:
    assert operation in COMPARISONS
    return _two(lambda e, a, b: select(Node(operation, (a, b)), 1.0, 0.0))


BINARY: dict[str, Function] = {
    "add": Function(_two(lambda e, a, b: a + b), kinds=EVERY),
    "sub": Function(_two(lambda e, a, b: a - b), kinds=NUMBERS),
    "mul": Function(_two(lambda e, a, b: a * b), kinds=EVERY),
    "div": Function(_two(lambda e, a, b: a / b)),
    "min": Function(_two(lambda e, a, b: e.extreme(minimum, a, b)), kinds=EVERY),
    "max": Function(_two(lambda e, a, b: e.extreme(maximum, a, b)), kinds=EVERY),
    "muladd": Function(_three(lambda e, a, b, c: fma(a, b, c)), 0.5, 0.5, reads_output=True, kinds=EVERY),
    **{name: Function(_comparison(name), kinds=NUMBERS) for name in ("gt", "ge", "lt", "le", "eq", "ne")},
}

TERNARY: dict[str, Function] = {
    "muladd": Function(_three(lambda e, a, b, c: fma(a, b, c)), 0.5, 0.5, kinds=EVERY),
    "select": Function(_three(lambda e, a, b, c: select(not_equal(a, 0.0), b, c)), kinds=NUMBERS),
}


def pair_name(swapped: bool, first_negative: bool, second_negative: bool) -> str:
    """Return the name in `PAIRED` of what swaps the halves of 8 bytes, two float32, and changes their signs then."""
    if not (swapped or first_negative or second_negative):
        return "identity"
    return f"pair {'yx' if swapped else 'xy'} {'-' if first_negative else '+'}{'-' if second_negative else '+'}"


def _paired(swapped: bool, signs: int) -> Callable[..., Formula]:
    def formula(e: Elements, x: Node) -> Formula:
        halves: Formula = bit_or(shift_left(x, 32), shift_right(x, 32)) if swapped else x
        return bit_xor(halves, Bits(signs)) if signs else halves

    return formula


PAIRED: dict[str, Function] = {
    pair_name(swapped, first, second): Function(_paired(swapped, first << 31 | second << 63))
    for swapped in (False, True)
    for first in (False, True)
    for second in (False, True)
    if swapped or first or second
}
"""Operators on float64 that stand for two float32: complex numbers of single precision, turned or conjugated."""


def function_of(table: dict[str, Function], kind: str, op: str, dtype: DType) -> Function:
    """Return the row of an operator for elements of a type that is computed in.

    Raises:
        ArgumentError: there is no such operator.
        UnsupportedTarget: there is none for this type.
    """
    if op not in table:
        raise ArgumentError(f"no {kind} operator {op!r}\n  There are {', '.join(table)}.")
    if dtype.kind not in table[op].kinds:
        there = ", ".join(name for name, function in table.items() if dtype.kind in function.kinds)
        raise UnsupportedTarget(f"no {op} of {dtype}\n  For this type there are {there or 'no such operators'}.")
    return table[op]


def elements_of(traits: Traits) -> Elements:
    """Return the elements of a vector ISA as formulas see them."""
    return Elements(traits.kind, traits.size, traits.scales, traits.keeps_nan, traits.nan_table != 0)


@lru_cache(1024)
def formula_of(function: Function, traits: Traits, inputs: int, alpha: float | None = None) -> Formula:
    """Return the formula of an operator for a vector ISA; the same one for equal arguments."""
    parameters = () if alpha is None else (alpha,)
    elements = elements_of(traits)
    return function.formula(elements, *(argument(position) for position in range(max(inputs, 1))), *parameters)
