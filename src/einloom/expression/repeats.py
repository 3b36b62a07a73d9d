"""`Repeats`: how calls of one equation were converted, so that calls like them are converted without working it out.

Promotion, rules of casting and the expression follow from the types and shapes of the operands and the type of `out`
alone. Where they came before, what is left is what NumPy does: `astype`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from einloom.arrays.library import Array, label_of
from einloom.config import current_settings
from einloom.dtypes import COMPUTED
from einloom.expression.conversion import PLAIN, Conversion
from einloom.expression.expression import Expression
from einloom.expression.types import FOREIGN
from einloom.frozen import frozen

__all__ = ["Repeat", "Repeats"]

REPEATS = 64
"""Signatures that one equation remembers."""

COUNTS_VALUES = np.result_type(np.array(2), np.zeros(1, np.int8)) == np.int8
"""Whether what arrays without axes promote to follows from what they hold, as before NumPy 2."""


@frozen
class Repeat:
    """How operands of certain types and shapes are evaluated.

    Attributes:
        expression: what computes.
        conversion: what becomes of the result.
        dtypes: the types that operands are converted to, None for those that stay.
    """

    expression: Expression
    conversion: Conversion
    dtypes: tuple[np.dtype[Any] | None, ...]

    def may_follow(self, operands: Sequence[Array], out: Array | None) -> bool:
        """Whether no operand that is converted may share bytes with `out`, for what is then allowed is asked before."""
        if out is None:
            return True
        return not any(
            dtype is not None and np.may_share_memory(operand, out) for operand, dtype in zip(operands, self.dtypes)
        )

    def evaluate(self, operands: Sequence[Array], out: Array | None) -> Any:
        """Convert and compute."""
        converted = [
            operand if dtype is None else operand.astype(dtype) for operand, dtype in zip(operands, self.dtypes)
        ]
        return self.conversion.result(self.expression, self.expression.label, operands, converted, out)


class Repeats:
    """The calls of one equation whose operands or result are converted, by their signatures."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Repeat] = {}

    def find(self, operands: Sequence[Any], out: Any) -> Repeat | None:
        """Return how a call like this one was evaluated; None if there was none, or if it has to be asked again."""
        signature = _signature(operands, out) if self._known else None
        found = None if signature is None else self._known.get(signature)
        return found if found is not None and found.may_follow(operands, out) else None

    def add(self, expression: Expression, conversion: Conversion, operands: Sequence[Any], out: Any) -> None:
        """Remember what evaluated a call, if its like will be evaluated so. One without conversions has its entry."""
        signature = _signature(operands, out)
        if signature is None or not all(map(_is_known, (*(operand.dtype for operand in operands), expression.dtype))):
            return
        if COUNTS_VALUES and not all(operand.ndim for operand in operands):
            return
        labels = zip(operands, expression.labels)
        dtypes = tuple(None if label_of(operand.dtype) == label else np.dtype(label) for operand, label in labels)
        if conversion == PLAIN and all(dtype is None for dtype in dtypes):
            return
        if len(self._known) >= REPEATS:
            self._known.clear()
        self._known[signature] = Repeat(expression, conversion, dtypes)


def _signature(operands: Sequence[Any], out: Any) -> tuple[object, ...] | None:
    """Return what decides how operands are converted and what computes; None if they are not NumPy's own arrays."""
    parts: list[object] = [current_settings().records]
    for operand in operands:
        if type(operand) is not np.ndarray:
            return None
        parts += (operand.dtype, operand.shape)
    if out is not None:
        if type(out) is not np.ndarray:
            return None
        parts.append(out.dtype)
    return tuple(parts)


def _is_known(dtype: np.dtype[Any]) -> bool:
    """Whether a type is one of NumPy's that there is code for, in any byte order."""
    return dtype.name in COMPUTED and dtype.name not in FOREIGN
