"""`Index`: an affine function of the loops' indices and the thread's coordinates, and what may be asked about it.

>>> a, b = Index.symbol("a"), Index.symbol("b")
>>> print(repr(2 * a - b + 3), repr(a >= 4), repr(b % 2 == 0), sep="\\n")
2 a - b + 3
a - 4 ge 0
b mod 2 eq 0
"""

from __future__ import annotations

import inspect
import linecache
import operator
from collections.abc import Callable
from operator import index as integer
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from einloom.errors import ScheduleError
from einloom.frozen import frozen
from einloom.ir.nest import Relation

__all__ = ["Comparison", "Condition", "Index", "Remainder", "as_index", "line_of", "refusal", "where"]

_PACKAGE = str(Path(__file__).parents[2])


def where() -> str:
    """Return file, line and text of the user's code that is running."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return "" if frame is None else line_of(frame.f_code.co_filename, frame.f_lineno)


def line_of(name: str, number: int) -> str:
    """Return a file's name, the number of a line and its text."""
    return f"{name}:{number}: {linecache.getline(name, number).strip()}"


def refusal(what: str, advice: str) -> ScheduleError:
    """Return an error that quotes the line of the body that cannot be traced."""
    return ScheduleError(f"{what} cannot be traced\n  {where()}\n  {advice}")


class Untraceable:
    """What has no value while a body is traced, and says so."""

    _noun = "a symbolic value"
    _advice = "Subscripts are affine: an index times a number, plus a number."

    def _refuse(self, what: str, advice: str) -> NoReturn:
        raise refusal(f"{what} of {self._noun}", advice)

    def __bool__(self) -> bool:
        self._refuse("the truth", "Write `with el.when(condition):`, and & between conditions.")

    def __int__(self) -> int:
        self._refuse("int()", "Indices have no value here: use them in subscripts and in el.when.")

    def __index__(self) -> int:
        self._refuse("the value", "Subscript the body's own tensors; el.tpp computes with their blocks.")

    def __float__(self) -> float:
        self._refuse("float()", "Indices have no value here: use them in subscripts and in el.when.")

    def __str__(self) -> str:
        self._refuse("printing or formatting", "Print with loop.run(python_function), or look at repr().")

    def __format__(self, specification: str) -> str:
        self._refuse("printing or formatting", "Print with loop.run(python_function), or look at repr().")

    def __array__(self, *arguments: Any, **named: Any) -> NoReturn:
        self._refuse("a NumPy function", "Call primitives of el.tpp on the body's tensors.")

    def __array_ufunc__(self, *arguments: Any, **named: Any) -> NoReturn:
        self._refuse("a NumPy function", "Call primitives of el.tpp on the body's tensors.")

    def __array_function__(self, *arguments: Any, **named: Any) -> NoReturn:
        self._refuse("a NumPy function", "Call primitives of el.tpp on the body's tensors.")

    def _no_arithmetic(self, *others: Any) -> NoReturn:
        self._refuse("this arithmetic", self._advice)

    def _no_comparison(self, other: Any) -> NoReturn:
        self._refuse("this comparison", "Compare an index, or its remainder by == and !=, with a number.")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _no_arithmetic
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = _no_arithmetic
    __rdivmod__ = __pow__ = __rpow__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _no_arithmetic
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _no_arithmetic
    __neg__ = __pos__ = __abs__ = __invert__ = __round__ = _no_arithmetic
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _no_comparison

    def __hash__(self) -> int:
        self._refuse("the hash", "Symbols have no value here: look things up by what Python knows.")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("__"):
                raise AttributeError(name)  # Protocols that a library asks for, and goes without.
            self._refuse(f"the attribute {name}", self._advice)


class Index(Untraceable):
    """A constant plus a multiple of each symbol: the letters of loops, `thread`, and dimensions of the grid."""

    _noun = "an index"

    def __init__(self, terms: dict[str, int], constant: int = 0) -> None:
        self.terms = {symbol: factor for symbol, factor in sorted(terms.items()) if factor}
        self.constant = constant

    @staticmethod
    def symbol(name: str) -> Index:
        """Return the index that a symbol stands for."""
        return Index({name: 1})

    @property
    def key(self) -> tuple[tuple[tuple[str, int], ...], int]:
        """What equal indices have in common."""
        return tuple(self.terms.items()), self.constant

    def __add__(self, other: Any) -> Index:
        other = as_index(other)
        terms = {s: self.terms.get(s, 0) + other.terms.get(s, 0) for s in {*self.terms, *other.terms}}
        return Index(terms, self.constant + other.constant)

    def __mul__(self, factor: Any) -> Index:
        if isinstance(factor, Untraceable):
            self._refuse("the product", "Subscripts are affine: an index times a number, plus a number.")
        number = as_index(factor).constant
        return Index({symbol: number * each for symbol, each in self.terms.items()}, number * self.constant)

    def __neg__(self) -> Index:
        return self * -1

    def __sub__(self, other: Any) -> Index:
        return self + -as_index(other)

    def __rsub__(self, other: Any) -> Index:
        return as_index(other) - self

    __radd__, __rmul__ = __add__, __mul__

    def __pos__(self) -> Index:
        return self

    def __mod__(self, modulus: Any) -> Remainder:
        number = as_index(modulus)
        if number.terms or number.constant < 1:
            self._refuse("this remainder", "Divide by a positive number: el.when(a % 2 == 0).")
        return Remainder(self, number.constant)

    def __floordiv__(self, other: Any) -> NoReturn:
        self._refuse("the quotient", "Give the loop another step, and multiply instead.")

    __truediv__ = __rfloordiv__ = __rtruediv__ = __floordiv__

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **named: Any) -> Any:
        """An integer of NumPy on the left is a number; other functions have nothing to compute."""
        computed = _OF_NUMPY.get(function)
        if computed is None or method != "__call__" or named or isinstance(inputs[0], Index):
            self._refuse("a NumPy function", "Call primitives of el.tpp on the body's tensors.")
        return computed(as_index(inputs[0]).constant, self)

    def _compared(self, relation: Relation, other: Any) -> Condition:
        return Condition((Comparison(self - other, relation, 0),))

    def __lt__(self, other: Any) -> Condition:
        return self._compared("lt", other)

    def __le__(self, other: Any) -> Condition:
        return self._compared("le", other)

    def __eq__(self, other: Any) -> Condition:  # type: ignore[override]
        return self._compared("eq", other)

    def __ne__(self, other: Any) -> Condition:  # type: ignore[override]
        return self._compared("ne", other)

    def __ge__(self, other: Any) -> Condition:
        return self._compared("ge", other)

    def __gt__(self, other: Any) -> Condition:
        return self._compared("gt", other)

    __hash__ = Untraceable.__hash__

    def __repr__(self) -> str:
        terms = [(factor, symbol) for symbol, factor in self.terms.items()]
        parts = [f"{'-' if f < 0 else '+'} {'' if abs(f) == 1 else f'{abs(f)} '}{s}" for f, s in terms]
        if self.constant or not parts:
            parts.append(f"{'-' if self.constant < 0 else '+'} {abs(self.constant)}")
        return " ".join(parts).removeprefix("+ ")


_OF_NUMPY: dict[Any, Callable[[Any, Any], Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
    np.greater_equal: operator.ge,
    np.greater: operator.gt,
}


class Remainder(Untraceable):
    """What is left of an index after division by a number."""

    _noun = "a remainder"

    def __init__(self, index: Index, modulus: int) -> None:
        self.index = index
        self.modulus = modulus

    def __eq__(self, other: Any) -> Condition:  # type: ignore[override]
        return Condition((Comparison(self.index, "eq", self._number(other), self.modulus),))

    def __ne__(self, other: Any) -> Condition:  # type: ignore[override]
        return Condition((Comparison(self.index, "ne", self._number(other), self.modulus),))

    __hash__ = Untraceable.__hash__

    def _number(self, other: Any) -> int:
        if isinstance(other, Untraceable):
            self._no_comparison(other)
        return as_index(other).constant


@frozen
class Comparison:
    """An index, or its remainder, beside a number."""

    index: Index
    relation: Relation
    bound: int
    modulus: int = 0

    def __repr__(self) -> str:
        rest = f" mod {self.modulus}" if self.modulus else ""
        return f"{self.index!r}{rest} {self.relation} {self.bound}"


class Condition(Untraceable):
    """Comparisons that all have to hold; `&` joins conditions."""

    _noun = "a condition"

    def __init__(self, comparisons: tuple[Comparison, ...]) -> None:
        self.comparisons = comparisons

    def __and__(self, other: Any) -> Condition:
        if not isinstance(other, Condition):
            self._refuse("this conjunction", "Join conditions on indices: (a >= 2) & (a < 5).")
        return Condition(self.comparisons + other.comparisons)

    __rand__ = __and__

    def __or__(self, other: Any) -> NoReturn:
        self._refuse("the disjunction", "Write one el.when for each case.")

    def __invert__(self) -> NoReturn:
        self._refuse("the negation", "Write the opposite comparison.")

    def __repr__(self) -> str:
        return " and ".join(map(repr, self.comparisons))


def as_index(value: Any) -> Index:
    """Return an index, or a number as one.

    Raises:
        ScheduleError: it is neither.
    """
    if isinstance(value, Index):
        return value
    if isinstance(value, Untraceable):
        raise refusal("this arithmetic", "Subscripts are affine: an index times a number, plus a number.")
    try:
        if not isinstance(value, bool):
            return Index({}, integer(value))
    except TypeError:
        pass
    raise refusal(f"{type(value).__name__} as an index", "Use indices and integers.")
