"""Programs over fused axes equal the interpreter and touch nothing else."""

from __future__ import annotations

import random

import numpy as np
import pytest

from einloom.dtypes import FLOAT32
from einloom.ir.bind import bind
from einloom.ir.interpret import Memory, interpret
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.jit.host import host
from einloom.targets.executable import Executable

from ..ir.strategies import fused_cases, random_memories
from ..kernels.guarded import GuardedArray, run_guarded
from ..kernels.test_brgemm import vectors_of_host


@pytest.mark.parametrize("vector", vectors_of_host())
def test_programs_over_fused_axes_equal_the_interpreter(vector: str) -> None:
    def check(case: tuple[Operation, Schedule]) -> str | None:
        operation, schedule = case
        rng = random.Random(str(schedule))
        memories = random_memories(rng, operation)
        expected = [Memory(memory.elements.copy(), memory.origin) for memory in memories]
        interpret(operation, expected)
        guarded = [GuardedArray(len(m.elements), m.elements.dtype.name, rng.random() < 0.5) for m in memories]
        for array, memory in zip(guarded, memories):
            array.values[:] = memory.elements
        addresses = tuple(a.values.ctypes.data + m.origin * m.elements.itemsize for a, m in zip(guarded, memories))
        Executable(bind(operation, schedule), host().with_vector(vector))(addresses, rng.choice((1, 2)))
        wrong = [a for a, wanted in zip(guarded, expected) if not np.array_equal(a.values, wanted.elements)]
        for array in guarded:
            array.close()
        return f"{operation}\n{schedule}" if wrong else None

    cases = fused_cases(FLOAT32, 1000)
    assert len(cases) > 150
    assert run_guarded(cases, check) is None
