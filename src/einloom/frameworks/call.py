"""`Call`: an einsum in words that an operator of another framework can carry; and who evaluates it on NumPy arrays.

The evaluation of einsums lies on a higher floor. It is put in from there (`provide`), before any array comes.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from einloom.errors import ArgumentError
from einloom.frozen import frozen

__all__ = [
    "Call",
    "Computation",
    "Evaluate",
    "Framework",
    "carried",
    "evaluate",
    "path_of",
    "path_text",
    "provide",
]


@frozen
class Call:
    """An einsum without its operands.

    Attributes:
        equation: its text.
        conj: positions of operands that are conjugated.
        optimize: a word, or a path as `path_text` writes it.
        schedule: its text; empty for the heuristic one.
        threads: how many; None for the settings'.
    """

    equation: str
    conj: tuple[int, ...] = ()
    optimize: str = "auto"
    schedule: str = ""
    threads: int | None = None


class Computation(Protocol):
    """An einsum that a framework's arrays are given to."""

    def carried(self, shapes: Sequence[tuple[int, ...]]) -> Call | None:
        """Return the same as an operator can carry it; None where it asks for what gradients are not known of."""
        ...

    def on_arrays(self, operands: Sequence[Any], out: Any = None) -> Any:
        """Compute on NumPy arrays."""
        ...


class Framework(Protocol):
    """A module that computes on a framework's arrays."""

    def compute(self, computation: Computation, operands: Sequence[Any], out: Any = None) -> Any:
        """Return the result as an array of the framework, or `out`."""
        ...

    def memory(self, operand: Any, name: str) -> Any:
        """Return an operand's memory as NumPy has it, whether or not gradients are wanted."""
        ...

    def held(self, operand: Any, name: str) -> Any:
        """Return the memory of a constant, of which no gradient is wanted."""
        ...


Evaluate = Callable[[Call, Sequence[Any], Any], Any]

_provided: list[Evaluate] = []


def provide(function: Evaluate) -> None:
    """Put in what evaluates calls on NumPy arrays."""
    _provided[:] = [function]


def evaluate(call: Call, operands: Sequence[Any], onto: Any = None) -> Any:
    """Return the result of a call on NumPy arrays; where there is an array `onto`, it is added to that in place."""
    (function,) = _provided
    return function(call, operands, onto)


def carried(computation: Computation, shapes: Sequence[tuple[int, ...]]) -> Call:
    """Return a computation on operands of these shapes as an operator can carry it.

    Raises:
        ArgumentError: it asks for what gradients are not known of.
    """
    call = computation.carried(shapes)
    if call is None:
        raise ArgumentError(
            "no gradients and no compilation of an einsum with alpha=, beta=, epilogue=, dtype=, casting=, order=, "
            "memory_limit=, constants= or another target\n  Apply the framework's own operators to the plain einsum."
        )
    return call


def path_text(optimize: object) -> str:
    """Return a word or a path as a text.

    Raises:
        ArgumentError: an object, which has no text.
    """
    if isinstance(optimize, str):
        return optimize
    if optimize is None or type(optimize) in (bool, tuple, list):
        return repr(optimize)
    raise ArgumentError(
        f"optimize={optimize!r:.80}: operators of PyTorch and JAX carry names and paths alone\n"
        "  Pass the path that einloom.contract_path(…, optimize=…) returns."
    )


def path_of(text: str) -> Any:
    """Return what `path_text` wrote.

    >>> path_of(path_text([(0, 1), (0, 1)])), path_of("greedy")
    ([(0, 1), (0, 1)], 'greedy')
    """
    return literal_eval(text) if text[:1] in "[(TFN" and text[:1] else text
