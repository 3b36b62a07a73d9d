"""Generated programs equal the interpreter: random operations and schedules, on every vector ISA of this host."""

from __future__ import annotations

import random

import numpy as np
import pytest

import einloom as el
from einloom.dtypes import COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, DType
from einloom.errors import UnsupportedTarget
from einloom.ir.bind import bind
from einloom.ir.interpret import interpret
from einloom.ir.memory import Memory
from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.ir.schedule import Schedule
from einloom.jit.host import host
from einloom.machine import AVX512, Machine
from einloom.passes.pipeline import optimize_operation
from einloom.plan.pairs import on_reals
from einloom.targets.executable import Executable
from einloom.targets.image import image_of

from ..ir.strategies import random_memories, random_operation, random_schedule


def run(operation: Operation, schedule: Schedule, machine: Machine, memories: list[Memory], threads: int) -> None:
    """Execute on the memories, whose elements are where generated code finds them."""
    nest = bind(operation, schedule)
    addresses = tuple(m.elements.ctypes.data + m.origin * m.elements.itemsize for m in memories)
    Executable(image_of(nest, machine))(addresses, threads)


@pytest.mark.parametrize("block", range(6))
def test_programs_equal_the_interpreter(vector: str, block: int) -> None:
    machine = host().with_vector(vector)
    for seed in range(block * 40, block * 40 + 40):
        rng = random.Random(seed)
        operation = random_operation(rng, rng.choice((FLOAT32, FLOAT64)), points=5000)
        schedule = random_schedule(rng, operation)
        memories = random_memories(rng, operation)
        expected = [Memory(memory.elements.copy(), memory.origin) for memory in memories]
        interpret(operation, expected)
        run(operation, schedule, machine, memories, rng.choice((1, 2, 3)))
        for given, wanted in zip(memories, expected):
            assert np.array_equal(given.elements, wanted.elements), f"seed {seed}\n{operation}\n{schedule}"


def test_outputs_beyond_l2_are_asked_for_early() -> None:
    """Eight products are few: only a tensor that L2 does not hold is fetched while they are computed."""
    counts = []
    for columns in (AVX512.l2 // 4 // 64, AVX512.l2 // 4 // 64 + 1):
        far = el.compile("mk,kn->mn", (64, 8), (8, columns), dtype="float32", threads=1, target=AVX512)
        counts.append(far.show("asm").count("prefetch"))
    assert counts[0] == 0 < counts[1]


@pytest.mark.parametrize("dtype", [COMPLEX64, COMPLEX128], ids=str)
def test_a_sum_of_complex_elements_is_refused_with_what_sums_them(dtype: DType) -> None:
    """Its plan is one on the parts, which generated programs compute."""
    axes = (Axis("a", 5, DimType.M), Axis("b", 9, DimType.K))
    operands = Operand("in0", dtype, (9, 1)), Operand("out", dtype, (1, 0))
    operation = Operation(axes, operands, Primitive.SUM, Touch(Primitive.ZERO))
    with pytest.raises(UnsupportedTarget, match=rf"no kernel sums {dtype}\n  Sum {dtype.real} .*on_reals"):
        image_of(bind(*optimize_operation(operation, AVX512)), AVX512)
    assert image_of(bind(*optimize_operation(on_reals(operation), AVX512)), AVX512).code
