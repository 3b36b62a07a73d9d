"""`asked_of`: what an expression computes, in the types that code takes.

>>> asked_of("ab->ba", [(2, 3)], "U2", [None], Finish(), None).travel.unit  # Copies move bytes of any type.
float64
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from einloom.dtypes import DTYPES, FLOAT64, PAIRS
from einloom.expression.fallback import Travel, travel_of
from einloom.expression.types import numpy_type, scaled_sums
from einloom.frozen import frozen
from einloom.plan.carriers import is_copy
from einloom.plan.equation import caret_lines
from einloom.plan.finish import Finish
from einloom.plan.problem import Problem, make_problem

__all__ = ["Asked", "asked_of"]


@frozen
class Asked:
    """What an expression computes.

    Attributes:
        problem: in the type that elements travel as.
        label: the name of the result's type.
        dtype: NumPy's type of the result; of the same size for a type that NumPy lacks.
        labels: names of the operands' types.
        travel: how elements get through.
        finish: what code leaves of the finish to whoever converts operands and results.
        where: the equation as errors quote it.
    """

    problem: Problem
    label: str
    dtype: np.dtype[Any]
    labels: tuple[str, ...]
    travel: Travel
    finish: Finish
    where: str


def asked_of(
    equation: str,
    shapes: Sequence[tuple[int, ...]],
    dtype: object,
    strides: Sequence[tuple[int, ...] | None],
    finish: Finish,
    types: Sequence[str] | None,
) -> Asked:
    """Return what is asked for; the arguments are those of `Expression`.

    Raises:
        EquationError, ShapeError, DTypeError: it cannot be computed.
    """
    label, found = numpy_type(dtype)
    inputs = len(shapes) - len(finish.operands)
    labels = tuple((types or [label] * inputs)[:inputs])
    sums = scaled_sums(label, equation) if finish.scales else None
    label, found = numpy_type("float32") if sums else (label, found)
    labels += (label,) * len(finish.operands)
    own = () if set(labels) == {label} else labels
    problem = make_problem(equation, shapes, strides, DTYPES.get(label, FLOAT64), finish, own)
    where = caret_lines(problem.equation.text, ()).strip()
    moves = is_copy(problem.equation, finish) and not own  # What is converted on its way is computed.
    travel = travel_of(label, found, moves, finish, where)
    if label in PAIRS and (travel.by_numpy or label not in labels):
        labels, problem = (label,) * len(labels), replace(problem, types=())  # Real operands become complex.
    if finish.conj and not travel.by_numpy:
        finish = replace(finish, conj=())  # Code conjugates.
    if travel.unit != problem.dtype or sums is not None:
        problem = replace(problem, dtype=travel.unit, sums=sums)
    return Asked(problem, label, found, labels, travel, finish, where)
