"""Laws of the GPU space: decisions commute, undo restores, domains only shrink, lowered objects keep their names."""

from __future__ import annotations

from random import Random

import pytest

from einloom.space import gpu
from einloom.space.candidate import Space
from einloom.space.descent import masks

SPACES = {
    "axpy": (gpu("axpy", n=8, tiles={"n": (4,)}), 400),
    "mv": (gpu("mv", m=4, n=4, tiles={"m": (2,), "n": (2,)}), 60),
    "matmul": (gpu("matmul", m=16, n=16, k=8, tiles={"m": (4, 2), "n": (4, 2), "k": (4,)}), 40),
}
PERMUTATIONS = 5


def random_walk(space: Space, random: Random) -> list[tuple[int, int]]:
    """Return decisions (slot, mask) that propagation accepts one after the other, in a random order of decisions."""
    state, taken = space.problem.state(), []
    for _ in range(random.randint(3, 14)):
        open_slots = state.open()
        if not open_slots:
            break
        slot = random.choice(open_slots)
        mask = random.choice(masks(state.domains[slot]))
        state.push()
        if state.restrict(slot, mask):
            taken.append((slot, mask))
        else:
            state.pop()
    return taken


def biased_walk(space: Space, random: Random) -> list[tuple[int, int]]:
    """Return a walk that first decides kinds, so that values have to be stored and arrays appear."""
    state, taken = space.problem.state(), []
    kinds = [v.slot for v in space.problem.variables if v.choice == "dim_kind"]
    for slot in random.sample(kinds, min(len(kinds), 6)):
        mask = random.choice(masks(state.domains[slot]))
        state.push()
        if state.restrict(slot, mask):
            taken.append((slot, mask))
        else:
            state.pop()
    return taken


@pytest.mark.parametrize("name", SPACES)
def test_decisions_commute(name):
    space, walks = SPACES[name]
    random, woken, elected, problem = Random(11), 0, 0, space.problem
    for number in range(walks):
        walk = (biased_walk if number % 2 else random_walk)(space, random)
        reference, state = None, problem.state()
        for _ in range(PERMUTATIONS):
            state = problem.state()
            assert all(state.restrict(slot, mask) for slot, mask in walk)
            found = (state.domains[:], state.alive, [problem.describe(slot).name for slot in state.open()])
            reference = reference or found
            assert found == reference
            random.shuffle(walk)
        woken += state.alive > 0
        elected += bool(problem.load(state.snapshot()).objects("HwThreadDims"))
    assert woken > walks // 20 and elected > walks // 20


@pytest.mark.parametrize("name", SPACES)
def test_undo_restores_every_byte_and_domains_only_shrink(name):
    space, walks = SPACES[name]
    random = Random(12)
    for _ in range(walks // 4):
        state = space.problem.state()
        before = [(state.snapshot(), state.domains[:], state.alive)]
        for slot, mask in random_walk(space, random):
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
    for _ in range(walks // 8):
        state = space.problem.state()
        for slot, mask in biased_walk(space, random):
            assert state.restrict(slot, mask)
        loaded = space.problem.state()
        loaded.load(state.snapshot())
        assert loaded.domains == state.domains and loaded.alive == state.alive


def test_what_a_lowering_adds_is_known_at_the_root():
    space = SPACES["matmul"][0]
    assert list(space.problem.lowerings) == ["tmp_a", "tmp_b"]
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
