"""What a cut leaves, measured by one set of descents, beside exact counts."""

from __future__ import annotations

from math import inf

import pytest

from einloom.space import estimate
from einloom.space.cutting import descents, nodes_left, share_left
from tests.space.model.test_cuts import scale, times_and_bounds


def test_shares_of_leaves_and_nodes_are_near_the_exact_ones() -> None:
    levels = 6
    cut = sorted(bound for _, bound in times_and_bounds())[len(times_and_bounds()) // 2]
    whole, left = estimate(scale(), "exact"), estimate(scale(), "exact", cut=cut, cut_levels=levels)
    assert 0 < left.size < whole.size
    found = descents(scale(), 600, seed=3, levels=levels)
    share, (low, high) = share_left(found, levels, cut)
    assert low <= share <= high
    exact = left.size / whole.size
    assert share + 2 * (low - share) <= exact <= share + 2 * (high - share), "four standard errors"
    assert nodes_left(found, levels) == pytest.approx(whole.nodes_per_depth[levels], rel=0.2)
    assert nodes_left(found, levels, cut) == pytest.approx(left.nodes_per_depth[levels], rel=0.3)


def test_cuts_of_nothing_and_of_everything() -> None:
    found = descents(scale(), 20, seed=1)
    assert share_left(found, 10, inf) == (1.0, (1.0, 1.0))
    assert share_left(found, 10, 1e-12) == (0.0, (0.0, 0.0))
    assert nodes_left(descents(scale(), 20, seed=1, levels=4, whole=False), 4) == nodes_left(found, 4)
