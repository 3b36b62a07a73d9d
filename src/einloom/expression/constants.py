"""`with_constants`: an expression some of whose operands stay the same: they are contracted once and left out of calls.

>>> A, B, C = np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 5))
>>> f = with_constants("ab,bc,cd->ad", [A.shape, B.shape, C.shape], "float64", [None] * 3, {1: B, 2: C})
>>> f.shapes, f(A)[0, 0]
([(2, 3)], 12.0)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import index
from typing import Any

import numpy as np

from einloom.arrays.library import Array, Imported, element_strides, incoming
from einloom.dtypes import DTYPES, FLOAT32, FLOAT64, Kind
from einloom.errors import ArgumentError, ShapeError
from einloom.expression.expression import Expression
from einloom.expression.options import DEFAULTS, Options
from einloom.expression.planned import asked_path
from einloom.expression.types import numpy_type
from einloom.frameworks import framework_of
from einloom.jit.host import host
from einloom.plan.constants import Fold, fold_constants
from einloom.plan.cuts import largest_of
from einloom.plan.equation import label_symbols
from einloom.plan.finish import Finish
from einloom.plan.layouts import operand_layout
from einloom.plan.problem import Problem, make_problem

__all__ = ["with_constants"]

Shape = tuple[int, ...]


def with_constants(
    equation: str,
    shapes: Sequence[Shape],
    dtype: object,
    strides: Sequence[Shape | None],
    constants: Mapping[int, Any],
    options: Options = DEFAULTS,
    types: Sequence[str] | None = None,
) -> Expression:
    """Return the expression of the other operands; arguments as for `Expression`, for all operands.

    Args:
        constants: arrays by the position of the operands that they are.

    Raises:
        ArgumentError, ShapeError: a position that is none, or an array of another shape.
    """
    label, _ = numpy_type(dtype)
    problem = make_problem(equation, shapes, strides, DTYPES.get(label, FLOAT64), options.finish)
    given = _checked(problem, constants)
    path, slicing = asked_path(problem, options.optimize, options.memory_limit)
    options = replace(options, optimize=path, memory_limit=None if slicing is None else largest_of(slicing))
    count, conj = len(problem.equation.inputs), options.finish.conj
    folding = fold_constants(path, count, set(given))
    free = [number for number in range(count) if number not in given]
    outside = [{*problem.equation.output}, *({*problem.equation.inputs[number]} for number in free)]
    folded = [_Folded(problem, fold, outside, folding.folds) for fold in folding.folds]
    held = [each.contracted(given, dtype, options) for each in folded]
    terms = [problem.equation.inputs[number] for number in free] + [each.labels for each in folded]
    names = _names(problem)
    text = _text([*terms, problem.equation.output], names)
    behind = slice(count, None)
    all_types = [*(types or [label] * len(shapes))]
    finish = replace(_renamed(problem.finish, names), conj=tuple(map(free.index, set(conj) & set(free))))
    left = [*(shapes[number] for number in free), *(each.array.shape for each in held), *shapes[behind]]
    own = [*(strides[number] for number in free), *([None] * len(held)), *strides[behind]]
    left_types = [*(all_types[number] for number in free), *(each.dtype for each in held), *all_types[behind]]
    arrays = [each.array for each in held]
    if _has_own_code(left_types, options):
        rest = make_problem(text, left, own, DTYPES[label], finish)
        for place, array in enumerate(arrays):
            order = operand_layout(rest, folding.path, len(free) + place, host())
            arrays[place] = _laid_out(array, order)
            own[len(free) + place] = element_strides(arrays[place])
    how = replace(options, optimize=folding.path, finish=finish)
    return Expression(text, left, dtype, own, how, left_types, tuple(arrays))


def _has_own_code(types: Sequence[str], options: Options) -> bool:
    """Whether all operands are of one type of floats, which code on this host reads as it is."""
    return options.target == "cpu" and len(set(types)) == 1 and types[0] in (FLOAT32.name, FLOAT64.name)


def _laid_out(array: Array, order: Sequence[int]) -> Array:
    """Return the array with its axes in this order in memory."""
    return array if [*order] == sorted(order) else array.transpose(order).copy().transpose(np.argsort(order))


class _Folded:
    """A fold: the labels of what it gives, and how it is contracted."""

    def __init__(self, problem: Problem, fold: Fold, outside: list[set[str]], folds: Sequence[Fold]) -> None:
        self._problem, self._fold = problem, fold
        inputs = problem.equation.inputs
        others = [number for other in folds if other is not fold for number in other.operands]
        needed = set[str]().union(*outside, *(inputs[number] for number in others))
        self._terms = [inputs[number] for number in fold.operands]
        known = dict.fromkeys(label for term in self._terms for label in term)
        self.labels = tuple(label for label in known if label in needed)

    def contracted(self, given: Mapping[int, Imported], dtype: object, options: Options) -> Imported:
        """Return the result, an array of its own."""
        numbers = self._fold.operands
        arrays = [given[number] for number in numbers]
        conj = tuple(place for place, number in enumerate(numbers) if number in options.finish.conj)
        shapes = [self._problem.shapes[number] for number in numbers]
        finish = replace(DEFAULTS.finish, conj=conj)
        own = replace(options, optimize=self._fold.path, schedule=None, finish=finish)
        text = _text([*self._terms, self.labels], _names(self._problem))
        result = Expression(text, shapes, self._type(dtype), None, own)(*arrays)
        label, _ = numpy_type(self._type(dtype))  # Of bfloat16 NumPy has the bits alone.
        return Imported(np.asarray(result), label)

    def _type(self, dtype: object) -> object:
        """The type of the result: what is summed stays as wide as it is summed."""
        found = DTYPES.get(numpy_type(dtype)[0])
        is_kept = len(self._terms) == 1 and set(self._terms[0]) == set(self.labels)
        return dtype if found is None or is_kept or found.kind is not Kind.FLOAT else found.accumulate.name


def _names(problem: Problem) -> dict[str, str]:
    """Return a letter for every label: its own, unless it belongs to an ellipsis."""
    labels = problem.sizes
    letters = (symbol for symbol in label_symbols(2 * len(labels)) if symbol not in labels)
    return {label: label if len(label) == 1 else next(letters) for label in labels}


def _renamed(finish: Finish, names: Mapping[str, str]) -> Finish:
    operators = [
        each if each.labels is None else replace(each, labels=tuple(names[label] for label in each.labels))
        for each in finish.epilogue
    ]
    return replace(finish, epilogue=tuple(operators))


def _text(terms: Sequence[Sequence[str]], names: Mapping[str, str]) -> str:
    """Return the equation of these terms, the last one that of the output."""
    *inputs, output = ("".join(names[label] for label in term) for term in terms)
    return f"{','.join(inputs)}->{output}"


def _checked(problem: Problem, constants: Mapping[int, Any]) -> dict[int, Imported]:
    """Return the constants by position, as integers.

    Raises:
        ArgumentError, ShapeError: as `with_constants`.
    """
    text, count = problem.equation.text, len(problem.equation.inputs)
    found: dict[int, Imported] = {}
    given: Any = constants
    if not isinstance(given, Mapping):
        raise ArgumentError(f"constants is a {type(given).__name__}\n  Give arrays by position, as in {{1: B}}.")
    for position, array in constants.items():
        try:
            number = index(position)
        except TypeError:
            number = -1
        if not 0 <= number < count:
            raise ArgumentError(f"constants names operand {position!r:.80}; there are 0 to {count - 1}\n  {text}")
        name = f"constant {number}"
        framework = framework_of([array])
        found[number] = incoming(array if framework is None else framework.held(array, name), name)
        shape = found[number].array.shape
        if shape != problem.shapes[number]:
            raise ShapeError(
                f"the constant for operand {number} has shape {shape}, the operand {problem.shapes[number]}\n  {text}"
            )
    if len(found) == count:
        raise ArgumentError(f"every operand is a constant\n  {text}\n  Compute the result once, with einsum.")
    return found
