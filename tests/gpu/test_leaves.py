"""Random leaves of GPU spaces as launches: legal, without races, right in every type, and sensitive to mutations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

import pytest

from einloom.ir.gpu.launch import Launch, LaunchNode, Repeat, Role, Space
from einloom.ir.gpu.simt import LaunchFault, run_launch
from einloom.ir.gpu.text import read_launch, write_launch
from einloom.ir.statement import Barrier, Place, Statement
from einloom.space.kernels import Kernel
from tests.gpu.leaves import TYPES_OF_GPUS, Operands, contractions, named_kernels, space_of
from tests.soak import soak_count
from tests.space.implementations import Meaning

SEEDS = soak_count(1000, 0.002)
Edit = Callable[[LaunchNode, Launch, set[str]], LaunchNode | None]
ALL = [*named_kernels(), *contractions()]


@pytest.mark.soak
@pytest.mark.parametrize("made", ALL, ids=lambda made: made.name[:60])
def test_random_leaves_are_right(made: Kernel):
    space, meaning = space_of(made), Meaning(made)
    for seed in range(SEEDS):
        launch = space.random_leaf(seed).launch()
        assert read_launch(write_launch(launch)) == launch
        operands = Operands(meaning, launch)
        memory = operands.fresh()
        run_launch(launch, memory)
        assert operands.wrong(memory) == [], write_launch(launch)


@pytest.mark.parametrize("dtype", TYPES_OF_GPUS)
def test_every_type_is_right(dtype: str):
    for made in list(named_kernels(dtype))[1:2]:
        launch = space_of(made).random_leaf(3).launch()
        operands = Operands(Meaning(made), launch)
        memory = operands.fresh()
        run_launch(launch, memory)
        assert operands.wrong(memory) == [], write_launch(launch)


def test_mutations_are_seen():
    """A barrier less, an element too far, a store by all threads: each is reported, or changes the result."""
    seen: dict[str, list[bool]] = {"barrier": [], "offset": [], "limit": []}
    for made in ALL[3:6]:
        space, meaning = space_of(made), Meaning(made)
        for seed in range(4):
            launch = space.random_leaf(seed).launch()
            for kind, mutant in _mutants(launch):
                seen[kind].append(_is_seen(mutant, meaning))
    assert all(len(found) >= 5 for found in seen.values()), {kind: len(found) for kind, found in seen.items()}
    assert all(seen["offset"]) and all(seen["limit"])
    # Barriers keep arrays apart, whoever touches their elements: where each thread reads its own, none is missed.
    assert sum(seen["barrier"]) > 0.5 * len(seen["barrier"])


def _is_seen(mutant: Launch, meaning: Meaning) -> bool:
    operands = Operands(meaning, mutant)
    memory = operands.fresh()
    try:
        run_launch(mutant, memory)
    except LaunchFault:
        return True
    return operands.wrong(memory) != []


def _mutants(launch: Launch) -> Iterator[tuple[str, Launch]]:
    """Yield the launch with one barrier less, with one store a place further, with one store by all threads."""
    edits = {"barrier": _no_barrier, "offset": _further, "limit": _by_all}
    threads = {level.name for level in launch.block if level.extent > 1}
    for kind, edit in edits.items():
        for position in range(sum(1 for _ in _nodes(launch.body))):
            body = _edited(launch.body, edit, count(), position, launch, threads)
            if body != launch.body:
                yield kind, replace(launch, body=body)


def _edited(
    nodes: tuple[LaunchNode, ...], edit: Edit, number: Iterator[int], position: int, launch: Launch, threads: set[str]
) -> tuple[LaunchNode, ...]:
    """Return the nodes with the one at a position edited, or left out."""
    found: list[LaunchNode] = []
    for node in nodes:
        here = next(number) == position
        if isinstance(node, Repeat):
            node = replace(node, body=_edited(node.body, edit, number, position, launch, threads))
        changed = edit(node, launch, threads) if here else node
        found += [changed] if changed is not None else []
    return tuple(found)


def _no_barrier(node: LaunchNode, launch: Launch, threads: set[str]) -> LaunchNode | None:
    return None if isinstance(node, Barrier) else node


def _further(node: LaunchNode, launch: Launch, threads: set[str]) -> LaunchNode:
    """A store whose first index is counted double: what it skips stays poison."""
    if not isinstance(node, Statement) or launch.array[node.output.buffer].role is not Role.OUT:
        return node
    extents = {level.name: level.extent for level in (*launch.grid, *launch.block)}
    for term, (name, factor) in enumerate(node.output.terms):
        if extents.get(name, 1) > 1:
            terms = (*node.output.terms[:term], (name, factor + 1), *node.output.terms[term + 1 :])
            return replace(node, output=Place(node.output.buffer, terms))
    return node


def _by_all(node: LaunchNode, launch: Launch, threads: set[str]) -> LaunchNode:
    """A store that every thread does which the first one should do alone."""
    if not isinstance(node, Statement) or launch.array[node.output.buffer].space is Space.REGISTER:
        return node
    kept = tuple(each for each in node.within if not (each[1] == 1 and each[0][0][0] in threads))
    return replace(node, within=kept)


def _nodes(nodes: tuple[LaunchNode, ...]) -> Iterator[LaunchNode]:
    for node in nodes:
        yield node
        if isinstance(node, Repeat):
            yield from _nodes(node.body)
