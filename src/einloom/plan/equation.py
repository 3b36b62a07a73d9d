"""`parse_equation`: the equation language of `numpy.einsum`, with errors that point at the place.

Labels are single letters of any alphabet. An ellipsis stands for the axes that an operand has beyond its labels; they
get the labels `…0`, `…1` and so on, counted from the right, so that they broadcast as in NumPy.

>>> parse_equation("ab,bc", (2, 2)).output
('a', 'c')
>>> str(parse_equation("...i,i->...", (3, 1)))
'…1…0i,i->…1…0'
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from einloom.errors import EquationError, ShapeError

__all__ = ["Equation", "caret_lines", "interleaved_equation", "parse_equation"]

_ELLIPSIS = "..."


@dataclass(frozen=True, slots=True)
class Equation:
    """A parsed equation.

    Attributes:
        text: what the user wrote, without spaces.
        inputs: the labels of each operand's axes.
        output: the labels of the result's axes.
    """

    text: str
    inputs: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]

    def __str__(self) -> str:
        return ",".join("".join(labels) for labels in self.inputs) + "->" + "".join(self.output)


@lru_cache(maxsize=4096)
def parse_equation(text: str, ranks: tuple[int, ...]) -> Equation:
    """Return the equation for operands with `ranks` axes each.

    Raises:
        EquationError: the text is not an equation of that many operands.
        ShapeError: an operand has another number of axes than its subscript.
    """
    text = "".join(text.split())
    left, arrow, right = text.partition("->")
    _check_characters(text, left, right)
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise EquationError(
            f"the equation has {len(terms)} operands, {len(ranks)} are given\n  {text}\n  Separate them by commas."
        )
    inputs = tuple(_term_labels(text, terms, i, rank) for i, rank in enumerate(ranks))
    output = _explicit_output(text, right, inputs) if arrow else _implicit_output(inputs)
    return Equation(text, inputs, output)


def interleaved_equation(arguments: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return (equation, operands) of the form `A, labels_of_A, B, labels_of_B, …[, labels_of_the_output]`.

    Labels are any hashable values; `...` among them is an ellipsis.

    Raises:
        EquationError: operands and label lists do not alternate.
    """
    operands, lists = list(arguments[0::2]), list(arguments[1::2])
    explicit = len(operands) > len(lists)
    if explicit:
        lists.append(operands.pop())
    if not operands or not all(isinstance(labels, Sequence) and not isinstance(labels, str) for labels in lists):
        raise EquationError("operands and lists of labels must alternate: einsum(A, [0, 1], B, [1, 2], [0, 2])")
    symbols = _symbols([label for labels in lists for label in labels if label is not Ellipsis])
    terms = ["".join(_ELLIPSIS if label is Ellipsis else symbols[label] for label in labels) for labels in lists]
    equation = ",".join(terms[: len(operands)])
    return (f"{equation}->{terms[-1]}" if explicit else equation), operands


def _symbols(labels: list[Hashable]) -> dict[Hashable, str]:
    """Letters in the order of the labels, so that an implicit output is sorted as the labels are."""
    unique: list[Any] = list(dict.fromkeys(labels))
    with suppress(TypeError):  # Labels of different types have no order; that of their appearance is as good.
        unique.sort()
    from opt_einsum import get_symbol

    return dict(zip(unique, sorted(get_symbol(i) for i in range(len(unique)))))


def caret_lines(text: str, marks: Sequence[int], note: str = "") -> str:
    """Return the equation and a line of carets below the characters at `marks`, with a note behind them."""
    line = "".join("^" if i in marks else " " for i in range(len(text)))
    return f"  {text}\n  {line} {note}".rstrip()


def label_places(equation: Equation, label: str) -> list[int]:
    """Return where a label stands in the operands' part of the text; nothing for labels of an ellipsis."""
    left = equation.text.partition("->")[0]
    return [i for i, character in enumerate(left) if character == label]


def _check_characters(text: str, left: str, right: str) -> None:
    if right.count("->"):
        raise EquationError(f"two arrows\n{caret_lines(text, [text.rindex('->')])}\n  Write one `->`.")
    for side, offset in ((left, 0), (right, len(left) + 2)):
        plain = side.replace(_ELLIPSIS, "   ")
        for i, character in enumerate(plain):
            if not (character.isalpha() or character == " " or (character == "," and side is left)):
                raise EquationError(
                    f"{character!r} is no label\n{caret_lines(text, [offset + i])}\n"
                    "  Labels are letters; `...` stands for further axes."
                )


def _term_labels(text: str, terms: list[str], index: int, rank: int) -> tuple[str, ...]:
    term = terms[index]
    start = sum(len(t) + 1 for t in terms[:index])
    count = term.count(_ELLIPSIS)
    if count > 1:
        raise EquationError(
            f"operand {index} has two ellipses\n{caret_lines(text, [start + term.rindex(_ELLIPSIS)])}\n  Write one."
        )
    letters = len(term) - 3 * count
    if letters > rank or (not count and letters != rank):
        raise ShapeError(
            f"operand {index} has {rank} axes, its subscript has {letters}\n"
            f"{caret_lines(text, range(start, start + max(len(term), 1)))}\n"
            "  Give one label an axis, or `...` for the others."
        )
    before, _, after = term.partition(_ELLIPSIS)
    hidden = tuple(f"…{i}" for i in reversed(range(rank - letters))) if count else ()
    return (*before, *hidden, *after)


def _implicit_output(inputs: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    labels = [label for term in inputs for label in term]
    letters = sorted(label for label in set(labels) if len(label) == 1 and labels.count(label) == 1)
    return (*_hidden(inputs), *letters)


def _hidden(inputs: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    return max((tuple(label for label in term if len(label) > 1) for term in inputs), key=len, default=())


def _explicit_output(text: str, right: str, inputs: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    offset = len(text) - len(right)
    known = {label for term in inputs for label in term}
    plain = right.replace(_ELLIPSIS, "   ", 1)
    for i, label in enumerate(plain):
        if label == ".":
            raise EquationError(f"the output has two ellipses\n{caret_lines(text, [offset + i])}\n  Write one.")
        if label == " ":
            continue
        if label not in known:
            raise EquationError(
                f"output label {label} is in no operand\n{caret_lines(text, [offset + i])}\n"
                f"  Remove it, or label an axis of an operand {label}."
            )
        if plain.count(label) > 1:
            marks = [offset + j for j, other in enumerate(plain) if other == label]
            raise EquationError(
                f"output label {label} stands twice\n{caret_lines(text, marks)}\n  Label every output axis once."
            )
    hidden = _hidden(inputs)
    if hidden and _ELLIPSIS not in right:
        raise EquationError(
            f"the operands' ellipsis stands for {len(hidden)} axes that the output does not have\n"
            f"{caret_lines(text, range(offset, len(text)))}\n  Write `...` there, or label them to sum."
        )
    before, _, after = right.partition(_ELLIPSIS)
    return (*before, *hidden, *after)
