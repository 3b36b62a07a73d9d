"""`Problem`: an equation with the shapes and strides of its operands, checked. It says nothing about how.

>>> problem = make_problem("ab,bc->ac", [(2, 3), (3, 4)], [None, None], "float32")
>>> problem.sizes, problem.output_shape
({'a': 2, 'b': 3, 'c': 4}, (2, 4))
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from einloom.dtypes import PAIRS, DType, data_type
from einloom.errors import EquationError, ShapeError
from einloom.frozen import frozen
from einloom.plan.equation import Equation, caret_lines, label_places, parse_equation
from einloom.plan.finish import ELLIPSIS, PLAIN, Finish, Operator

__all__ = ["MOST_POINTS", "Problem", "Term", "contiguous_strides", "make_problem"]

MOST_POINTS = 2**60
"""Most elements of an operand, and most points that one step of a plan may walk."""


@frozen
class Term:
    """A tensor with labelled axes: strides in elements by label. A diagonal is one label with the sum of strides."""

    labels: tuple[str, ...]
    strides: tuple[int, ...]


@frozen(slots=False)
class Problem:
    """What is asked for.

    Attributes:
        equation: parsed.
        shapes: of the operands.
        strides: of the operands, in elements.
        sizes: extent of every label.
        dtype: type of the result, and that all operands are promoted to.
        finish: what becomes of the sums; its operands are the last of the shapes and strides.
        types: of the operands; empty: all are of the result's.
        sums: type of the sums, where the finish scales them to the result's; None: the result's.
    """

    equation: Equation
    shapes: tuple[tuple[int, ...], ...]
    strides: tuple[tuple[int, ...], ...]
    sizes: dict[str, int]
    dtype: DType
    finish: Finish = PLAIN
    types: tuple[DType, ...] = ()
    sums: DType | None = None

    def operand_type(self, index: int) -> DType:
        """Return the type of an operand."""
        return self.types[index] if self.types else self.dtype

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        return tuple(self.sizes[label] for label in self.equation.output)

    def input_term(self, index: int) -> Term:
        """Return operand `index` with repeated labels joined and broadcast axes at stride 0."""
        joined: dict[str, int] = {}
        for label, extent, stride in zip(self.equation.inputs[index], self.shapes[index], self.strides[index]):
            step = 0 if extent == 1 and self.sizes[label] != 1 else stride
            joined[label] = joined.get(label, 0) + step
        return Term(tuple(joined), tuple(joined.values()))

    def finish_terms(self) -> list[Term]:
        """Return the operands of the epilogue, broadcast axes at stride 0."""
        first = len(self.equation.inputs)
        operands = zip(self.finish.operands, self.shapes[first:], self.strides[first:])
        return [
            Term(labels, tuple(stride if extent != 1 else 0 for extent, stride in zip(shape, strides)))
            for labels, shape, strides in operands
        ]

    def output_term(self, strides: tuple[int, ...] | None = None) -> Term:
        """Return the result, C-contiguous unless its strides are given."""
        return Term(self.equation.output, strides or contiguous_strides(self.output_shape))


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a C-contiguous array, in elements; 0 along axes of extent 1, whose stride is never used."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step if extent > 1 else 0)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def make_problem(
    text: str,
    shapes: Sequence[tuple[int, ...]],
    strides: Sequence[tuple[int, ...] | None],
    dtype: object,
    finish: Finish = PLAIN,
    types: Sequence[object] = (),
) -> Problem:
    """Return the checked problem; a missing strides tuple means C-contiguous, no types that all operands have one.

    Raises:
        EquationError, ShapeError, DTypeError: with the equation and a caret.
    """
    shapes = tuple(tuple(shape) for shape in shapes)
    inputs = shapes[: len(shapes) - len(finish.operands)]
    equation = parse_equation(text, tuple(len(shape) for shape in inputs))
    given = tuple(contiguous_strides(s) if t is None else tuple(t) for s, t in zip(shapes, strides))
    finish = _with_hidden_labels(finish, equation.output, shapes[len(inputs) :])
    problem = Problem(
        equation, shapes, given, _sizes(equation, inputs), data_type(dtype), finish, tuple(map(_operand_type, types))
    )
    _check_finish(problem)
    return problem


def _operand_type(name: object) -> DType:
    return PAIRS.get(str(name)) or data_type(name)


def _with_hidden_labels(finish: Finish, output: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> Finish:
    """Put labels in the place of ellipses: as many of the last that the result's stands for as an operand has axes."""
    if not finish.epilogue:
        return finish
    hidden = tuple(label for label in output if len(label) > 1)
    ranks = iter(map(len, shapes))
    operators: list[Operator] = []
    for each in finish.epilogue:
        labels = each.labels
        if labels is not None:
            count = next(ranks) - len(labels) + 1
            if ELLIPSIS in labels and 0 <= count <= len(hidden):
                place = labels.index(ELLIPSIS)
                labels = (*labels[:place], *hidden[len(hidden) - count :], *labels[place + 1 :])
        operators.append(replace(each, labels=labels))
    return replace(finish, epilogue=tuple(operators))


def _check_finish(problem: Problem) -> None:
    equation, first = problem.equation, len(problem.equation.inputs)
    for position in problem.finish.conj:
        if not 0 <= position < first:
            raise EquationError(
                f"conj names operand {position}; there are operands 0 to {first - 1}\n"
                f"{caret_lines(equation.text, ())}\n  Give the positions of operands, counted from 0."
            )
    for labels, shape in zip(problem.finish.operands, problem.shapes[first:]):
        unknown = [label for label in labels if label not in equation.output]
        if unknown or len(set(labels)) != len(labels):
            raise EquationError(
                f"the epilogue's operand {''.join(labels)!r} does not name axes of the result, each at most once\n"
                f"{caret_lines(equation.text, range(equation.text.rfind('>') + 1, len(equation.text)))}"
            )
        wanted = tuple(problem.sizes[label] for label in labels)
        if len(wanted) != len(shape) or any(e not in (1, n) for e, n in zip(shape, wanted)):
            raise ShapeError(
                f"the epilogue's operand {''.join(labels)!r} has shape {shape}, the result's axes are {wanted}\n"
                f"{caret_lines(equation.text, ())}\n  Give these extents, or 1 to broadcast."
            )


def _sizes(equation: Equation, shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    seen: dict[str, dict[int, int]] = {}
    for operand, (labels, shape) in enumerate(zip(equation.inputs, shapes)):
        _check_shape(equation, shape, operand)
        own: dict[str, int] = {}
        for label, extent in zip(labels, shape):
            if own.setdefault(label, extent) != extent:
                raise _two_extents(equation, shapes, label, {own[label]: operand, extent: operand})
            seen.setdefault(label, {}).setdefault(extent, operand)
    for label, extents in seen.items():
        if len(set(extents) - {1}) > 1:
            raise _two_extents(equation, shapes, label, {e: i for e, i in extents.items() if e != 1})
    return {label: max(extents, key=lambda e: (e != 1, e)) for label, extents in seen.items()}


def _check_shape(equation: Equation, shape: tuple[int, ...], operand: int) -> None:
    if any(extent < 0 for extent in shape):
        raise ShapeError(f"operand {operand} has a negative extent, shape {shape}\n{caret_lines(equation.text, ())}")
    if math.prod(max(extent, 1) for extent in shape) > MOST_POINTS:
        raise ShapeError(
            f"operand {operand} has more than 2**60 elements, shape {shape}\n{caret_lines(equation.text, ())}"
        )


def _two_extents(
    equation: Equation, shapes: Sequence[tuple[int, ...]], label: str, extents: dict[int, int]
) -> ShapeError:
    note = "; ".join(f"{extent} in operand {i}, shape {shapes[i]}" for extent, i in extents.items())
    name, what = (f"axis {label}", repr(label)) if len(label) == 1 else ("an axis of the ellipsis", "it")
    return ShapeError(
        f"{name} has two extents\n{caret_lines(equation.text, label_places(equation, label), note)}\n"
        f"  Give the operands the same extent on {what}, or 1 to broadcast (not within one operand)."
    )
