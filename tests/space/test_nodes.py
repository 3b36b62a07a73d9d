"""Nodes of a search tree: a state packed into 2 KB at most, and back without propagation."""

from __future__ import annotations

from random import Random

import pytest

from einloom.csp import descend
from einloom.space import gpu


@pytest.mark.parametrize("sizes", [{"m": 256, "n": 256, "k": 32}, {"m": 1024, "n": 1024, "k": 1024}])
def test_nodes_of_a_product_pack_into_two_kilobytes(sizes: dict[str, int]) -> None:
    space = gpu("matmul", **sizes)
    slots, other = space.slots(None), space.problem.state()
    depths = [10, 25, 50, 75, 100, 150, 200, len(slots)]
    for seed, depth in enumerate(depths):
        state = space.problem.state()
        if descend(state, Random(seed), slots[:depth]):
            packed = state.pack()
            assert len(packed) <= 2048
            other.unpack(packed)
            assert (other.domains, other.rows, other.numbers) == (state.domains, state.rows, state.numbers)
            assert other.is_leaf == state.is_leaf and other.snapshot() == state.snapshot()


def test_what_was_unpacked_goes_on_as_the_packed_state_does() -> None:
    space = gpu("matmul", m=256, n=256, k=32)
    slots = space.slots(None)
    state, other = space.problem.state(), space.problem.state()
    assert descend(state, Random(3), slots[:40])
    other.unpack(state.pack())
    found = [descend(each, Random(7), slots) for each in (state, other)]
    assert found[0] == found[1] and other.snapshot() == state.snapshot()
