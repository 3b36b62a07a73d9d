"""A program between unmapped pages beside the interpreter."""

from __future__ import annotations

import random

import numpy as np

from einloom.ir.bind import bind
from einloom.ir.interpret import Memory, interpret
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.machine import Machine
from einloom.targets.executable import Executable
from einloom.targets.image import image_of

from ..ir.strategies import random_memories
from ..kernels.guarded import GuardedArray


def difference(
    operation: Operation, walked: Operation, schedule: Schedule, machine: Machine, rng: random.Random
) -> str | None:
    """Run `schedule` of `walked` (`operation` with axes fused) on random data; what it is if any byte is wrong."""
    memories = random_memories(rng, operation)
    expected = [Memory(memory.elements.copy(), memory.origin) for memory in memories]
    interpret(operation, expected)
    guarded = [GuardedArray(len(m.elements), m.elements.dtype.name, rng.random() < 0.5) for m in memories]
    for array, memory in zip(guarded, memories):
        array.values[:] = memory.elements
    addresses = tuple(a.values.ctypes.data + m.origin * m.elements.itemsize for a, m in zip(guarded, memories))
    Executable(image_of(bind(walked, schedule), machine))(addresses, rng.choice((1, 2)))
    wrong = [a for a, wanted in zip(guarded, expected) if not np.array_equal(a.values, wanted.elements)]
    for array in guarded:
        array.close()
    return f"{operation}\n{schedule}" if wrong else None
