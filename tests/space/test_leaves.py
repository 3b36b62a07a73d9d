"""A thousand random leaves of each kernel: legal for the independent checker, one nest each, the kernel's meaning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random

import pytest

from einloom import csp
from einloom.csp import single_values
from einloom.ir.nest import walk
from einloom.ir.statement import Barrier
from einloom.space import K4000, gpu
from einloom.space.assignment import Assignment, split_name
from einloom.space.candidate import Space
from einloom.space.checker import violations
from einloom.space.decode import decode
from tests.soak import soak_count
from tests.space.implementations import Meaning
from tests.space.mutations import MUTATIONS

GLOBAL = replace(K4000, global_temporaries=True)


def tiled(axes: str) -> dict[str, tuple[int, ...]]:
    """Return one tile of two for each axis."""
    return dict.fromkeys(axes, (2,))


SPACES = {
    "axpy": gpu("axpy", n=8, tiles={"n": (2, 2)}),
    "axpy with tails": gpu("axpy", n=7, tiles={"n": (4,)}, tails=True),
    "mv": gpu("mv", m=4, n=4, tiles=tiled("mn")),
    "gesummv": gpu("gesummv", m=4, n=4, tiles={"m": (2,)}),
    "matmul": gpu("matmul", m=4, n=4, k=4, tiles=tiled("mnk")),
    "matmul, transposed and strided": gpu(
        "matmul", m=4, n=4, k=4, transpose_a=True, transpose_b=True, stride_a=3, tiles={"m": (2,), "k": (2,)}
    ),
    "matmul with tails": gpu("matmul", m=3, n=4, k=3, tiles={"m": (2,), "k": (2,)}, tails=True),
    "matmul with an epilogue": gpu("matmul", m=4, n=4, k=4, epilogue="relu", tiles={"m": (2,), "n": (2,)}),
    "matmul with arrays in global memory": gpu("matmul", m=4, n=2, k=4, tiles=tiled("mnk"), device=GLOBAL),
    "batch_matmul": gpu("batch_matmul", b=2, m=4, n=2, k=4, tiles={"m": (2,), "k": (2,)}),
    "doitgen": gpu("doitgen", r=2, q=4, p=2, s=4, tiles={"q": (2,), "s": (2,)}),
    "chain": gpu("chain", m=4, n=2, k=2, l=4, epilogue="relu", tiles={"m": (2,), "l": (2,)}),
}
KERNELS = ("axpy", "mv", "gesummv", "matmul", "matmul with an epilogue", "batch_matmul", "doitgen")
LEAVES = {name: 1000 if name in KERNELS else 100 for name in SPACES}
RESTART = 20
"""Leaves between two fresh descents from the root; the others go back to a random decision of the last one."""


def random_leaves(space: Space, count: int, seed: int) -> Iterator[Assignment]:
    """Yield different random leaves."""
    random, state, depth, seen = Random(seed), space.problem.state(), 0, set()
    while len(seen) < count:
        depth += extend(state, space.slots(), random)
        leaf = space.decided(state)
        key = tuple(leaf.values())
        if state.is_leaf and key not in seen:
            seen.add(key)
            yield Assignment(space.backbone, leaf)
        back = depth if len(seen) % RESTART == 0 else random.randint(1, depth)
        for _ in range(back):
            state.pop()
        depth -= back


def extend(state: csp.State, slots: Sequence[int], random: Random) -> int:
    """Take random decisions up to a leaf or a dead end, each after a `push`; return how many."""
    taken = 0
    while (slot := state.next_open(slots)) >= 0:
        valid = single_values(state.domains[slot])
        random.shuffle(valid)
        for mask in valid:
            state.push()
            if state.restrict(slot, mask):
                break
            state.pop()
        else:
            return taken
        taken += 1
    return taken


@pytest.mark.soak
@pytest.mark.parametrize("name", SPACES)
def test_random_leaves_are_legal_and_mean_the_kernel(name):
    space, meaning, count = SPACES[name], Meaning(SPACES[name].kernel), soak_count(LEAVES[name], share=0.2)
    stored = fused = 0
    for leaf in random_leaves(space, count, seed=1):
        assert violations(leaf, space.device) == ()
        nest = decode(leaf)
        assert meaning.is_that_of(nest), nest
        stored += bool(leaf.temporaries)
        fused += "FUSED" in leaf.decisions.values()
    assert stored > count // 50 and fused > count // 50


@pytest.mark.parametrize(("name", "leaves"), [("axpy", 40), ("mv", 30), ("matmul", 30)])
def test_legal_neighbours_of_leaves_are_leaves(name, leaves):
    """What the checker accepts, the engine must accept: mutated leaves, made without it."""
    space, random = SPACES[name], Random(2)
    accepted = refused = 0
    for leaf in random_leaves(space, leaves, seed=3):
        for mutation in MUTATIONS:
            changed = mutation(space.backbone, dict(leaf.decisions), random)
            if violations(Assignment(space.backbone, changed), space.device):
                refused += 1
            elif changed != leaf.decisions:
                accepted += 1
                found = space.root.apply(changed)
                assert found.is_leaf and same(found.assignment, Assignment(space.backbone, changed))
    assert accepted > leaves // 2 and refused > leaves // 2


def same(found: Mapping[str, str | int], given: Assignment) -> bool:
    """Whether two full assignments agree, whatever the direction in which they name pairs."""
    for name, value in found.items():
        choice, objects = split_name(name)
        if given.value(choice, *objects) != value:
            return False
    return True


def test_barriers_stand_between_threads_that_share_an_array():
    """Some leaves stage values in shared memory between threads, and those have barriers."""
    space, found = SPACES["matmul"], 0
    for leaf in random_leaves(space, 100, seed=4):
        barriers = sum(isinstance(node, Barrier) for node in walk(decode(leaf).body))
        assert (barriers > 0) == ("THREAD" in leaf.decisions.values() and bool(leaf.temporaries))
        found += barriers
    assert found
