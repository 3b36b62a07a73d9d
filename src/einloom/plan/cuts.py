"""`limited_path`: a contraction whose intermediate tensors have at most so many elements: a path, and where it is cut.

A tree that has been sliced already says itself where.

The cuts are chosen greedily: of the labels of tensors that are too large that one is cut next whose pieces cost the
least arithmetic more for what they take off these tensors.

>>> from einloom.plan.problem import make_problem
>>> problem = make_problem("ab,bc,cd->ad", [(4, 6), (6, 8), (8, 5)], [None] * 3, "float32")
>>> cuts_of(problem, ((0, 1), (0, 1)), 16)
(Cut(label='a', extent=4, step=2),)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from einloom.dtypes import FLOAT64
from einloom.errors import ShapeError
from einloom.frozen import frozen
from einloom.ir.operation import DimType
from einloom.plan.finish import PLAIN
from einloom.plan.paths import Path, contraction_path, element_limit, is_strategy, sliced_labels, tree_of
from einloom.plan.problem import Problem
from einloom.plan.slices import Cut, Slicing
from einloom.plan.steps import plan_problem

__all__ = ["cuts_for", "cuts_of", "largest_of", "limited_path"]

Labels = tuple[str, ...]

LEAST_PIECE = 16
"""Indices in a piece of a label that is cut for the sake of those who share the slices."""

SHORT = 32
"""Indices in a piece along which code takes twice the time for each: registers and blocks are not filled."""

ADDED = 1.25
"""How much rather a label of the result is cut than one that is summed: its slices need not be added up."""

LEAST_POINTS = 2**16
"""Points that such a slice walks at least: some tens of microseconds."""

POINTS = 2**27
"""Points that such a slice walks at most, some ten milliseconds, unless there are `MOST_SLICES` of them."""

MOST_SLICES = 2**14


def limited_path(problem: Problem, optimize: Any, memory_limit: Any) -> tuple[Path, Slicing | None]:
    """Return the path that `optimize` stands for, and its slices if a limit asks for them, or without one a tree.

    A strategy is asked twice, with and without the limit; the one with less arithmetic over all slices is taken.

    Raises:
        EquationError, PathError: as `contraction_path`.
    """
    limit, tree = element_limit(problem, optimize, memory_limit), tree_of(problem, optimize)
    path = contraction_path(problem, optimize if tree is None else tree)
    if 0 in problem.sizes.values():
        return path, None
    if limit is None:
        cuts = () if tree is None else _cuts(problem, problem.sizes | dict.fromkeys(sliced_labels(problem, tree), 1))
        return path, Slicing(problem, path, cuts) if cuts else None
    found = [_Cutting.of(problem, path, limit)]
    if is_strategy(optimize) and len(path) > 1 and found[0].cuts:
        with suppress(ShapeError):  # A strategy may contract all at once what no pair of tensors fits the limit with.
            found.append(_Cutting.of(problem, contraction_path(problem, optimize, limit), limit))
    chosen = min(found, key=lambda cutting: cutting.points)
    slicing = Slicing(problem, chosen.path, chosen.cuts)
    return chosen.path, slicing if chosen.cuts else None


def cuts_of(problem: Problem, path: Path, limit: int) -> tuple[Cut, ...]:
    """Return where to cut so that no intermediate tensor has more than `limit` elements."""
    return _Cutting.of(problem, path, limit).cuts


def largest_of(slicing: Slicing) -> int:
    """Return how many elements the largest intermediate tensor of a slice has; 1 if there is none."""
    extents = slicing.problem.sizes | {cut.label: cut.step for cut in slicing.cuts}
    made = [labels for _, labels in _labels_of_steps(slicing.problem, slicing.path)[:-1]]
    return max((math.prod(extents[x] for x in labels) for labels in made), default=1)


def cuts_for(problem: Problem, path: Path, count: int, cuts: Sequence[Cut] = ()) -> tuple[Cut, ...]:
    """Return cuts into `count` slices and more, for whoever shares them; none if that is not worth it.

    `cuts` are there already.

    Labels are halved, that one first which costs least arithmetic more; of equal ones those of the result, and the
    longest pieces. How many share the slices plays no part: the cuts decide the bits.
    """
    if 0 in problem.sizes.values():
        return ()
    extents = problem.sizes | {cut.label: cut.step for cut in cuts}
    walked = [names for names, _ in _labels_of_steps(problem, path)]
    most = max(count, min(int(_points(walked, extents) * _count(problem, extents)) // POINTS, MOST_SLICES))
    while _count(problem, extents) < most:
        points = _points(walked, extents)
        found = [(x, _points(walked, extents | {x: -(-n // 2)})) for x, n in extents.items() if n >= 2 * LEAST_PIECE]
        if not found or points * _count(problem, extents) < count * LEAST_POINTS:
            break
        added = {x: 1.0 if x in problem.equation.output else ADDED for x in extents}
        costs = [(cost * added[x] * (1 + 2 * SHORT / extents[x]), -extents[x], x) for x, cost in found]
        _, _, label = min(costs)
        extents[label] = -(-extents[label] // 2)
    return _cuts(problem, extents)


def _count(problem: Problem, extents: dict[str, int]) -> int:
    """Return how many slices there are."""
    return math.prod(-(-n // extents[x]) for x, n in problem.sizes.items())


def _points(walked: Sequence[Labels], extents: dict[str, int]) -> float:
    return sum(math.prod(extents[x] for x in names) for names in walked)


def _cuts(problem: Problem, extents: dict[str, int]) -> tuple[Cut, ...]:
    """Return the cuts that leave these extents; those of labels that the result has come first."""
    cuts = [Cut(label, problem.sizes[label], n) for label, n in extents.items() if n < problem.sizes[label]]
    return tuple(sorted(cuts, key=lambda cut: cut.label not in problem.equation.output))


@frozen
class _Cutting:
    """A path and its cuts, and how many points all steps of all slices walk."""

    path: Path
    cuts: tuple[Cut, ...]
    points: float

    @classmethod
    def of(cls, problem: Problem, path: Path, limit: int) -> _Cutting:
        steps = _labels_of_steps(problem, path)
        extents, made = dict(problem.sizes), [made for _, made in steps[:-1]]
        while large := [labels for labels in made if math.prod(extents[x] for x in labels) > limit]:
            label, extent = _next_cut(extents, [walked for walked, _ in steps], large, limit)
            extents[label] = extent
        cuts = _cuts(problem, extents)
        points = math.prod(cut.count for cut in cuts) * _points([labels for labels, _ in steps], extents)
        return cls(path, cuts, points)


def _labels_of_steps(problem: Problem, path: Path) -> list[tuple[Labels, Labels]]:
    """Return for every step the labels that it walks and those of what it makes."""
    inputs = len(problem.equation.inputs)
    plain = replace(
        problem,
        dtype=FLOAT64,
        types=(),
        finish=PLAIN,
        shapes=problem.shapes[:inputs],
        strides=problem.strides[:inputs],
    )
    operations = [step.operation for step in plan_problem(plain, None, path).steps]
    return [(o.names, tuple(axis.name for axis in o.axes if axis.role is not DimType.K)) for o in operations]


def _next_cut(
    extents: dict[str, int], walked: Sequence[Labels], large: Sequence[Labels], limit: int
) -> tuple[str, int]:
    """Return the label to cut next, and the length of its pieces."""
    labels = [label for label in dict.fromkeys(x for made in large for x in made) if extents[label] > 1]
    lengths = [_length(label, extents, large, limit) for label in labels]
    factors = np.log([-(-extents[label] // length) for label, length in zip(labels, lengths)])
    taken = factors * [sum(label in made for made in large) for label in labels]
    # A step without the label is done once for every piece.
    repeated = np.array([[label not in names for names in walked] for label in labels])
    sizes = np.array([float(math.prod(extents[x] for x in names)) for names in walked])
    growth = np.log1p((repeated * np.expm1(factors)[:, None]) @ sizes / sizes.sum())
    best = min(range(len(labels)), key=lambda i: (growth[i] / taken[i], -taken[i]))
    return labels[best], lengths[best]


def _length(label: str, extents: dict[str, int], large: Sequence[Labels], limit: int) -> int:
    """Return the length of equal pieces, as long as the tensors with the label are small enough then; else 1."""
    others = max(math.prod(extents[x] for x in made if x != label) for made in large if label in made)
    longest = max(min(limit // others, extents[label]), 1)
    return -(-extents[label] // -(-extents[label] // longest))
