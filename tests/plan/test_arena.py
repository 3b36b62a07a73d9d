"""Intermediate tensors share memory where they never meet, and only there."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import opt_einsum
import pytest
from opt_einsum.testing import rand_equation

import einloom as el
from einloom.expression.planned import planned
from einloom.machine import AVX512
from einloom.plan.arena import Life, plan_arena
from einloom.plan.lanes import in_lanes
from einloom.plan.problem import make_problem
from einloom.plan.steps import Plan
from tests.plan.test_order import random_plan

TREES = json.loads((Path(__file__).parents[2] / "benchmarks/cases/trees.json").read_text())["cases"]


@pytest.mark.parametrize("seed", range(50))
def test_tensors_that_meet_share_no_byte(seed: int) -> None:
    rng = random.Random(seed)
    written = [rng.randrange(30) for _ in range(rng.randint(0, 25))]
    lives = [Life(rng.choice((0, 1, 64, 100, rng.randrange(10_000))), w, w + rng.randrange(8)) for w in written]
    arena = plan_arena(lives)
    ends = [place + life.size for place, life in zip(arena.places, lives)]
    assert arena.size >= max(ends, default=0)
    assert all(place % 64 == 0 and place >= 0 for place in arena.places)
    for i, one in enumerate(lives):
        for j, other in enumerate(lives[:i]):
            if one.written <= other.read and other.written <= one.read:
                assert ends[i] <= arena.places[j] or ends[j] <= arena.places[i] or 0 in (one.size, other.size)
    most = max((sum(-(-x.size // 64) * 64 for x in lives if x.written <= t <= x.read) for t in range(40)), default=0)
    assert arena.size >= most


def test_a_chain_keeps_two_tensors() -> None:
    shapes = [(40, 40)] * 12
    equation = ",".join("abcdefghijklm"[i : i + 2] for i in range(12)) + "->am"
    path = [(0, 1)] + [(0, len(shapes) - 2 - i) for i in range(10)]
    assert len(el.compile(equation, *shapes, optimize=path)._plan.steps) == 11
    assert el.compile(equation, *shapes, optimize=path)._plan.arena.size == 2 * 40 * 40 * 8


@pytest.mark.parametrize("seed", range(20))
def test_random_trees_equal_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    equation, shapes = rand_equation(int(rng.integers(3, 20)), 3, n_out=2, d_max=5, seed=seed)[:2]
    operands = [rng.random(shape) - 0.5 for shape in shapes]
    expression = el.compile(equation, *operands, threads=1)
    expected = opt_einsum.contract(equation, *operands)
    for _ in range(3):  # Python, then the generated entry.
        np.testing.assert_allclose(expression(*operands), expected, rtol=1e-10, atol=1e-13)


def tree(case: dict[str, Any]) -> Plan:
    terms = case["equation"].split("->")[0].split(",")
    shapes = [tuple(case["sizes"][label] for label in term) for term in terms]
    problem = make_problem(case["equation"], shapes, [None] * len(terms), "float32")
    return planned(problem, None, tuple(map(tuple, case["path"])), AVX512)


def least_memory(plan: Plan) -> int:
    """The two largest intermediate tensors, or those of one step where it needs more: two inputs and its result."""
    sizes = {plan.given + place: -(-step.bytes // 64) * 64 for place, step in enumerate(plan.steps[:-1])}
    of_steps = [{*step.inputs, plan.given + place} for place, step in enumerate(plan.steps)]
    needed = max(sum(sizes.get(number, 0) for number in tensors) for tensors in of_steps)
    return max(needed, sum(sorted(sizes.values())[-2:]))


@pytest.mark.parametrize("case", TREES, ids=lambda case: case["name"])
def test_trees_take_the_two_largest_tensors_and_what_a_step_joins(case: dict[str, Any]) -> None:
    plan = tree(case)
    assert plan.arena.size <= least_memory(plan)
    for threads in (2, 4):
        assert in_lanes(plan, threads, AVX512.l2).arena.size <= least_memory(plan) + AVX512.l2


def test_only_two_subtrees_that_meet_take_more_than_the_two_largest() -> None:
    larger = {case["name"] for case in TREES if tree(case).arena.size > two_largest(tree(case))}
    assert larger == {"trn"}  # Its last step but one joins 9.8 MB and 2.4 MB into another tensor, of 0.94 MB.


def two_largest(plan: Plan) -> int:
    return sum(sorted(-(-step.bytes // 64) * 64 for step in plan.steps[:-1])[-2:])


def test_lanes_take_the_two_largest_tensors_or_a_cache_more() -> None:
    grown, refused = 0, 0
    for seed in range(300):
        plan = random_plan(seed, extents=(8, 20, 40))
        for cache in (2**12, AVX512.l2):
            lanes = in_lanes(plan, 2 + seed % 3, cache)
            assert lanes.arena.size <= max(two_largest(plan), plan.arena.size + cache)
            grown += lanes.arena.size > max(two_largest(plan), plan.arena.size)
            refused += not lanes.lanes and bool(in_lanes(plan, 2 + seed % 3, 2**40).lanes)
    assert grown and refused
