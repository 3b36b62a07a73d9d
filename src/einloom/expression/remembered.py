"""What `einsum` remembers: the expressions that it compiled, and for every equation the calls that it has seen.

A call with an equation, arrays and at most `out` enters the generated code of the expression that served its like
before; whatever else comes is looked up, or compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from einloom.arrays.chain import Chain
from einloom.arrays.library import element_strides, incoming
from einloom.expression.expression import Expression
from einloom.expression.programs import forget_programs
from einloom.expression.types import computed_type
from einloom.jit.native import Native
from einloom.once import OnceTable

__all__ = ["Equation", "evaluate", "forget", "remembered"]

EXPRESSIONS = 1024
EQUATIONS = 1024

_expressions: OnceTable[Expression] = OnceTable(EXPRESSIONS)
_equations: dict[str, Equation] = {}


class Equation(Native):
    """The calls of one equation's text with nothing but operands and `out`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._chain = Chain(self, Equation.__call__)

    def __call__(self, *operands: Any, out: Any = None) -> Any:
        """Evaluate the equation, and remember how."""
        expression = _expression(self._text, operands, None, "auto", None)
        return expression.compute(operands, out, self, self._chain)


def remembered(text: str) -> Equation | None:
    """Return what takes the calls of an equation that was evaluated before, else None."""
    return _equations.get(text)


def evaluate(text: str, operands: Sequence[Any], out: Any, dtype: object, optimize: Any, threads: int | None) -> Any:
    """Evaluate an equation with an expression that is compiled on first use."""
    if dtype is None and threads is None and type(optimize) is str and optimize == "auto":
        if len(_equations) >= EQUATIONS:
            _equations.clear()
        return _equations.setdefault(text, Equation(text))(*operands, out=out)
    return _expression(text, operands, dtype, optimize, threads)(*operands, out=out)


def forget() -> None:
    """Forget every expression and every program."""
    _expressions.clear()
    forget_programs()
    _equations.clear()


def _expression(text: str, operands: Sequence[Any], dtype: object, optimize: Any, threads: int | None) -> Expression:
    given = [incoming(operand, f"operand {position}") for position, operand in enumerate(operands)]
    computed = computed_type(text, given, dtype)
    shapes = tuple(operand.array.shape for operand in given)
    strides = [element_strides(operand.array) for operand in given]

    def compiled() -> Expression:
        return Expression(text, shapes, computed, strides, optimize, None, threads)

    # Equal keys mean the same: True and 1, or 1.0 and 1 in a path, are told apart.
    path: object = repr(optimize) if type(optimize) in (list, tuple) else optimize
    key = (text, shapes, computed, type(path), path, type(threads), threads)
    try:
        hash(key)
    except TypeError:
        return compiled()
    return _expressions.get(key, compiled)
