"""No bound of a candidate exceeds the time of any implementation below it, on a machine that charges what the model
knows; and each of its numbers matters: with any of them wrong by a factor of two, some bound does."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from einloom.space import H200_RATES, K4000, K4000_RATES, Bound, GpuDevice, GpuModel, Space, gpu
from einloom.space.assignment import Assignment
from tests.space.chain import chain
from tests.space.model.toy import run
from tests.space.model.walks import ENDLESS, every_path, model_of, on, random_paths
from tests.space.test_estimates import copy_space, scale_space
from tests.space.test_leaves import SPACES

ROUNDING = 1 + 1e-9
SMALL = GpuDevice("small", max_threads=4, max_unroll=4)
TWO = replace(K4000_RATES, processors=2, l2_capacity=0)
TINY = {
    "copy": copy_space(),
    "scale": scale_space(),
    "mv": gpu("mv", m=4, n=4, tiles={"m": ()}, device=SMALL),
    "matmul": gpu("matmul", m=2, n=2, k=4, tiles={"m": ()}, device=SMALL),
    "axpy": gpu("axpy", n=5, tiles={"n": ()}, device=SMALL),
}
LARGER = SPACES | {"chain": chain(4, 4, 4, 4, {"m": (2,), "n": (2,)}), "axpy, many threads": gpu("axpy", n=256)}
RATES = {"k4000": TWO, "h200": replace(H200_RATES, processors=3, l2_capacity=64)}


def excesses(path: list[Bound], times: dict[str, float]) -> list[str]:
    """Return the terms of a path's bounds that exceed the time of its leaf."""
    return [name for bound in path for name, term in bound.terms.items() if term > times[name] * ROUNDING]


@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("name", TINY)
def test_every_bound_of_a_tiny_space_is_below_every_leaf(name, rates):
    space, leaves = on(TINY[name], RATES[rates]), 0
    for leaf, (path,) in every_path(space, space.model):
        assert excesses(path, run(leaf, space.device)) == []
        leaves += 1
    assert 50 < leaves <= 10_000


@pytest.mark.parametrize("name", LARGER)
def test_bounds_on_random_paths_are_below_their_leaves(name):
    space, leaves = on(LARGER[name], TWO), 0
    for anywhere in (False, True):
        for leaf, path in random_paths(space, space.model, 6, seed=3, anywhere=anywhere):
            if leaf is not None:
                assert excesses(path, run(leaf, space.device)) == []
                leaves += 1
    assert leaves > 4


SCARCE = {
    "clock": replace(ENDLESS, issue=1, clock=1e6),
    "processors": replace(ENDLESS, issue=1, processors=2),
    "issue": replace(ENDLESS, issue=1),
    "warp_issue": replace(ENDLESS, warp_issue=1),
    "arithmetic_lanes": replace(ENDLESS, arithmetic_lanes=32),
    "memory_lanes": replace(ENDLESS, memory_lanes=32),
    "shared_words": replace(ENDLESS, shared_words=0.01),
    "l2_bytes": replace(ENDLESS, l2_bytes=32),
    "memory_bandwidth": replace(ENDLESS, memory_bandwidth=1e6),
    "l2_capacity": replace(ENDLESS, memory_bandwidth=1e6, l2_capacity=32),
    "max_warps": replace(ENDLESS, processors=1, max_warps=2, cached_latency=9, l2_latency=9),
    "max_blocks": replace(ENDLESS, processors=1, max_blocks=2, cached_latency=9, l2_latency=9),
    "registers": replace(ENDLESS, processors=1, registers=64, cached_latency=9, l2_latency=9),
    "shared_capacity": replace(ENDLESS, processors=1, shared_capacity=16, arithmetic_latency=9),
    "arithmetic_latency": replace(ENDLESS, arithmetic_latency=9),
    "shared_latency": replace(ENDLESS, shared_latency=9),
    "cached_latency": replace(ENDLESS, cached_latency=9),
    "l2_latency": replace(ENDLESS, l2_latency=9),
}
"""For each number of the rates a machine on which that one decides the time."""


def test_there_is_a_machine_for_each_rate():
    """But for products of fragments, which stand for arithmetic in spaces of their own."""
    assert set(SCARCE) == set(K4000_RATES.__dataclass_fields__) - {"fragments"}


def test_caches_that_hold_no_loads_are_found_out():
    """Believing that loads never hit in L1 is wrong where they do: their sectors are charged to L2."""
    space = on(copy_space(), SCARCE["l2_bytes"], caches_loads=True)
    wrong = GpuModel(space.problem, space.backbone, replace(space.device, caches_loads=False), SCARCE["l2_bytes"])
    found = 0
    for leaf, (path, wrong_path) in every_path(space, space.model, wrong):
        time = max(run(leaf, space.device).values())
        assert max(bound.seconds for bound in path) <= time * ROUNDING
        found += max(bound.seconds for bound in wrong_path) > time * ROUNDING
    assert found


@pytest.mark.parametrize("rate", SCARCE)
def test_half_a_rate_is_found_out(rate):
    rates = SCARCE[rate]
    needs_more = rate.startswith(("shared", "arithmetic"))
    space = on(scale_space() if needs_more else copy_space(), rates, caches_loads=True)
    factor = 2 if rate.endswith("latency") else 0.5
    wrong = model_of(space, replace(rates, **{rate: getattr(rates, rate) * factor}))
    found = 0
    for leaf, (path, wrong_path) in every_path(space, space.model, wrong):
        time = max(run(leaf, space.device).values())
        assert max(bound.seconds for bound in path) <= time * ROUNDING
        found += max(bound.seconds for bound in wrong_path) > time * ROUNDING
    assert found


def test_bounds_are_tight_where_decisions_are_taken():
    """A leaf's bound is not far below its time: on average above four fifths, and never below a third."""
    space = on(SPACES["matmul"], TWO)
    shares = []
    for leaf, path in random_paths(space, space.model, 30, seed=5):
        if leaf is not None:
            shares.append(path[-1].seconds / max(run(leaf, space.device).values()))
    assert min(shares) > 0.33 and sum(shares) / len(shares) > 0.8


@pytest.mark.parametrize(
    ("space", "paths"),
    [
        (gpu("axpy", n=2**26), 60),
        (gpu("matmul", m=1024, n=1024, k=1024), 12),
        (gpu("matmul", m=127, n=131, k=113, device="h200"), 12),
        (gpu("gesummv", m=64, n=64), 10),
        (chain(64, 64, 64, 64, {"m": (32,), "n": (4,), "p": (8,)}, K4000), 8),
    ],
    ids=repr,
)
@pytest.mark.parametrize("anywhere", [False, True])
def test_bounds_grow_from_decision_to_decision(space: Space, paths: int, anywhere: bool):
    for _, path in random_paths(space, space.model, paths, seed=8, anywhere=anywhere):
        for before, after in pairwise(path):
            assert all(after.terms[name] * ROUNDING >= term for name, term in before.terms.items())


def test_the_time_of_a_leaf_is_that_of_its_nest():
    """The machine itself: hand-counted figures of a sum of two vectors of four elements in one thread."""
    space = on(TINY["axpy"], replace(ENDLESS, issue=1, arithmetic_latency=10, l2_latency=100, processors=1))
    leaf = next(
        leaf
        for leaf, _ in every_path(space, space.model)
        if leaf.kind("n.0") == "LOOP" and leaf.value("cache", "load_x") == leaf.value("cache", "load_y") == "NONE"
    )
    times = run(Assignment(space.backbone, leaf.decisions), space.device)
    assert times["issue"] == pytest.approx(5 * 4 / 1e9)
    assert times["latency"] == pytest.approx(5 * (100 + 10) / 1e9)
