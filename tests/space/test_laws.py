"""Laws of the GPU space: decisions commute, undo restores, domains only shrink, lowered objects keep their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from einloom import csp
from einloom.csp import single_values
from einloom.space import K4000, gpu
from einloom.space.candidate import Space


def tiled(axes: str) -> dict[str, tuple[int, ...]]:
    """Return one tile of two for each axis."""
    return dict.fromkeys(axes, (2,))


GLOBAL = replace(K4000, global_temporaries=True)
SPACES = {
    "axpy": (gpu("axpy", n=8, tiles={"n": (4,)}), 240),
    "mv": (gpu("mv", m=4, n=4, tiles=tiled("mn")), 60),
    "matmul": (gpu("matmul", m=16, n=16, k=8, tiles={"m": (4, 2), "n": (4, 2), "k": (4,)}), 12),
}
MORE_SPACES = {
    "axpy, three levels": (gpu("axpy", n=64, tiles={"n": (4, 4, 2)}), 8),
    "axpy, large": (gpu("axpy", n=2**26), 20),
    "mv with tails": (gpu("mv", m=7, n=13, tiles={"m": (4,), "n": (4,)}), 60),
    "gesummv": (gpu("gesummv", m=4, n=4, tiles=tiled("mn")), 8),
    "matmul, small": (gpu("matmul", m=4, n=4, k=4, tiles=tiled("mnk")), 20),
    "matmul, large": (gpu("matmul", m=1024, n=1024, k=1024), 4),
    "matmul, transposed": (gpu("matmul", m=4, n=4, k=4, transpose_a=True, transpose_b=True, tiles=tiled("mnk")), 12),
    "matmul, strided": (gpu("matmul", m=8, n=8, k=8, stride_a=4, tiles={"m": (4,), "n": (4,), "k": (2, 2)}), 8),
    "matmul with tails": (gpu("matmul", m=7, n=6, k=5, tails=True, tiles=tiled("mnk")), 20),
    "matmul with an epilogue": (gpu("matmul", m=8, n=8, k=8, epilogue="relu", tiles=tiled("mnk")), 12),
    "matmul with arrays in global memory": (gpu("matmul", m=4, n=4, k=4, tiles=tiled("mnk"), device=GLOBAL), 16),
    "batch_matmul": (gpu("batch_matmul", b=4, m=4, n=4, k=4, tiles=tiled("bmnk")), 8),
    "doitgen": (gpu("doitgen", r=4, q=4, p=4, s=4, tiles=tiled("rqps")), 8),
}
PERMUTATIONS = 5

Walk = list[tuple[int, int]]


def take(state: csp.State, slots: Iterable[int], random: Random) -> tuple[Walk, bool]:
    """Decide slots at random; return the decisions that propagation accepts, and whether a last one was a dead end."""
    taken: Walk = []
    for slot in slots:
        mask = random.choice(single_values(state.domains[slot]))
        state.push()
        accepted = state.restrict(slot, mask)
        if not accepted:
            state.pop()
        if accepted or random.random() < 0.25:
            taken.append((slot, mask))
        if not accepted and taken[-1:] == [(slot, mask)]:
            return taken, True
    return taken, False


def undecided(state: csp.State, slots: Sequence[int], most: int) -> Iterator[int]:
    """Yield the first open decision of an order again and again."""
    for _ in range(most):
        if (slot := state.next_open(slots)) < 0:
            return
        yield slot


def random_walk(space: Space, random: Random) -> tuple[Walk, bool]:
    """Take open decisions at random."""
    state = space.problem.state()

    def slots() -> Iterator[int]:
        for _ in range(random.randint(3, 14)):
            if open_slots := state.open():
                yield random.choice(open_slots)

    return take(state, slots(), random)


def biased_walk(space: Space, random: Random) -> tuple[Walk, bool]:
    """Decide kinds first, so that values have to be stored and arrays appear."""
    kinds = [v.slot for v in space.problem.variables if v.choice == "dim_kind"]
    return take(space.problem.state(), random.sample(kinds, min(len(kinds), 6)), random)


def early_walk(space: Space, random: Random) -> tuple[Walk, bool]:
    """Decide anything, also about objects that sleep, which may wake later."""
    slots = [variable.slot for variable in space.problem.variables]
    return take(space.problem.state(), random.sample(slots, 12), random)


def deep_walk(space: Space, random: Random) -> tuple[Walk, bool]:
    """Take decisions in the order of searches, often down to a leaf."""
    state = space.problem.state()
    return take(state, undecided(state, space.slots(), random.choice((10, 40, 400))), random)


def accepted(walk: tuple[Walk, bool]) -> Walk:
    """Return the decisions of a walk without the one that was a dead end."""
    return walk[0][:-1] if walk[1] else walk[0]


WALKS = (random_walk, biased_walk, early_walk, deep_walk)


def image(state: csp.State) -> tuple[Any, ...]:
    """Return all that a state knows: domains, objects, names of what is open, ranges of counters."""
    counters = [state.range(each.number) for each in state.tables.counters.all if not each.need & state.asleep]
    names = [state.tables.names.describe(slot).name for slot in state.open()]
    return state.domains[:], state.alive, names, counters


@pytest.mark.parametrize("name", SPACES | MORE_SPACES)
def test_decisions_commute(name):
    """Every permutation of a walk gives the same candidate, or a dead end if the walk met one."""
    space, walks = (SPACES | MORE_SPACES)[name]
    random, woken, elected, dead, problem = Random(3), 0, 0, 0, space.problem
    for number in range(walks):
        walk, fails = WALKS[number % len(WALKS)](space, random)
        reference, state = None, problem.state()
        for _ in range(PERMUTATIONS):
            state = problem.state()
            assert all(state.restrict(slot, mask) for slot, mask in walk) != fails
            random.shuffle(walk)
            if not fails:
                found = image(state)
                reference = reference or found
                assert found == reference
        dead += fails
        if not fails:
            woken += state.alive > 0
            elected += bool(problem.load(state.snapshot()).objects("HwThreadDims"))
    assert woken > walks // 20 and elected > walks // 20 and (dead or walks < 20)


def test_there_are_enough_walks():
    assert sum(walks for _, walks in (SPACES | MORE_SPACES).values()) >= 500


@pytest.mark.parametrize("name", SPACES)
def test_undo_restores_every_byte_and_domains_only_shrink(name):
    space, walks = SPACES[name]
    random = Random(12)
    for _ in range(max(walks // 4, 10)):
        state = space.problem.state()
        before = [(state.snapshot(), state.domains[:], state.alive)]
        for slot, mask in accepted(random_walk(space, random)):
            state.push()
            assert state.restrict(slot, mask)
            old = before[-1]
            assert all(new & ~was == 0 for new, was in zip(state.domains, old[1]))
            assert old[2] & state.alive == old[2]
            before.append((state.snapshot(), state.domains[:], state.alive))
        for snapshot, domains, alive in reversed(before[:-1]):
            state.pop()
            assert (state.snapshot(), state.domains, state.alive) == (snapshot, domains, alive)


@pytest.mark.parametrize("name", SPACES)
def test_snapshots_load_to_the_same_state(name):
    space, walks = SPACES[name]
    random = Random(13)
    for _ in range(max(walks // 8, 5)):
        state = space.problem.state()
        for slot, mask in accepted(biased_walk(space, random)):
            assert state.restrict(slot, mask)
        loaded = space.problem.state()
        loaded.load(state.snapshot())
        assert loaded.domains == state.domains and loaded.alive == state.alive


def test_what_a_extension_adds_is_known_at_the_root():
    space = SPACES["matmul"][0]
    assert list(space.problem.extensions) == ["tmp_a", "tmp_b"]
    assert "layout(tmp_a, store_tmp_a.m.1, store_tmp_a.m.2)" in {v.name for v in space.problem.variables}
    assert not any("tmp_" in name for name in space.root.open)
    stored = space.root.apply({"dim_kind(load_a.m.1)": "THREAD", "dim_kind(m.1)": "UNROLL"})
    assert stored.inner.alive == ("tmp_a",)
    assert stored.domain("mem_space(tmp_a)") == ("SHARED",)


def test_solutions_survive_any_part_of_their_decisions():
    """Soundness on larger spaces: taking some decisions of a leaf removes none of its other values."""
    for name, seeds in (("axpy", range(20)), ("matmul", range(4))):
        space = SPACES[name][0]
        for seed in seeds:
            leaf, random = space.random_leaf(seed).assignment, Random(seed)
            for _ in range(4):
                taken = random.sample(sorted(leaf), random.randint(1, 12))
                candidate = space.root.apply({name: leaf[name] for name in taken})
                assert all(value in candidate.domain(name) for name, value in leaf.items())
