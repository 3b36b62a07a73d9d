"""Slices as values: what they read, how they join, and that no tensor between their steps is too large."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from einloom.plan.cuts import limited_path
from einloom.plan.problem import make_problem
from einloom.plan.shares import shared_runs
from einloom.plan.slices import Cut, Slicing, additions, additions_behind, heights
from einloom.plan.steps import plan_problem

from ..einsum.networks import random_network


@pytest.mark.parametrize("seed", range(40))
def test_intermediates_keep_the_limit(seed: int) -> None:
    rng = random.Random(seed)
    equation, shapes = random_network(rng, most=rng.randint(3, 8))
    problem = make_problem(equation, shapes, [None] * len(shapes), "float64")
    limit = rng.choice((1, 4, 30, 200))
    path, slicing = limited_path(problem, rng.choice(("auto", "greedy", None)), limit)
    parts = [problem] if slicing is None else [slicing.part(lengths) for lengths, _ in slicing.kinds]
    for part in parts:
        for step in plan_problem(part, None, path).steps[:-1]:
            assert math.prod(step.shape) <= limit, equation


@pytest.mark.parametrize("seed", range(40))
def test_slices_joined_by_hand_are_the_whole(seed: int) -> None:
    """NumPy computes every slice on its views; placed side by side and added along the tree they are the result."""
    rng = random.Random(seed)
    equation, shapes = next(each for each in iter(lambda: random_network(rng, most=4), None) if any(each[1]))
    problem = make_problem(equation, shapes, [None] * len(shapes), "float64")
    labels = rng.sample(sorted(problem.sizes), min(len(problem.sizes), 2))
    cuts = [Cut(label, problem.sizes[label], rng.randint(1, problem.sizes[label])) for label in labels]
    cuts.sort(key=lambda cut: cut.label not in problem.equation.output)
    slicing = Slicing(problem, ((0, 1),), tuple(cuts))
    operands = [np.random.default_rng(seed).integers(-4, 5, shape).astype(float) for shape in shapes]
    result = np.full(problem.output_shape, np.nan)
    for place in range(slicing.places):
        first = place * slicing.leaves
        numbers = range(first, first + slicing.leaves)
        sums = [np.array(np.einsum(equation, *slicing.views(number, operands))) for number in numbers]
        for into, other in additions(slicing.leaves):
            sums[into] += sums[other]
        *_, part = slicing.views(first, [*operands, result])
        assert slicing.part(tuple(slicing.lengths(slicing.indices(np.array([first])))[0])).output_shape == part.shape
        part[...] = sums[0]
    assert np.array_equal(result, np.einsum(equation, *operands))
    assert sum(count for _, count in slicing.kinds) == len(slicing)


def test_a_limit_that_no_pair_of_tensors_fits() -> None:
    """A strategy that is told of it contracts all the rest at once, in more steps than can be counted."""
    size = 5
    edges = [((i, j), (i + a, j + b)) for i in range(size) for j in range(size) for a, b in ((0, 1), (1, 0))]
    label = {edge: chr(192 + n) for n, edge in enumerate(e for e in edges if max(e[1]) < size)}
    terms = ["".join(x for edge, x in label.items() if (i, j) in edge) for i in range(size) for j in range(size)]
    shapes = [(16,) * len(term) for term in terms]
    problem = make_problem(f"{','.join(terms)}->", shapes, [None] * len(terms), "float32")
    path, slicing = limited_path(problem, "auto", 2**14)
    assert len(path) == len(terms) - 1 and slicing is not None and len(slicing) > 1


@pytest.mark.parametrize("leaves", range(1, 40))
def test_a_stack_adds_along_the_tree(leaves: int) -> None:
    stack: list[int] = []
    made: set[tuple[int, int]] = set()
    every = np.arange(leaves)
    for leaf, height, behind in zip(every, heights(every), additions_behind(every, np.array(leaves))):
        assert len(stack) == height
        stack.append(int(leaf))
        for _ in range(behind):
            other = stack.pop()
            made.add((stack[-1], other))
    assert stack == [0]
    assert made == set(additions(leaves))


@pytest.mark.parametrize("seed", range(60))
def test_threads_share_all_slices(seed: int) -> None:
    """Every slice once; what threads leave are whole nodes of the tree of sums, numbered without a gap."""
    rng = random.Random(seed)
    sizes = {"a": rng.randint(1, 9), "b": rng.randint(2, 300)}
    problem = make_problem("ab,b->a", [(sizes["a"], sizes["b"]), (sizes["b"],)], [None] * 2, "float64")
    slicing = Slicing(problem, ((0, 1),), tuple(Cut(label, size, 1) for label, size in sizes.items()))
    runs = [run for share in shared_runs(slicing, rng.randint(1, 8)) for run in share]
    assert [n for run in runs for n in range(run.start, run.stop)] == list(range(len(slicing)))
    assert [run.sums for run in runs if run.sums] == list(range(1, 1 + sum(run.sums > 0 for run in runs)))
    nodes = {(0, slicing.leaves), *_nodes(0, slicing.leaves)}
    for run in runs:
        if run.sums:
            assert (run.start % slicing.leaves, run.stop - run.start) in nodes
        else:
            assert run.start % slicing.leaves == run.stop % slicing.leaves == 0


def _nodes(first: int, count: int) -> set[tuple[int, int]]:
    if count == 1:
        return {(first, 1)}
    half = next(into_other[1] for into_other in reversed(additions(count)))
    return {(first, count)} | _nodes(first, half) | _nodes(first + half, count - half)
