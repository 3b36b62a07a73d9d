"""Sizes of spaces: exact counts equal brute force over the independent checker; estimators contain them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from itertools import combinations, product
from random import Random
from typing import Any

import pytest

from einloom.errors import ScheduleError
from einloom.space import GpuDevice, checker, checker_hardware, dead_end_ratio, estimate, gpu
from einloom.space.assignment import Assignment
from einloom.space.backbone import Backbone
from einloom.space.builder import Builder
from einloom.space.candidate import Space
from einloom.space.descent import PAPER_ORDER
from einloom.space.forest import forest
from einloom.space.kernels import Kernel
from tests.space.implementations import relation

SMALL = GpuDevice("small", max_threads=4, max_unroll=4)


def copy_space() -> Space:
    """Return the space of z[n] = x[n] with one tile: two instructions and three dimensions."""
    b = Builder("copy")
    n = b.axis("n", 4, ((2,),))
    b.store(b.output("z", n), b.load(b.input("x", n)))
    return Space(Kernel(b.backbone(), lambda v: {"z": v["x"]}), SMALL)


def scale_space() -> Space:
    """Return the space of z[n] = 3 x[n] with one tile, whose values may pass through a temporary array."""
    b = Builder("scale")
    n = b.axis("n", 4, ((2,),))
    b.store(b.output("z", n), b.nest("main", n).apply("mul", b.load(b.input("x", n)), 3.0))
    return Space(Kernel(b.backbone(), lambda v: {"z": 3 * v["x"]}), SMALL)


SPACES = {"copy": copy_space(), "axpy, whole": gpu("axpy", n=4, tiles={"n": ()}, device=SMALL)}


def brute_force(space: Space) -> Iterator[dict[str, str | int]]:
    """Yield every assignment that the checker accepts, trying all of them (for kernels without temporaries).

    Parts of an assignment that the checker's rules about them alone refuse are not tried with every other part.
    """
    backbone = space.backbone
    static = [d.name for d in backbone.dimensions if d.static]
    kinds = {f"dim_kind({d.name})": ["LOOP", "UNROLL", "VECTOR", "THREAD", "BLOCK"] for d in backbone.dimensions}
    levels = {
        f"thread_level({a}, {b})": ["MAPPED", "INNER", "OUTER", "NOT_THREADS"] for a, b in combinations(static, 2)
    }
    pairs = {pair for each in backbone.instructions for result in each.results for pair in result.mapping}
    flows = {f"dim_mapping({a}, {b})": ["FUSED", "UNROLLED", "THREADS", "STORED"] for a, b in sorted(pairs)}
    statements = [*backbone.dimension, *backbone.instruction]
    sizes = [given for given in _all(_size_values(space)) if not list(checker._sizes(Assignment(backbone, given)))]
    memory = [given for given in _all(_memory_values(space)) if not _memory_faults(space, given)]
    shapes = [given for given in forests(statements) if not _shape_faults(backbone, given)]
    for shape, size, kind in product(shapes, sizes, _all(kinds)):
        given = shape | size | kind
        if _kind_faults(space, given):
            continue
        for rest, flags in product(_all(levels | flows), memory):
            if not checker.violations(Assignment(backbone, given | rest | flags), space.device):
                yield given | rest | flags


def _all(values: dict[str, list]) -> list[dict[str, str | int]]:
    """Return every assignment of some decisions."""
    return [dict(zip(values, chosen)) for chosen in product(*values.values())]


def _size_values(space: Space) -> dict[str, list]:
    found: dict[str, list] = {f"size({d.name})": list(d.sizes) for d in space.backbone.dimensions if d.static}
    for axis in space.backbone.axes:
        found[f"tiling({axis.name})"] = sorted({1, *(size for tile in axis.tiles for size in tile)})
        found[f"tail({axis.name})"] = ["EXACT", "PREDICATED"]
    return found


def _memory_values(space: Space) -> dict[str, list]:
    found = {f"mem_space({region.name})": ["GLOBAL", "SHARED"] for region in space.backbone.regions}
    accesses = [each.name for each in space.backbone.instructions if each.address]
    return found | {f"cache({name})": ["L1", "L2", "READ_ONLY", "NONE"] for name in accesses}


def _memory_faults(space: Space, given: dict) -> list[str]:
    return list(checker_hardware._memory(Assignment(space.backbone, given), space.device))


def _shape_faults(backbone: Backbone, given: dict) -> list[str]:
    assignment = Assignment(backbone, given)
    try:
        loops = forest(assignment)
    except ScheduleError as error:
        return [str(error)]
    return [*checker._nesting(assignment, loops), *checker._dependences(assignment, loops)]


def consistent_triples() -> set[tuple[str | None, ...]]:
    """Return the relations (a to b, b to c, a to c) that three intervals can have."""
    intervals = [(a, b) for a in range(6) for b in range(a + 1, 7)]
    triples = ((relation(a, b), relation(b, c), relation(a, c)) for a, b, c in product(intervals, repeat=3))
    return {triple for triple in triples if None not in triple}


def _kind_faults(space: Space, given: dict) -> list[str]:
    assignment = Assignment(space.backbone, given)
    loops = forest(assignment)
    kinds = checker_hardware._kinds(assignment, loops.outside(), space.device)
    return [*checker._fusion(assignment, loops), *kinds]


def forests(names: list[str]) -> Iterator[dict[str, str]]:
    """Yield the orders of every forest of the statements: all pairs related, all triples consistent."""
    triples, values = consistent_triples(), ("BEFORE", "AFTER", "OUTER", "INNER", "MERGED")
    pairs = sorted(combinations(range(len(names)), 2), key=lambda pair: pair[1])
    chosen: dict[tuple[int, int], str] = {}

    def place(position: int) -> Iterator[dict[str, str]]:
        if position == len(pairs):
            yield {f"order({names[a]}, {names[b]})": value for (a, b), value in chosen.items()}
            return
        a, b = pairs[position]
        for value in values:
            between = ((min(a, c), max(a, c)) for c in range(a))
            if all((chosen[pair], value, chosen[pair[0], b]) in triples for pair in between):
                chosen[a, b] = value
                yield from place(position + 1)
                del chosen[a, b]

    return place(0)


@pytest.fixture(scope="module", params=SPACES)
def counted(request):
    """A tiny space and all its implementations by brute force."""
    space = SPACES[request.param]
    return space, list(brute_force(space))


def test_exact_counts_equal_brute_force(counted):
    space, implementations = counted
    exact = estimate(space, "exact")
    assert exact.size == len(implementations) > 10
    assert exact.interval == (exact.size, exact.size)
    assert exact.nodes_per_depth[0] == 1


def test_every_implementation_is_a_leaf_of_the_space(counted):
    space, implementations = counted
    for decisions in implementations[:: max(1, len(implementations) // 50)]:
        assert space.root.apply(decisions).is_leaf


def test_propagation_never_removes_a_value_of_an_implementation(counted):
    """Soundness: under random decisions of an implementation, all its other values stay."""
    space, implementations = counted
    random = Random(7)
    for _ in range(300):
        solution = random.choice(implementations)
        taken = random.sample(sorted(solution), random.randint(1, 6))
        candidate = space.root.apply({name: solution[name] for name in taken})
        for name, value in solution.items():
            assert value in candidate.domain(name)


def test_orders_of_decisions_reach_the_same_leaves(counted):
    space, implementations = counted
    for order in (tuple(reversed(PAPER_ORDER)), ("order", "dim_kind")):
        assert estimate(space, "exact", order=order).size == len(implementations)


@pytest.mark.parametrize(("method", "samples"), [("knuth", 500), ("chen", 60)])
def test_estimates_contain_the_exact_size(counted, method, samples):
    space, implementations = counted
    found = [estimate(space, method, samples, seed=seed) for seed in range(3)]
    assert all(each.interval[0] <= len(implementations) <= each.interval[1] for each in found)
    assert found[0] == estimate(space, method, samples, seed=0)
    assert found[0] != found[1] or found[0].interval[0] == found[0].interval[1]


def test_a_space_with_temporaries_has_one_size_in_every_order():
    space = scale_space()
    exact = estimate(space, "exact")
    assert exact.size == estimate(space, "exact", order=("order", "cache")).size > 1000
    for method, samples in (("knuth", 300), ("chen", 30)):
        for seed in (1, 2):
            low, high = estimate(space, method, samples, seed).interval
            assert low <= exact.size <= high


def test_nodes_per_depth_are_estimated_too():
    exact, knuth = (estimate(SPACES["copy"], method, 1000) for method in ("exact", "knuth"))
    assert len(exact.nodes_per_depth) == len(knuth.nodes_per_depth)
    for there, here in zip(exact.nodes_per_depth, knuth.nodes_per_depth):
        assert here == pytest.approx(there, rel=0.2)


def test_dead_ends_are_counted():
    exact = estimate(SPACES["copy"], "exact")
    ratio, half = dead_end_ratio(SPACES["copy"], 500, seed=1)
    sweeps = estimate(SPACES["copy"], "chen", 3)
    assert abs(sweeps.dead_ends - exact.dead_ends) <= 2 * sweeps.dead_ends_half + 0.02
    assert abs(ratio - exact.dead_ends) <= 2 * half + 0.01


@pytest.mark.parametrize("method", ["knuth", "chen"])
def test_several_processes_draw_the_same_samples(method):
    before = set(multiprocessing.active_children())  # Libraries that other tests call keep some for themselves.
    alone, together = (estimate(SPACES["copy"], method, 7, seed=5, processes=count) for count in (1, 3))
    assert alone == together
    assert alone.size > 0
    assert set(multiprocessing.active_children()) <= before


def test_seeds_may_be_negative() -> None:
    space = gpu("axpy", n=8)
    assert estimate(space, "knuth", 3, seed=-1) == estimate(space, "knuth", 3, seed=-1)


@pytest.mark.parametrize("seed", ["x", 1.5, None])
def test_what_is_no_seed_is_refused_before_anything_is_drawn(seed: Any) -> None:
    space = gpu("axpy", n=8)
    for measure in (estimate, dead_end_ratio):
        with pytest.raises(ScheduleError, match=r"seed = .*\n  Give a whole number"):
            measure(space, seed=seed)


def test_an_unknown_method_is_refused():
    with pytest.raises(ScheduleError, match="known: exact, knuth, chen"):
        estimate(SPACES["copy"], "guess")
