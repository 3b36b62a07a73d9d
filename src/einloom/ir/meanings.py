"""What element-wise operators mean: a line of mathematics and a NumPy function for each, the same names everywhere.

The interpreter computes with them in float64, kernels are compared with them, and the reference page prints them.

>>> import numpy as np
>>> UNARY["leaky_relu"](np.array([-2.0, 3.0])).tolist()
[-0.02, 3.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from einloom.frozen import frozen

__all__ = ["BINARY", "REDUCE", "TERNARY", "UNARY", "Meaning"]

Array = np.ndarray[Any, Any]


@frozen
class Meaning:
    """An operator.

    Attributes:
        text: what it computes, in the names of the reference page.
        compute: the same on arrays of any floating type.
        alpha: the usual value of its parameter; None: it has none.
    """

    text: str
    compute: Callable[..., Array]
    alpha: float | None = None

    def __call__(self, *operands: Array, alpha: float | None = None) -> Array:
        """Return the operator's result; IEEE's exceptions pass silently, as they do in kernels."""
        parameters = () if self.alpha is None else (self.alpha if alpha is None else alpha,)
        with np.errstate(all="ignore"):
            return self.compute(*operands, *parameters)


def _erf(x: Array) -> Array:
    values = [math.erf(value) for value in np.asarray(x, float).ravel()]
    return np.array(values).reshape(np.shape(x)).astype(np.result_type(x, np.float32))


def _sigmoid(x: Array) -> Array:
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


def _gelu_tanh(x: Array) -> Array:
    return x * _sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))


UNARY: dict[str, Meaning] = {
    "zero": Meaning("0", np.zeros_like),
    "identity": Meaning("x", lambda x: x),
    "relu": Meaning("max(x, 0)", lambda x: np.maximum(x, 0)),
    "leaky_relu": Meaning("x if x > 0 else alpha x", lambda x, alpha: np.where(x > 0, x, alpha * x), 0.01),
    "elu": Meaning("x if x > 0 else alpha (exp(x) - 1)", lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(x)), 1.0),
    "negate": Meaning("-x", np.negative),
    "abs": Meaning("|x|", np.abs),
    "square": Meaning("x x", lambda x: x * x),
    "sqrt": Meaning("square root of x", np.sqrt),
    "reciprocal": Meaning("1 / x", lambda x: 1 / x),
    "rsqrt": Meaning("1 / sqrt(x)", lambda x: 1 / np.sqrt(x)),
    "increment": Meaning("x + 1", lambda x: x + 1),
    "decrement": Meaning("x - 1", lambda x: x - 1),
    "exp": Meaning("e to the power of x", np.exp),
    "log": Meaning("natural logarithm of x", np.log),
    "tanh": Meaning("hyperbolic tangent of x", np.tanh),
    "sigmoid": Meaning("1 / (1 + exp(-x))", _sigmoid),
    "erf": Meaning("error function of x", _erf),
    "gelu": Meaning("x (1 + erf(x / sqrt(2))) / 2", lambda x: 0.5 * x * (1 + _erf(x * math.sqrt(0.5)))),
    "gelu_tanh": Meaning("x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x x x))) / 2", _gelu_tanh),
    "silu": Meaning("x sigmoid(x)", lambda x: x * _sigmoid(x)),
    "sign": Meaning("-1, 0 or 1", np.sign),
}

BINARY: dict[str, Meaning] = {
    "add": Meaning("a + b", np.add),
    "sub": Meaning("a - b", np.subtract),
    "mul": Meaning("a b", np.multiply),
    "div": Meaning("a / b", np.divide),
    "min": Meaning("the lesser of a and b", np.minimum),
    "max": Meaning("the greater of a and b", np.maximum),
    "muladd": Meaning("c + a b, rounded once", lambda a, b, c: c + a * b),
    "gt": Meaning("1 if a > b else 0", lambda a, b: (a > b).astype(a.dtype)),
    "ge": Meaning("1 if a >= b else 0", lambda a, b: (a >= b).astype(a.dtype)),
    "lt": Meaning("1 if a < b else 0", lambda a, b: (a < b).astype(a.dtype)),
    "le": Meaning("1 if a <= b else 0", lambda a, b: (a <= b).astype(a.dtype)),
    "eq": Meaning("1 if a = b else 0", lambda a, b: (a == b).astype(a.dtype)),
    "ne": Meaning("1 if a differs from b else 0", lambda a, b: (a != b).astype(a.dtype)),
}

TERNARY: dict[str, Meaning] = {
    "muladd": Meaning("a b + c, rounded once", lambda a, b, c: a * b + c),
    "select": Meaning("b if a is not 0 else c", lambda a, b, c: np.where(a != 0, b, c)),
}

REDUCE: dict[str, Meaning] = {
    "sum": Meaning("sum; 0 of nothing", lambda a, axis: a.sum(axis=axis)),
    "max": Meaning("greatest element", lambda a, axis: a.max(axis=axis)),
    "min": Meaning("least element", lambda a, axis: a.min(axis=axis)),
    "prod": Meaning("product; 1 of nothing", lambda a, axis: a.prod(axis=axis)),
    "sum_of_squares": Meaning("sum of squares; 0 of nothing", lambda a, axis: (a * a).sum(axis=axis)),
}
