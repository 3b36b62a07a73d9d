"""A program between unmapped pages beside the interpreter."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any

import numpy as np

from einloom.ir.bind import bind
from einloom.ir.held import packs_apart
from einloom.ir.interpret import interpret
from einloom.ir.memory import Memory
from einloom.ir.numbers import widened
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.machine import Machine
from einloom.targets.executable import Executable
from einloom.targets.image import image_of

from ..ir.strategies import random_memories
from ..kernels.guarded import GuardedArray


@lru_cache(1)
def _interpreted(operation: Operation, state: tuple[Any, ...]) -> tuple[list[Memory], list[Memory], tuple[Any, ...]]:
    """Return random data of an operation and what the interpreter makes of it, once for all schedules that follow.

    Random numbers begin and end in the states that are given and returned.
    """
    rng = random.Random()
    rng.setstate(state)
    memories = random_memories(rng, operation)
    expected = [Memory(memory.elements.copy(), memory.origin) for memory in memories]
    interpret(operation, expected)
    return memories, expected, rng.getstate()


def difference(
    operation: Operation,
    walked: Operation,
    schedule: Schedule,
    machine: Machine,
    rng: random.Random,
    held: tuple[int, ...] = (),
) -> str | None:
    """Run `schedule` of `walked` (`operation` with axes fused) on random data; what it is if any element is wrong.

    What it packs of `held` inputs at its beginning is packed before, into memory whose gaps nobody writes.
    """
    memories, expected, state = _interpreted(operation, rng.getstate())
    rng.setstate(state)
    guarded = [GuardedArray(len(m.elements), m.elements.dtype.name, rng.random() < 0.5) for m in memories]
    for array, memory in zip(guarded, memories):
        array.values[:] = memory.elements
    addresses = [a.values.ctypes.data + m.origin * m.elements.itemsize for a, m in zip(guarded, memories)]
    rest, copies = packs_apart(bind(walked, schedule), held)
    image = image_of(rest, machine)
    panels = {position: GuardedArray(size // 4, "float32", rng.random() < 0.5) for position, size in image.panels}
    for position, array in panels.items():
        array.poison()
        Executable(image_of(copies[position], machine))((*addresses[:-1], array.values.ctypes.data), 1)
    for position, array in panels.items():
        addresses[position] = array.values.ctypes.data
    Executable(image)(addresses, rng.choice((1, 2)))
    wrong = [
        operand
        for operand, array, wanted in zip(operation.operands, guarded, expected)
        if not np.array_equal(widened(array.values, operand.dtype), widened(wanted.elements, operand.dtype))
    ]
    for array in (*guarded, *panels.values()):
        array.close()
    return f"{operation}\n{schedule}" if wrong else None
