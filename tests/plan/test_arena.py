"""Intermediate tensors share memory where they never meet, and only there."""

from __future__ import annotations

import random

import numpy as np
import opt_einsum
import pytest
from opt_einsum.testing import rand_equation

import einloom as el
from einloom.plan.arena import Life, plan_arena


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
