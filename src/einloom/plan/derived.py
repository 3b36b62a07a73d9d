"""Equations that follow from an equation: the gradient of an operand, and many evaluations as one. Shapes decide alone.

>>> gradient_of("ab,bc->ac", ((2, 3), (3, 4)), 0).equation
'ac,bc->ab'
>>> batched("ab,bc->ac", (2, 2), (0, None))
'Aab,bc->Aac'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from einloom.frozen import frozen
from einloom.plan.equation import Equation, label_symbols, parse_equation

__all__ = ["Gradient", "batched", "gradient_of"]


@frozen
class Gradient:
    """An einsum whose result, in another shape, is the gradient of an operand.

    Attributes:
        equation: of the gradient of the result, then other operands, then vectors of ones, then identity matrices.
        others: the positions of those operands.
        ones: the lengths of those vectors: along these axes the gradient is the same everywhere.
        identities: the extents of those matrices: outside of these diagonals the gradient is zero.
        conj: which of all these are conjugated, if the numbers are complex.
        shape: of the operand.
    """

    equation: str
    others: tuple[int, ...]
    ones: tuple[int, ...]
    identities: tuple[int, ...]
    conj: tuple[int, ...]
    shape: tuple[int, ...]


def gradient_of(text: str, shapes: tuple[tuple[int, ...], ...], position: int, conj: tuple[int, ...] = ()) -> Gradient:
    """Return the einsum that gives the gradient of an operand.

    The result is linear in every operand, so the gradient is that of the result times all other operands. A label that
    stands twice in the operand is a diagonal there; an axis that no other factor has was summed alone; along an axis of
    extent 1 that was broadcast the gradient is a sum.

    Args:
        text: the equation.
        shapes: of all operands.
        position: of the operand.
        conj: the positions of operands that the equation conjugates.
    """
    terms, output, fresh = _lettered(parse_equation(text, tuple(map(len, shapes))))
    extents = _extents(terms, shapes)
    others = tuple(place for place in range(len(terms)) if place != position)
    there = set(output) | {
        label for i in others for label, extent in zip(terms[i], shapes[i]) if extent == extents[label]
    }
    factors = [output, *(terms[i] for i in others)]
    result: list[str] = []
    diagonals: list[str] = []
    for label, extent in zip(terms[position], shapes[position]):
        if extent == extents[label]:
            again = label in result
            result.append(next(fresh) if again else label)
            diagonals += [label + result[-1]] * again
    alone = [label for label in result if label in extents and label not in there and label not in "".join(diagonals)]
    equation = f"{','.join(map(''.join, [*factors, *alone, *diagonals]))}->{''.join(result)}"
    own = position in conj
    turned = (0,) * own + tuple(i + 1 for i, place in enumerate(others) if (place in conj) == own)
    ones, identities = (tuple(extents[each[0]] for each in given) for given in (alone, diagonals))
    return Gradient(equation, others, ones, identities, turned, tuple(shapes[position]))


def batched(text: str, ranks: Sequence[int], axes: Sequence[int | None]) -> str:
    """Return the equation that does at once what many evaluations do, whose results it stacks along a first axis.

    Args:
        text: the equation of one evaluation.
        ranks: how many axes its operands have.
        axes: the axis along which an operand holds those of all evaluations; None for one that all share.
    """
    terms, output, fresh = _lettered(parse_equation(text, tuple(ranks)))
    label = next(fresh)
    for term, axis in zip(terms, axes):
        if axis is not None:
            term.insert(axis, label)
    return f"{','.join(map(''.join, terms))}->{label}{''.join(output)}"


def _lettered(equation: Equation) -> tuple[list[list[str]], list[str], Iterator[str]]:
    """Return the labels of operands and result, a character each also for an ellipsis, and characters that are free."""
    used = {label for term in equation.inputs for label in term}
    fresh = (symbol for symbol in label_symbols(2 * len(used) + 53) if symbol not in used)
    letters = {label: label if len(label) == 1 else next(fresh) for label in sorted(used)}
    terms = [[letters[label] for label in term] for term in equation.inputs]
    return terms, [letters[label] for label in equation.output], fresh


def _extents(terms: Sequence[Sequence[str]], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """Return the extent of every label: 1 gives way to others."""
    extents: dict[str, int] = {}
    for term, shape in zip(terms, shapes):
        for label, extent in zip(term, shape):
            if extents.get(label, 1) == 1:
                extents[label] = extent
    return extents
