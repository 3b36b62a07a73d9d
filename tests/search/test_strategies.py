"""Strategies, on simulated machines."""

from __future__ import annotations

import statistics
from functools import cache
from math import inf, log, sqrt

import pytest

from einloom import csp
from einloom.errors import ArgumentError
from einloom.machine import AVX512
from einloom.search.ordering import pruning_order
from einloom.search.search import Budget, run_search
from einloom.search.strategies import STRATEGIES
from einloom.search.tree_search import Node, tag_score
from einloom.space import cpu, gpu
from tests.search.simulation import SLOW, Predicted, Simulated, product_space, simulate, tiny_space
from tests.soak import soak_count

LEAVES = 4095


@cache
def optimum() -> float:
    """The best simulated time of the tiny space, by visiting every leaf without bounds."""
    space = tiny_space()
    evaluator, slots = Simulated(space), space.slots()
    return min(evaluator.evaluate(leaf, inf).seconds for leaf in csp.solutions(space.problem, slots))


def test_exhaustive_searches_find_the_optimum_and_prove_it() -> None:
    best = optimum()
    for strategy in ("exhaustive", "bound_first"):
        run = simulate(tiny_space(), strategy, 10 * LEAVES, seed=0)
        assert run.explorer.best == pytest.approx(best)
        assert run.ended == "every candidate that could be faster was evaluated"
        assert run.gap == 0
        assert len(run.history) < LEAVES, "the bound cuts"


def test_without_bounds_every_leaf_is_visited() -> None:
    space = cpu("k->", (8,), dtype="float32", machine=SLOW)
    run = simulate(space, "exhaustive", LEAVES, seed=0, bounds=False)
    leaves = {state.snapshot() for state in csp.solutions(space.problem)}
    assert {trial.leaf.snapshot for trial in run.history} == leaves
    assert len(run.history) == len(leaves) > 500


@pytest.mark.soak
@pytest.mark.parametrize("strategy", ["tag", "local"])
def test_a_twentieth_of_the_leaves_leads_close_to_the_optimum(strategy: str) -> None:
    best = optimum()
    found = [simulate(tiny_space(), strategy, LEAVES // 20, seed).explorer.best for seed in range(soak_count(10, 0.2))]
    close = sum(each <= 1.05 * best for each in found)
    assert close >= 0.9 * len(found), [each / best for each in found]


@pytest.mark.soak
def test_trees_with_bounds_find_a_fifth_more_than_uniform_random_descents() -> None:
    """Of 200 evaluations each, in the median of ten searches; `benchmarks/ablation.py` compares more."""
    space = cpu("mk,kn->mn", (96, 80), (80, 112), dtype="float32", machine=AVX512)

    def median(strategy: str, bounds: bool) -> float:
        budget, seeds = Budget(evaluations=200), range(soak_count(10, 0.2))
        runs = [run_search(space, Predicted(space), budget, strategy, seed, bounds=bounds) for seed in seeds]
        return statistics.median(run.explorer.best for run in runs)

    assert median("tag", True) <= 0.80 * median("random", False)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_seed_says_everything(strategy: str) -> None:
    """The same seed gives the same trials; no leaf comes twice, and none that the bound had cut before."""
    first, second = (simulate(product_space(), strategy, 15, seed=5) for _ in range(2))
    assert [t.leaf for t in first.history] == [t.leaf for t in second.history]
    snapshots = [trial.leaf.snapshot for trial in first.history]
    assert len(set(snapshots)) == len(snapshots) > 0
    space, best = product_space(), inf
    for trial in first.history:
        state = space.problem.state()
        state.load(trial.leaf.snapshot)
        assert space.model.bound(state).seconds < best
        best = trial.best


@pytest.mark.parametrize("strategy", ["tag", "uct", "round_robin"])
def test_trees_may_look_at_all_values_at_once(strategy: str) -> None:
    """As the paper does: what the bound cuts is no branch then. Either way a tiny space is searched to its end."""
    best, space = optimum(), tiny_space()
    evaluations = LEAVES if strategy == "tag" else 40
    lazy, whole = (
        run_search(space, Simulated(space), Budget(evaluations=evaluations), strategy, 3, expansion=each)
        for each in ("lazy", "all")
    )
    assert [t.leaf for t in whole.history] != [t.leaf for t in lazy.history]
    if strategy == "tag":
        assert whole.explorer.best == pytest.approx(best) == lazy.explorer.best
        assert whole.ended == "every candidate that could be faster was evaluated"
    root = whole.strategy.root  # type: ignore[attr-defined]
    assert not root.fresh


def test_scores_of_branches() -> None:
    """TAG: (s + a + sqrt(a (2 s + a))) / n_i, with a = ln(2 n k / delta), k = 10 and delta = 1."""
    node = Node(0.0, visits=12, times=[float(t) for t in range(1, 13)])
    child = Node(0.0, visits=4, times=[1.0, 2.0, 11.0, 12.0])
    s, a = 2, log(2 * 12 * 10)
    assert tag_score(node, child) == pytest.approx((s + a + sqrt(a * (2 * s + a))) / 4)


def test_known_leaves_are_not_measured_again_and_starts_come_first() -> None:
    space = product_space()
    before = simulate(space, "local", 10, seed=1)
    leaves = [space.problem.load(trial.leaf.snapshot) for trial in before.history]
    known = [(leaf, trial.outcome.seconds) for leaf, trial in zip(leaves[:9], before.history)]
    run = run_search(space, Simulated(space), Budget(evaluations=5), "local", 2, starts=leaves, known=known)
    assert run.history[0].leaf.snapshot == before.history[9].leaf.snapshot
    assert not {t.leaf.snapshot for t in run.history} & {leaf.snapshot() for leaf, _ in known}
    assert run.explorer.best <= before.explorer.best


def test_ends() -> None:
    space = tiny_space()
    run = run_search(space, Simulated(space), Budget(gap=0.5, evaluations=LEAVES), "bound_first")
    assert run.ended.startswith("within") and run.gap <= 0.5

    def interrupt(run: object) -> None:
        raise KeyboardInterrupt

    run = run_search(space, Simulated(space), Budget(evaluations=9), "random", progress=interrupt)
    assert (run.ended, len(run.history)) == ("interrupted", 1)
    assert run_search(space, Simulated(space), Budget(seconds=0), "tag").history == []


def test_what_is_none_is_refused() -> None:
    with pytest.raises(ArgumentError, match="no strategy called 'luck'"):
        simulate(tiny_space(), "luck", 1, 0)
    with pytest.raises(ArgumentError, match="a budget without an end"):
        Budget()
    with pytest.raises(ArgumentError, match="evaluations is -1"):
        Budget(evaluations=-1)


def test_features_are_vectors_of_one_length_that_tell_candidates_apart() -> None:
    space = product_space()
    leaves = [space.root.complete(seed) for seed in range(4)]
    vectors = [candidate.features() for candidate in (space.root, *leaves)]
    assert {len(each) for each in vectors} == {len(vectors[0])}
    assert len(set(vectors)) == len(vectors)
    assert all(set(each) <= {0.0, 1.0} for each in vectors[1:])
    assert max(vectors[0]) == 1 and 0 < min(share for share in vectors[0] if share) < 0.5


def test_the_order_of_decisions_may_be_given_or_chosen_by_what_it_prunes() -> None:
    """Whatever the order, the same leaves are there; groups that prune come before those that do not."""
    space = gpu("axpy", n=2**16)
    cut = 2 * space.root.bound().seconds
    chosen = pruning_order(space, cut)
    assert sorted(chosen) == sorted(space.order)
    assert chosen.index("dim_kind") < chosen.index("cache") and chosen.index("dim_kind") < chosen.index("mem_space")
    assert chosen == pruning_order(space, cut)
    best = optimum()
    tiny = tiny_space()
    for order in ("pruning", tuple(reversed(tiny.order))):
        run = run_search(tiny, Simulated(tiny), Budget(evaluations=LEAVES), "bound_first", order=order)
        assert run.explorer.best == pytest.approx(best)
