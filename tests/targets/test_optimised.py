"""Whatever the passes decide, the program equals the interpreter and touches nothing else: random operations."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from einloom.dtypes import FLOAT32, FLOAT64
from einloom.ir.bind import bind
from einloom.ir.interpret import Memory, interpret
from einloom.jit.host import host
from einloom.machine import Machine
from einloom.passes.pipeline import optimize_operation
from einloom.passes.values import Options
from einloom.passes.vectorise_large_input import vectorise_large_input
from einloom.targets.executable import Executable

from ..ir.strategies import random_memories, random_operation, random_reading
from ..kernels.guarded import GuardedArray, run_guarded


def _machines(vector: str) -> tuple[Machine, ...]:
    """This host, and one with caches so small that everything is blocked, packed and staged."""
    machine = host().with_vector(vector)
    return machine, replace(machine, l1d=1024, l2=2048, l3=4096)


def _check(case: tuple[str, int, bool]) -> str | None:
    vector, seed, reads = case
    rng = random.Random(seed)
    dtype = rng.choice((FLOAT32, FLOAT64))
    operation = random_reading(rng, dtype) if reads else random_operation(rng, dtype, points=5000)
    fused, schedule = optimize_operation(operation, rng.choice(_machines(vector)), Options(rng.choice((1, 2, 3))))
    memories = random_memories(rng, operation)
    expected = [Memory(memory.elements.copy(), memory.origin) for memory in memories]
    interpret(operation, expected)
    guarded = [GuardedArray(len(m.elements), m.elements.dtype.name, rng.random() < 0.5) for m in memories]
    for array, memory in zip(guarded, memories):
        array.values[:] = memory.elements
    addresses = tuple(a.values.ctypes.data + m.origin * m.elements.itemsize for a, m in zip(guarded, memories))
    Executable(bind(fused, schedule), host().with_vector(vector))(addresses, rng.choice((1, 2)))
    wrong = [a for a, wanted in zip(guarded, expected) if not np.array_equal(a.values, wanted.elements)]
    for array in guarded:
        array.close()
    return f"{operation}\n{schedule}" if wrong else None


@pytest.mark.parametrize("block", range(4))
def test_optimised_programs_equal_the_interpreter(vector: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("einloom.passes.parallelise.LEAST_WORK", 1)  # Threads share even the smallest work.
    assert run_guarded([(vector, seed, False) for seed in range(block * 100, block * 100 + 100)], _check) is None


def test_contractions_of_a_large_input_equal_the_interpreter(vector: str) -> None:
    machine = host().with_vector(vector)
    turned = [vectorise_large_input(random_reading(random.Random(seed), FLOAT32), machine) for seed in range(100)]
    assert sum(schedule is not None for schedule in turned) > 10
    assert run_guarded([(vector, seed, True) for seed in range(100)], _check) is None
