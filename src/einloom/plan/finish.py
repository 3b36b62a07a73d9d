"""`Finish`: what becomes of the sums: `out := beta * out + alpha * sums`, then operators on the finished result.

>>> finish = finish_of(2, 0, (), (("add", "c"), "relu"))
>>> [(operator.primitive.value, operator.labels) for operator in finish.epilogue]
[('add', ('c',)), ('relu', None)]
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Number
from operator import index
from typing import Any

import numpy as np

from einloom.errors import ArgumentError
from einloom.frozen import frozen
from einloom.ir.operation import Primitive

__all__ = ["ELLIPSIS", "PLAIN", "Finish", "Operator", "finish_of"]


@frozen
class Operator:
    """An operator on the finished result; a binary one reads an operand, whose axes the labels name, or `...`.

    One that `scales` makes float32 of sums of integers before it multiplies.
    """

    primitive: Primitive
    labels: tuple[str, ...] | None = None
    scales: bool = False


@frozen
class Finish:
    """What becomes of the sums.

    Attributes:
        alpha: factor of the sums; 0: no operand is read.
        beta: factor of what `out` holds; 0: that is not read.
        conj: positions of operands that are conjugated.
        epilogue: operators on the finished result, in order.
    """

    alpha: Any = 1
    beta: Any = 0
    conj: tuple[int, ...] = ()
    epilogue: tuple[Operator, ...] = ()

    @property
    def operands(self) -> tuple[tuple[str, ...], ...]:
        """The labels of the epilogue's operands, which follow the others in a call."""
        return tuple(each.labels for each in self.epilogue if each.labels is not None)

    @property
    def scales(self) -> bool:
        """Whether sums of integers become float32."""
        return any(each.scales for each in self.epilogue)

    def check_fresh(self, where: str) -> None:
        """Refuse to write a fresh result where the factor of what it held is not 0.

        Raises:
            ArgumentError: it is not.
        """
        if self.beta != 0:
            raise ArgumentError(f"beta={self.beta!r} is a factor of out, which is None\n  {where}\n  Pass out=.")

    @property
    def of_truth(self) -> Finish:
        """The same for sums of truth values, whose factors are such: 1 for all that is not 0."""
        return replace(self, alpha=int(self.alpha != 0), beta=int(self.beta != 0))

    @property
    def constants(self) -> tuple[Any, ...]:
        """The factors that code multiplies by, in the order in which the last step takes them."""
        return tuple(each for each in (self.beta, self.alpha) if each not in (0, 1))


PLAIN = Finish()

SCALE = "scale"
"""The word of an operator that multiplies sums of integers by float32, which the result and all that follows is."""

ELLIPSIS = "..."
"""Among the labels of an operator's operand: the axes that the result's ellipsis stands for."""

_UNARY = [each for each in Primitive if each.is_unary and each not in (Primitive.ZERO, Primitive.IDENTITY)]
_BINARY = [each for each in Primitive if each.is_binary]


def finish_of(alpha: Any, beta: Any, conj: Any, epilogue: Any) -> Finish:
    """Return the finish for the arguments of a call.

    Raises:
        ArgumentError: a factor that is no number, a position that is none, or an operator that is not there.
    """
    alpha, beta = _factor("alpha", alpha), _factor("beta", beta)
    try:
        positions = tuple(sorted({index(each) for each in conj}))
    except TypeError:
        raise ArgumentError(f"conj={conj!r:.80}\n  Give the positions of operands, for example (0,).") from None
    if isinstance(epilogue, str):
        epilogue = (epilogue,)
    if not hasattr(epilogue, "__iter__"):
        raise ArgumentError(
            f"epilogue={epilogue!r:.80}\n  Give operators in order, for example (('add', 'c'), 'relu')."
        )
    operators: list[Any] = [*epilogue]
    finish = Finish(alpha, beta, positions, tuple(map(_operator, operators)))
    if any(each.scales for each in finish.epilogue[1:]) or (finish.scales and (alpha != 1 or beta != 0)):
        raise ArgumentError(
            f"epilogue={epilogue!r:.80}\n  'scale' makes float32 of sums of integers: it is the first operator, without"
            " alpha and beta."
        )
    return finish


def _factor(name: str, given: Any) -> Any:
    """Return a factor; a truth value of NumPy's, which is no number to Python, is one here."""
    if isinstance(given, np.bool_):
        return 1 if given else 0
    if isinstance(given, Number):
        return given
    raise ArgumentError(f"{name}={given!r:.80} is no number\n  Give a number of Python's or NumPy's.")


def _operator(given: Any) -> Operator:
    if isinstance(given, str) and given in [each.value for each in _UNARY]:
        return Operator(Primitive(given))
    pair: tuple[Any, ...] = tuple(given) if type(given) in (tuple, list) else ()
    if len(pair) == 2 and isinstance(pair[1], str) and pair[0] == SCALE:
        return Operator(Primitive.MUL, _labels(pair[1]), scales=True)
    if len(pair) == 2 and isinstance(pair[1], str) and pair[0] in [each.value for each in _BINARY]:
        return Operator(Primitive(pair[0]), _labels(pair[1]))
    if given == SCALE or (isinstance(given, str) and given in [each.value for each in _BINARY]):
        raise ArgumentError(
            f"epilogue: {given!r} takes an operand, which comes last in the call\n"
            f"  Name its axes: ({given!r}, labels); no labels, '', for a number."
        )
    raise ArgumentError(
        f"epilogue: {given!r:.80} is no operator\n"
        f"  on the result alone: {', '.join(_UNARY)}\n"
        f"  with an operand, as (word, labels): {', '.join(_BINARY)}, {SCALE}"
    )


def _labels(text: str) -> tuple[str, ...]:
    before, dots, behind = "".join(text.split()).partition(ELLIPSIS)
    return (*before, *([dots] if dots else []), *behind)
