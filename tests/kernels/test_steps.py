"""Loops over k: all products once, and no load that moves by what processors take for something else."""

from __future__ import annotations

import random

import pytest

from einloom.kernels.contraction.steps import ASTRAY, WIDER, Steps

FMAS, BODY = (4, 12, 24), 52


@pytest.mark.parametrize("seed", range(20))
def test_loads_go_astray_only_where_no_unrolling_avoids_it(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(50):
        k, fmas, apart = draw.randint(20, 500), draw.choice(FMAS), [draw.randrange(64, 120_000, 4), 4]
        steps = Steps.of(k, fmas, 1, BODY, can_overwrite=True, apart=apart)
        assert steps.rest + steps.trips * steps.unroll == k
        if steps.trips and steps.unroll * apart[0] in ASTRAY:
            assert all(unroll * apart[0] in ASTRAY for unroll in range(1, WIDER + 1))


def test_rows_that_lie_otherwise_keep_their_unrolling() -> None:
    usual = Steps.of(84, 24, 1, BODY, can_overwrite=True)
    assert Steps.of(84, 24, 1, BODY, can_overwrite=True, apart=[336, 4]) == usual
    assert Steps.of(84, 24, 1, BODY, can_overwrite=True, apart=[28_224, 4]) == Steps(4, 20, 4)
    assert Steps.of(84, 24, 1, BODY, can_overwrite=True, apart=[40_000, 4]) == Steps(4, 20, 4)
