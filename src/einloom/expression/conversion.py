"""`Conversion`: what `casting=` and `order=` ask for: operands and the result are converted around an expression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeGuard

import numpy as np

from einloom.arrays.check import check_shape, check_writable
from einloom.arrays.fresh import fresh
from einloom.arrays.library import Array, Imported, array_of, incoming, outgoing
from einloom.errors import ArgumentError, DTypeError
from einloom.expression.made import Compiled
from einloom.expression.types import FOREIGN, registered, stands_in, wider_results
from einloom.frozen import frozen

__all__ = ["PLAIN", "Conversion", "conversion_of"]

Casting = Literal["no", "equiv", "safe", "same_kind", "unsafe"]

CASTINGS: tuple[Casting, ...] = ("no", "equiv", "safe", "same_kind", "unsafe")
ORDERS = ("C", "F", "A", "K")


@frozen
class Conversion:
    """How operands and results may be converted, and how a fresh result lies.

    Attributes:
        casting: which of NumPy's rules conversions keep.
        order: `"C"`, `"F"`, or `"A"` for what all operands are; `"K"` is `"C"`.
    """

    casting: Casting = "safe"
    order: str = "K"

    @property
    def may_widen(self) -> bool:
        """Whether the rule allows conversions that are safe, as einsum makes of mixed types by itself."""
        return self.casting not in ("no", "equiv")

    @property
    def may_narrow(self) -> bool:
        """Whether the rule allows conversions that are not safe, as into an `out` of a narrower type."""
        return self.casting in ("same_kind", "unsafe")

    def operands(self, given: Sequence[Any], types: Sequence[str], where: str) -> list[Any]:
        """Return the operands in the types that code reads them in; those that have it as they came.

        Raises:
            DTypeError: the rule does not allow a conversion.
        """
        found = [incoming(operand, f"operand {position}") for position, operand in enumerate(given)]
        names = (f"operand {position}" for position in range(len(given)))
        return [
            operand if _stays(imported, label) else self._cast(imported.array, registered(label), name, where)
            for operand, imported, name, label in zip(given, found, names, types)
        ]

    def _cast(self, array: Array, dtype: np.dtype[Any] | None, name: str, where: str) -> Array:
        assert dtype is not None
        if not np.can_cast(array, dtype, self.casting):  # of an array: NumPy 1 promotes those without axes by values
            raise DTypeError(
                f"{name} has type {array.dtype}, which casting={self.casting!r} does not convert to {dtype}\n"
                f"  {where}\n  Pass casting={_allowing(array.dtype, dtype)!r}, or convert it with astype()."
            )
        return array.astype(dtype, casting=self.casting)

    def leaves(self, label: str, given: Sequence[Any], converted: Sequence[Any], out: Any) -> bool:
        """Return whether the expression takes and gives everything as the caller does; the arguments are `result`'s."""
        if any(operand is not other for operand, other in zip(given, converted)):
            return False
        return not self._is_fortran(given) if out is None else self._is_written(label, out)

    def _is_written(self, label: str, out: Any) -> bool:
        """Whether the expression writes `out`, or refuses it, by itself."""
        return not self.may_narrow or array_of(out, "out").dtype in (label, *wider_results(label))

    def result(self, expression: Compiled, label: str, given: Sequence[Any], converted: Sequence[Any], out: Any) -> Any:
        """Compute, and return the result as it is asked for.

        Args:
            expression: what computes.
            label: the name of its result's type; NumPy may have none of this name, and another one stand in.
            given: the operands as they came; the first one's library is the result's.
            converted: the operands as the expression takes them.
            out: takes the result; its type may be another one where `casting` goes beyond safe conversions.
        """
        if out is not None:
            return self._into(expression, label, converted, out)
        is_fortran = self._is_fortran(converted)
        if not expression.output_shape or (type(given[0]) is np.ndarray and not is_fortran):
            return expression(*converted)
        result = fresh(expression.output_shape, expression.dtype, "F" if is_fortran else "C")
        named = Imported(result, label)
        expression(*converted, out=named if stands_in(named) else result)
        return outgoing(result, label, given[0])

    def _is_fortran(self, operands: Sequence[Any]) -> bool:
        if self.order != "A":
            return self.order == "F"
        arrays = [incoming(operand, "").array for operand in operands]
        return all(array.flags.f_contiguous for array in arrays) and not all(a.flags.c_contiguous for a in arrays)

    def _into(self, expression: Compiled, label: str, operands: Sequence[Any], out: Any) -> Any:
        if not self.may_narrow:
            return expression(*operands, out=out)
        where = expression.equation
        given = array_of(out, "out", where)
        if self._is_written(label, given):
            return expression(*operands, out=out)
        check_shape("out", given.array.shape, expression.output_shape, where)
        check_writable("out", given.array.flags.writeable, where)
        self._allow_out(given, expression)
        fresh = given.array.astype(expression.dtype, order="C", casting="unsafe")
        np.copyto(given.array, expression(*operands, out=fresh), casting=self.casting)
        return out

    def _allow_out(self, given: Imported, expression: Compiled) -> None:
        if given.dtype in FOREIGN or not np.can_cast(expression.dtype, given.array.dtype, self.casting):
            raise DTypeError(
                f"out has type {given.dtype}, which casting={self.casting!r} does not convert {expression.dtype} to\n"
                f"  {expression.equation}\n  Pass an array of the type that is computed in, or casting='unsafe'."
            )


def _allowing(given: np.dtype[Any], wanted: np.dtype[Any]) -> Casting:
    """Return the strictest rule that allows a conversion."""
    return next(casting for casting in CASTINGS if np.can_cast(given, wanted, casting))


PLAIN = Conversion()
"""What NumPy does by itself."""


def _stays(operand: Imported, label: str) -> bool:
    """Whether an operand is left to the expression: it has the type, or NumPy does not know one of the two."""
    return operand.dtype == label or stands_in(operand) or registered(label) is None


def _is_casting(word: object) -> TypeGuard[Casting]:
    return isinstance(word, str) and word in CASTINGS


def conversion_of(casting: object, order: object) -> Conversion:
    """Return the conversion for the words of a call.

    Raises:
        ArgumentError: a word that NumPy does not know.
    """
    if not _is_casting(casting):
        raise ArgumentError(f"casting={casting!r:.80}\n  It is one of {', '.join(CASTINGS)}.")
    if not isinstance(order, str) or order.upper() not in ORDERS:
        raise ArgumentError(f"order={order!r:.80}\n  It is one of {', '.join(ORDERS)}.")
    return Conversion(casting, order.upper())
