"""Trees without what a bound cuts: nothing faster than the cut is lost, and what is left is counted the same way."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import inf

import pytest

from einloom.errors import ScheduleError
from einloom.space import K4000_RATES, Space, estimate, gpu, nodes_at_depth
from tests.space.model.toy import run
from tests.space.model.walks import every_path, on
from tests.space.test_estimates import scale_space

DEEP = 1000


@cache
def scale() -> Space:
    return on(scale_space(), replace(K4000_RATES, processors=2))


@cache
def times_and_bounds() -> list[tuple[float, float]]:
    """Return the time of every leaf and the largest bound above it."""
    space = scale()
    return [
        (max(run(leaf, space.device).values()), max(bound.seconds for bound in path))
        for leaf, (path,) in every_path(space, space.model)
    ]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_a_cut_keeps_everything_faster(share):
    times = sorted(time for time, _ in times_and_bounds())
    cut = times[int(share * (len(times) - 1))] * (1 + 1e-9)
    left = estimate(scale(), "exact", cut=cut, cut_levels=DEEP).size
    assert left == sum(bound < cut for _, bound in times_and_bounds())
    assert sum(time < cut for time in times) <= left < len(times)


def test_no_cut_and_a_cut_of_nothing():
    whole = estimate(scale(), "exact").size
    assert whole == len(times_and_bounds()) == estimate(scale(), "exact", cut=inf, cut_levels=DEEP).size
    assert (
        estimate(scale(), "exact", cut=1e-12).size == 0
        and estimate(scale(), "exact", cut=1.0, cut_levels=0).size == whole
    )


def test_estimators_count_what_is_left():
    cut = sorted(bound for _, bound in times_and_bounds())[len(times_and_bounds()) // 2]
    exact = estimate(scale(), "exact", cut=cut, cut_levels=DEEP)
    for method, samples in (("knuth", 600), ("chen", 30)):
        found = estimate(scale(), method, samples, seed=1, cut=cut, cut_levels=DEEP)
        low, high = (found.size + 2 * (end - found.size) for end in found.interval)
        assert low <= exact.size <= high, "four standard errors"
        assert abs(found.dead_ends - exact.dead_ends) <= 2 * found.dead_ends_half + 0.02


def test_the_papers_times_cut_much_of_a_sum_of_vectors():
    """Table 3's threshold on the paper's GPU: 7.05 ms leaves an eighth of the nodes after six decisions."""
    space = gpu("axpy", n=2**26)
    assert nodes_at_depth(space, 5, cut=7.05e-3) <= 0.3 * nodes_at_depth(space, 5)


@pytest.mark.parametrize(("cut", "levels"), [(0.0, 1), (-1.0, 1), (float("nan"), 1), (1.0, -1)])
def test_cuts_that_mean_nothing_are_refused(cut, levels):
    with pytest.raises(ScheduleError, match="seconds above 0"):
        estimate(scale(), "exact", cut=cut, cut_levels=levels)
