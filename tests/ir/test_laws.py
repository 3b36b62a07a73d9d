"""Laws: texts parse back, and a bound nest means what its operation means, whatever the schedule."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from einloom.dtypes import FLOAT32, FLOAT64
from einloom.ir.bind import bind
from einloom.ir.interpret import interpret, interpret_nest
from einloom.ir.memory import Memory
from einloom.ir.nest import Loop, Nest, walk
from einloom.ir.text import parse_operation, parse_schedule

from .strategies import random_memories, random_operation, random_schedule


def _same_meaning(seed: int, break_nest: bool = False) -> bool:
    rng = random.Random(seed)
    operation = random_operation(rng, rng.choice((FLOAT32, FLOAT64)), points=3000)
    nest = bind(operation, random_schedule(rng, operation))
    if break_nest:
        nest = _with_a_loop_that_moves_too_far(nest)
    memories = random_memories(rng, operation)
    expected = [Memory(memory.elements.copy(), memory.origin) for memory in memories]
    interpret(operation, expected)
    try:
        interpret_nest(nest, memories)
    except IndexError:
        return False
    return all(np.array_equal(a.elements, b.elements) for a, b in zip(expected, memories))


def _with_a_loop_that_moves_too_far(nest: Nest) -> Nest:
    def mend(nodes):
        return tuple(
            replace(n, body=mend(n.body), advances=tuple((b, d + 1) for b, d in n.advances))
            if isinstance(n, Loop)
            else n
            for n in nodes
        )

    return replace(nest, body=mend(nest.body))


@pytest.mark.parametrize("block", range(10))
def test_a_nest_means_what_its_operation_means(block: int) -> None:
    wrong = [seed for seed in range(block * 50, block * 50 + 50) if not _same_meaning(seed)]
    assert not wrong


def test_the_comparison_sees_a_broken_nest() -> None:
    assert sum(not _same_meaning(seed, break_nest=True) for seed in range(40)) > 10


def test_texts_parse_back() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        operation = random_operation(rng, FLOAT64)
        schedule = random_schedule(rng, operation)
        assert parse_operation(str(operation)) == operation
        assert parse_schedule(str(schedule)) == schedule


def test_names_of_loops_are_unique() -> None:
    rng = random.Random(7)
    for _ in range(50):
        operation = random_operation(rng, FLOAT32)
        names = [n.name for n in walk(bind(operation, random_schedule(rng, operation)).body) if isinstance(n, Loop)]
        assert len(set(names)) == len(names)
