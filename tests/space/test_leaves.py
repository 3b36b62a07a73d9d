"""A thousand random leaves of each kernel: legal for the independent checker, one nest each, the kernel's meaning."""

from __future__ import annotations

from random import Random

import pytest

from einloom.ir.nest import walk
from einloom.ir.statement import Barrier
from einloom.space import gpu
from einloom.space.assignment import Assignment, split_name
from einloom.space.candidate import Space
from einloom.space.checker import violations
from einloom.space.decode import decode
from einloom.space.descent import descend
from tests.space.implementations import Meaning
from tests.space.mutations import MUTATIONS

ONE = {axis: (2,) for axis in "bmnkrqps"}
SPACES = {
    "axpy": gpu("axpy", n=16, tiles={"n": (4, 2)}),
    "axpy with tails": gpu("axpy", n=7, tiles={"n": (4,)}, tails=True),
    "mv": gpu("mv", m=4, n=4, tiles=ONE),
    "gesummv": gpu("gesummv", m=4, n=4, tiles={"m": (2,)}),
    "matmul": gpu("matmul", m=4, n=4, k=4, tiles=ONE),
    "matmul, transposed and strided": gpu(
        "matmul", m=4, n=4, k=4, transpose_a=True, transpose_b=True, stride_a=3, tiles={"m": (2,), "k": (2,)}
    ),
    "matmul with tails": gpu("matmul", m=3, n=4, k=3, tiles={"m": (2,), "k": (2,)}, tails=True),
    "matmul with an epilogue": gpu("matmul", m=4, n=4, k=4, epilogue="relu", tiles={"m": (2,), "n": (2,)}),
    "batch_matmul": gpu("batch_matmul", b=2, m=4, n=2, k=4, tiles={"m": (2,), "k": (2,)}),
    "doitgen": gpu("doitgen", r=2, q=4, p=2, s=4, tiles={"q": (2,), "s": (2,)}),
}
LEAVES = 1000
BRANCHES = 8
"""Leaves drawn below one inner node: sharing the first decisions makes a thousand leaves affordable."""


def random_leaves(space: Space, count: int, seed: int):
    """Yield random leaves: several below each random choice of sizes and kinds."""
    random, state = Random(seed), space.problem.state()
    slots = space.slots()
    heads = tuple(v.slot for v in space.problem.variables if v.choice in ("size", "dim_kind"))
    heads = tuple(slot for slot in slots if slot in set(heads))
    start = state.snapshot()
    found = 0
    while found < count:
        state.load(start)
        if not descend(state, heads, random):
            continue
        inner = state.snapshot()
        for _ in range(BRANCHES):
            state.load(inner)
            if descend(state, slots, random):
                found += 1
                yield space.decided(state)


@pytest.mark.parametrize("name", SPACES)
def test_random_leaves_are_legal_and_mean_the_kernel(name):
    space, meaning = SPACES[name], Meaning(SPACES[name].kernel)
    stored = fused = 0
    for leaf in random_leaves(space, LEAVES, seed=1):
        assert violations(space.backbone, space.device, leaf) == ()
        nest = decode(space.backbone, leaf)
        assert meaning.is_that_of(nest), nest
        stored += any("STORED" == value for value in leaf.values())
        fused += any("FUSED" == value for value in leaf.values())
    assert stored > LEAVES // 50 and fused > LEAVES // 50


@pytest.mark.parametrize("name", ["axpy", "matmul", "mv"])
def test_legal_neighbours_of_leaves_are_leaves(name):
    """What the checker accepts, the engine must accept: mutated leaves, made without it."""
    space, random = SPACES[name], Random(2)
    accepted = refused = 0
    for leaf in random_leaves(space, 60, seed=3):
        for mutation in MUTATIONS:
            changed = mutation(space.backbone, leaf, random)
            if violations(space.backbone, space.device, changed):
                refused += 1
            elif changed != leaf:
                accepted += 1
                found = space.root.apply(changed)
                assert found.is_leaf and same(space, found.assignment, changed)
    assert accepted > 30 and refused > 30


def same(space: Space, found: dict, given: dict) -> bool:
    """Whether two full assignments agree, whatever the direction in which they name pairs."""
    named = Assignment(space.backbone, given)
    return all(named.value(choice, *objects) == value for (choice, objects), value in _split(found))


def _split(decisions: dict) -> list:
    return [(split_name(name), value) for name, value in decisions.items()]


def test_barriers_stand_between_threads_that_share_an_array():
    """Some leaves stage values in shared memory between threads, and those have barriers."""
    space, found = SPACES["matmul"], 0
    for leaf in random_leaves(space, 200, seed=4):
        threads = any(value == "THREAD" for value in leaf.values())
        stored = any(value == "STORED" for value in leaf.values())
        barriers = sum(isinstance(node, Barrier) for node in walk(decode(space.backbone, leaf).body))
        assert (barriers > 0) == (threads and stored)
        found += barriers
    assert found
