"""Walks of decision trees with a bound at every node: what the tests of the model share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from einloom.csp import single_values
from einloom.space import Bound, GpuModel, GpuRates, Space
from einloom.space.assignment import Assignment

ENDLESS = GpuRates(
    clock=1e9,
    processors=4,
    issue=1e9,
    warp_issue=1e9,
    arithmetic_lanes=1e9,
    memory_lanes=1e9,
    shared_words=1e9,
    l2_bytes=1e9,
    memory_bandwidth=1e18,
    l2_capacity=0,
    max_warps=1000,
    max_blocks=1000,
    registers=10**9,
    shared_capacity=10**9,
    arithmetic_latency=0,
    shared_latency=0,
    cached_latency=0,
    l2_latency=0,
)
"""A GPU on which nothing takes any time to speak of."""


def on(space: Space, rates: GpuRates, **limits: object) -> Space:
    """Return a space on a device with other rates."""
    return Space(space.kernel, replace(space.device, rates=rates, **limits), space.order)


def model_of(space: Space, rates: GpuRates) -> GpuModel:
    """Return a model of a space that believes in other rates than its device's."""
    return GpuModel(space.problem, space.backbone, space.device, rates)


def every_path(space: Space, *models: GpuModel) -> Iterator[tuple[Assignment, tuple[list[Bound], ...]]]:
    """Yield every leaf with the bounds of the candidates above it and its own: a list for each model."""
    state, slots = space.problem.state(), space.slots()

    def visit(paths: tuple[list[Bound], ...]) -> Iterator[tuple[Assignment, tuple[list[Bound], ...]]]:
        paths = tuple([*path, model.bound(state)] for path, model in zip(paths, models))
        slot = state.next_open(slots)
        if slot < 0:
            yield Assignment(space.backbone, space.decided(state)), paths
            return
        for mask in single_values(state.domains[slot]):
            state.push()
            if state.restrict(slot, mask):
                yield from visit(paths)
            state.pop()

    return visit(tuple([] for _ in models))


def random_paths(
    space: Space, model: GpuModel, count: int, seed: int, anywhere: bool = False
) -> Iterator[tuple[Assignment | None, list[Bound]]]:
    """Yield random descents: a leaf, or None for a dead end, with the bounds on the way; decisions in the space's order
    or, `anywhere`, in any."""
    random, slots = Random(seed), space.slots()
    for _ in range(count):
        state = space.problem.state()
        path, alive = [model.bound(state)], True
        while alive and (open_slots := state.open()):
            slot = random.choice(open_slots) if anywhere else state.next_open(slots)
            values = single_values(state.domains[slot])
            random.shuffle(values)
            alive = False
            for mask in values:
                state.push()
                if alive := state.restrict(slot, mask):
                    state.drop()
                    break
                state.pop()
            path.append(model.bound(state))
        yield Assignment(space.backbone, space.decided(state)) if alive else None, path
