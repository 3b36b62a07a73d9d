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
    "Types",
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


Types = Callable[[], Sequence[str]]
"""Gives the names of the operands' types, which few calls ask for."""


class Computation(Protocol):
    """An einsum that a framework's arrays are given to."""

    def carried(self, shapes: Sequence[tuple[int, ...]], types: Types) -> Call | str:
        """Return the same as an operator can carry it; or the option, as `beta=2`, that none carries."""
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


ADVICE = {
    "alpha": "Multiply the result of the einsum by it.",
    "beta": "Add what is to be added to the result of the einsum.",
    "casting": "Leave it out; convert the operands before.",
    "constants": "Pass them as operands; those that detach() gives get no gradients.",
    "dtype": "Leave it out; convert the operands before.",
    "epilogue": "Apply the framework's own operators to the result of the einsum.",
    "memory_limit": "Leave it out, or pass optimize= a path of small intermediate tensors.",
    "order": "Leave it out; copy the result into that order.",
    "target": "Leave it out: gradients are computed on the processor.",
}
"""What to do instead of an option that operators do not carry."""


def carried(computation: Computation, shapes: Sequence[tuple[int, ...]], types: Types) -> Call:
    """Return a computation on operands of these shapes as an operator can carry it.

    Raises:
        ArgumentError: it asks for what gradients are not known of.
    """
    call = computation.carried(shapes, types)
    if isinstance(call, str):
        advice = ADVICE[call.partition("=")[0]]
        raise ArgumentError(f"no gradients and no compilation of an einsum with {call}\n  {advice}")
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
