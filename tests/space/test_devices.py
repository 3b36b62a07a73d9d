"""Limits of devices: what a narrow device allows is what its checker accepts of a wide device's implementations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from einloom import csp
from einloom.csp import single_values
from einloom.errors import ScheduleError
from einloom.space import GpuDevice, gpu
from einloom.space.assignment import Assignment
from einloom.space.builder import Builder
from einloom.space.candidate import Space
from einloom.space.checker import violations
from einloom.space.kernels import Kernel

WIDE = GpuDevice("wide", max_unroll=1, vector_widths=(), max_block_levels=0)
NARROW = {
    "short inside": {"max_thread_extents": (2, 4, 4)},
    "short outside": {"max_thread_extents": (4, 2, 1)},
    "two levels": {"max_thread_levels": 2, "max_thread_extents": (2, 4)},
    "one level": {"max_thread_levels": 1, "max_thread_extents": (2,)},
    "no threads": {"max_thread_levels": 0, "max_thread_extents": ()},
}


def copy_space(device: GpuDevice) -> Space:
    """Return the space of z[n] = x[n] with three tiles."""
    b = Builder("copy")
    n = b.axis("n", 16, ((2, 4), (2,), (2,)))
    b.store(b.output("z", n), b.load(b.input("x", n)))
    return Space(Kernel(b.backbone(), lambda v: {"z": v["x"]}), device)


def leaves(space: Space) -> Iterator[dict[str, str | int]]:
    """Yield every leaf of a space."""

    def visit(state: csp.State) -> Iterator[dict[str, str | int]]:
        slot = state.next_open(space.slots())
        if slot < 0:
            yield space.decided(state)
            return
        for mask in single_values(state.domains[slot]):
            state.push()
            if state.restrict(slot, mask):
                yield from visit(state)
            state.pop()

    return visit(space.problem.state())


@cache
def wide_leaves() -> list[dict[str, str | int]]:
    """Return every leaf on the wide device."""
    return list(leaves(copy_space(WIDE)))


@pytest.mark.parametrize("name", NARROW)
def test_a_narrow_device_keeps_exactly_what_its_checker_accepts(name):
    narrow = replace(WIDE, **NARROW[name])
    space, every = copy_space(narrow), wide_leaves()
    legal = [leaf for leaf in every if not violations(Assignment(space.backbone, leaf), narrow)]
    assert list(leaves(space)) == legal
    assert 0 < len(legal) < len(every)


@pytest.mark.parametrize("extents", [(16, 64, 64), (4, 2, 64), (2, 4)])
def test_thread_extents_bind_kernels_too(extents):
    device = GpuDevice("narrow", max_thread_levels=len(extents), max_thread_extents=extents)
    space = gpu("axpy", n=4096, device=device)
    found = [space.random_leaf(seed) for seed in range(20)]
    assert all(leaf.violations() == () for leaf in found)
    assert any("THREAD" in leaf.assignment.values() for leaf in found)


def test_thread_levels_need_extents():
    with pytest.raises(ScheduleError, match="one number for each level"):
        GpuDevice("odd", max_thread_levels=3, max_thread_extents=(64, 64))
