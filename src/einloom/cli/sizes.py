"""What commands take: counts, and `--sizes a=8,b=9` with an equation, to a `Case`; errors point at the label.

>>> sized_case("ab, bc", {"a": 2, "b": 3, "c": 4}, "float32").equation
'ab,bc->ac'
"""

from __future__ import annotations

import argparse
import ast
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from einloom.bench.cases import Case
from einloom.dtypes import COMPUTED
from einloom.errors import EquationError, ScheduleError, ShapeError
from einloom.plan.equation import caret_lines, parse_equation

__all__ = ["add_equation", "new_file", "option", "parse_sizes", "positive", "seconds", "sized_case"]


def add_equation(parser: argparse.ArgumentParser) -> None:
    """Add the equation, its sizes and the data type, one that there is code for, to a command."""
    parser.add_argument("equation", help="as for numpy.einsum: 'abc,cd->abd'")
    parser.add_argument(
        "--sizes", type=parse_sizes, required=True, metavar="a=8,b=9", help="the extent of each label of the equation"
    )
    parser.add_argument("--dtype", default="float32", choices=[*COMPUTED], help="default: float32")


def parse_sizes(text: str) -> dict[str, int]:
    """Return the sizes that the text of `--sizes` gives.

    Raises:
        argparse.ArgumentTypeError: it is not a list of label=number, or names a label twice.
    """
    sizes: dict[str, int] = {}
    for part in text.replace(",", " ").split():
        label, equals, number = part.partition("=")
        if not equals or len(label) != 1 or not number.isdecimal():
            raise argparse.ArgumentTypeError(f"{part!r} is not label=number, as in a=8,b=9")
        if label in sizes:
            raise argparse.ArgumentTypeError(f"{label} is given twice")
        sizes[label] = int(number)
    return sizes


def sized_case(equation: str, sizes: Mapping[str, int], dtype: str) -> Case:
    """Return the case of an equation over arrays of these sizes.

    Raises:
        EquationError: the equation is no einsum, or has an ellipsis, whose axes have no sizes.
        ShapeError: a label has no size, or a size no label.
    """
    text = "".join(equation.split())
    if "..." in text:
        marks = caret_lines(text, [text.index("...")], "which axes? Name each by a letter and give it a size.")
        raise EquationError(f"an ellipsis has no sizes\n{marks}")
    terms = text.partition("->")[0].split(",")
    parsed = parse_equation(text, tuple(len(term) for term in terms))
    labels = list(dict.fromkeys(label for labels in parsed.inputs for label in labels))
    missing = [label for label in labels if label not in sizes]
    if missing:
        marks = caret_lines(text, [text.index(label) for label in missing])
        raise ShapeError(f"no size for {', '.join(missing)}\n{marks}\n  Add {_example(missing)} to --sizes.")
    unknown = [label for label in sizes if label not in labels]
    if unknown:
        raise ShapeError(
            f"a size for {', '.join(unknown)}, which the equation has not\n  {text}\n"
            f"  Its labels are {', '.join(labels)}."
        )
    return Case.contraction(str(parsed), {label: sizes[label] for label in labels}, dtype=dtype)


def _example(labels: list[str]) -> str:
    return ",".join(f"{label}=8" for label in labels)


def positive(text: str) -> int:
    """Return the whole number that a text says.

    Raises:
        argparse.ArgumentTypeError: it says none, or one below 1.
    """
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


def seconds(text: str) -> float:
    """Return the seconds that a text says.

    Raises:
        argparse.ArgumentTypeError: it says none, or no end.
    """
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return found


def new_file(text: str) -> str:
    """Return the name of a file that can be written, or `-`: what takes long must not be lost at its end.

    Raises:
        argparse.ArgumentTypeError: it cannot.
    """
    path = Path(text)
    if text != "-" and (path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK)):
        raise argparse.ArgumentTypeError(f"{text!r} cannot be written: its folder is not there, or it is closed to you")
    return text


def option(text: str) -> tuple[str, Any]:
    """Return a kernel's option from NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ScheduleError(f"{text!r} is no option of a kernel\n  Write NAME=VALUE, as in m=1024.")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
