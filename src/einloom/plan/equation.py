"""`parse_equation`: the equation language of `numpy.einsum`, with errors that point at the place.

Labels are single letters of any alphabet, and any other character from À on (opt_einsum's symbols go there). An
ellipsis stands for the axes that an operand has beyond its labels; they get the labels `…0`, `…1` and so on, counted
from the right, so that they broadcast as in NumPy.

>>> parse_equation("ab,bc", (2, 2)).output
('a', 'c')
>>> str(parse_equation("...i,i->...", (3, 1)))
'…1…0i,i->…1…0'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate
from string import ascii_letters, whitespace
from typing import Any

import numpy as np

from einloom.errors import EquationError, EquationTypeError, ShapeError
from einloom.frozen import frozen

__all__ = ["Equation", "caret_lines", "interleaved_equation", "label_symbols", "parse_equation"]

MOST_LABELS = 50_000
"""Different labels that an equation in the interleaved form may have: characters end at the surrogates."""

_ELLIPSIS = "..."
_ARROW = "The arrow in front of the output is `->`."
_LABELS = "Labels are letters; `...` stands for further axes."
_BEYOND_LETTERS = ord("À")
_WITHOUT_SPACE = dict.fromkeys(map(ord, whitespace))
_SHOWN = 160  # characters of an equation that an error quotes


@frozen
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
    text = text.translate(_WITHOUT_SPACE)
    left, arrow, right = text.partition("->")
    _check_characters(text, left, right)
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise EquationError(
            f"operands: {len(terms)} in the equation, {len(ranks)} in the call\n{caret_lines(text, ())}\n"
            "  Pass one for each subscript, with commas between subscripts; behind them come those of an epilogue."
        )
    starts = accumulate((len(term) + 1 for term in terms), initial=0)
    inputs = tuple(_term_labels(text, *each) for each in zip(terms, starts, range(len(terms)), ranks))
    output = _explicit_output(text, right, inputs) if arrow else _implicit_output(inputs)
    return Equation(text, inputs, output)


def interleaved_equation(arguments: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return (equation, operands) of the form `A, labels_of_A, B, labels_of_B, …[, labels_of_the_output]`.

    Labels are any hashable values; `...` among them is an ellipsis.

    Raises:
        EquationError: operands and lists of labels do not alternate, or a label is not hashable.
    """
    operands, lists = list(arguments[0::2]), list(arguments[1::2])
    explicit = len(operands) > len(lists)
    if explicit:
        lists.append(operands.pop())
    if not operands:
        raise EquationError(_ALTERNATE)
    terms = [_hashable_labels(labels, place) for place, labels in enumerate(lists)]
    symbols = _symbols([label for labels in terms for label in labels if label is not Ellipsis])
    texts = ["".join(_ELLIPSIS if label is Ellipsis else symbols[label] for label in labels) for labels in terms]
    equation = ",".join(texts[: len(operands)])
    return (f"{equation}->{texts[-1]}" if explicit else equation), operands


_ALTERNATE = "operands and lists of labels must alternate: einsum(A, [0, 1], B, [1, 2], [0, 2])"


def _hashable_labels(labels: Any, place: int) -> list[Hashable]:
    given = _listed(labels)
    if given is None:
        raise EquationTypeError(f"{_ALTERNATE}\n  List {place} of labels is a {type(labels).__name__}.")
    for label in given:
        try:
            hash(label)
        except TypeError:
            raise EquationError(
                f"a label in list {place} is a {type(label).__name__}, which is not hashable\n"
                "  Labels are numbers, strings, tuples or other hashable values."
            ) from None
    return given


def _listed(labels: Any) -> list[Any] | None:
    """Return the entries of a list, tuple, array of one axis or any other iterable but a text."""
    try:
        return None if isinstance(labels, str) or _is_operand(labels) else list(labels)
    except TypeError:
        return None


def _is_operand(thing: Any) -> bool:
    return isinstance(thing, np.ndarray) and thing.ndim > 1


def _symbols(labels: list[Hashable]) -> dict[Hashable, str]:
    """Letters in the order of the labels, so that an implicit output is sorted as the labels are."""
    unique: list[Any] = list(dict.fromkeys(labels))
    with suppress(TypeError):  # Labels of different types have no order; that of their appearance is as good.
        unique.sort()
    return dict(zip(unique, label_symbols(len(unique))))


def label_symbols(count: int) -> list[str]:
    """Return `count` different labels in ascending order: the Latin letters, then the characters from À on.

    Raises:
        EquationError: there are not as many characters.
    """
    if count > MOST_LABELS:
        raise EquationError(f"the operands have {count:,} labels; at most {MOST_LABELS:,} go")
    return [*sorted(ascii_letters), *map(chr, range(_BEYOND_LETTERS, _BEYOND_LETTERS + count))][:count]


def caret_lines(text: str, marks: Iterable[int], note: str = "") -> str:
    """Return the equation and a line of carets below the characters at `marks`, with a note behind them.

    Of a long equation only the neighbourhood of the first mark is shown.
    """
    marked = set(marks)
    start = max(min(marked, default=0) - _SHOWN // 2, 0) if len(text) > _SHOWN else 0
    end = start + _SHOWN
    before, behind = "…" * (start > 0), "…" * (end < len(text))
    line = " " * len(before) + "".join("^" if i in marked else " " for i in range(start, min(end, len(text))))
    return f"  {before}{text[start:end]}{behind}\n  {line} {note}".rstrip()


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
            if not (_is_label(character) or character == " " or (character == "," and not offset)):
                raise EquationError(
                    f"{character!r} is no label\n{caret_lines(text, [offset + i])}\n"
                    f"  {_ARROW if character in '-=>' else _LABELS}"
                )


def _is_label(character: str) -> bool:
    """Letters of any alphabet, and whatever else `opt_einsum.get_symbol` gives: it counts on from À."""
    return character.isalpha() or ord(character) >= _BEYOND_LETTERS


def _term_labels(text: str, term: str, start: int, index: int, rank: int) -> tuple[str, ...]:
    """Return the labels of operand `index`, whose subscript begins at `start`."""
    count = term.count(_ELLIPSIS)
    if count > 1:
        raise EquationError(
            f"operand {index} has two ellipses\n{caret_lines(text, [start + term.rindex(_ELLIPSIS)])}\n  Write one."
        )
    letters = len(term) - 3 * count
    if letters > rank or (not count and letters != rank):
        raise ShapeError(
            f"operand {index} has {_axes(rank)}, its subscript has {letters}\n"
            f"{caret_lines(text, range(start, start + max(len(term), 1)))}\n"
            f"  {_ARROW if '→' in term else 'Give one label an axis, or `...` for the others.'}"
        )
    before, _, after = term.partition(_ELLIPSIS)
    hidden = tuple(f"…{i}" for i in reversed(range(rank - letters))) if count else ()
    return (*before, *hidden, *after)


def _axes(count: int) -> str:
    return f"{count} {'axis' if count == 1 else 'axes'}"


def _implicit_output(inputs: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    counts = Counter(label for term in inputs for label in term)
    letters = sorted(label for label, count in counts.items() if len(label) == 1 and count == 1)
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
            f"the operands' ellipsis stands for {_axes(len(hidden))} that the output does not have\n"
            f"{caret_lines(text, range(offset, len(text)))}\n  Write `...` there, or label them to sum."
        )
    before, _, after = right.partition(_ELLIPSIS)
    return (*before, *hidden, *after)
