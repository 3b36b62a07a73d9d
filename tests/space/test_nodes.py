"""Nodes of a search tree: a state packed into 2 KB at most, and back without propagation."""

from __future__ import annotations

from random import Random

from einloom.csp import descend
from einloom.space import gpu


def test_leaves_of_a_product_pack_into_two_kilobytes() -> None:
    space = gpu("matmul", m=256, n=256, k=32)
    slots, other = space.slots(None), space.problem.state()
    for seed in range(6):
        state = space.problem.state()
        if descend(state, Random(seed), slots):
            packed = state.pack()
            assert len(packed) <= 2048
            other.unpack(packed)
            assert (other.domains, other.rows, other.numbers) == (state.domains, state.rows, state.numbers)
            assert other.is_leaf and other.snapshot() == state.snapshot()
