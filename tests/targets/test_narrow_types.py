"""Contractions of narrow types as the passes decide them: the code's result is the interpreter's."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from einloom.dtypes import BFLOAT16, FLOAT16, FLOAT32, DType
from einloom.ir.bind import bind
from einloom.ir.interpret import interpret
from einloom.ir.memory import Memory
from einloom.ir.numbers import elements_of
from einloom.ir.operation import Operation
from einloom.jit import host
from einloom.jit.tiles import host_with_tiles
from einloom.machine import TILES, Machine
from einloom.passes.pipeline import optimize_operation
from einloom.passes.values import Options
from einloom.plan.paths import contraction_path
from einloom.plan.problem import make_problem
from einloom.plan.steps import plan_problem
from einloom.targets.executable import Executable
from einloom.targets.image import image_of
from tests.kernels.guarded import GuardedArray, run_guarded
from tests.soak import soak_count
from tests.targets.test_groups import contents

MOST_POINTS = 600_000

EQUATIONS = (
    "ab,bc->ac",
    "ab,cb->ac",
    "ba,bc->ac",
    "ba,bc->ca",
    "abc,bd->acd",
    "abc,abd->acd",
    "abc,cbd->ad",
    "abcd,ebfd->aecf",
    "ab,b->a",
    "abc,cb->a",
    "ab->b",
    "abc->cab",
)
TYPES = [
    (BFLOAT16, BFLOAT16, BFLOAT16),
    (BFLOAT16, BFLOAT16, FLOAT32),
    (FLOAT16, FLOAT16, FLOAT16),
    (BFLOAT16, FLOAT32, FLOAT32),
]


def drawn_sizes(labels: set[str], rng: random.Random) -> dict[str, int]:
    """Return extents of labels, of some ten thousand to a million points in all."""
    while True:
        sizes = {label: rng.choice((1, 2, 7, 16, 33, 40, 64, 90)) for label in sorted(labels)}
        if math.prod(sizes.values()) < MOST_POINTS:
            return sizes


def operation_of(equation: str, types: tuple[DType, ...], rng: random.Random) -> Operation:
    """Return the only step of an equation, of random sizes."""
    inputs = equation.split("->")[0].split(",")
    sizes = drawn_sizes(set(equation) & set("abcdef"), rng)
    shapes = [tuple(sizes[label] for label in term) for term in inputs]
    problem = make_problem(equation, shapes, [None] * len(shapes), "float32")
    (step,) = plan_problem(problem, None, contraction_path(problem, "auto", None)).steps
    chosen = (*types[: len(inputs)], types[-1]) if len(inputs) == 2 else (types[0], types[-1])
    operands = tuple(replace(operand, dtype=dtype) for operand, dtype in zip(step.operation.operands, chosen))
    return replace(step.operation, operands=operands)


def check(case: tuple[Operation, Machine, int]) -> str | None:
    """Compare the program that the passes choose with the interpreter: all sums are exact in float32."""
    operation, machine, threads = case
    given = contents(operation, 5)
    expected = [Memory(elements.copy()) for elements in given]
    interpret(operation, expected)
    walked, schedule = optimize_operation(operation, machine, Options(threads))
    guarded = [GuardedArray(len(e), elements_of(o.dtype).name) for e, o in zip(given, operation.operands)]
    for array, elements in zip(guarded, given):
        array.values[:] = elements
    executable = Executable(image_of(bind(walked, schedule), machine))
    executable(tuple(array.values.ctypes.data for array in guarded), threads)
    equal = np.array_equal(guarded[-1].values, expected[-1].elements)
    for array in guarded:
        array.close()
    return None if equal else f"{schedule}"


def machines() -> list[Machine]:
    """Return the machines whose code runs here."""
    tiled, plain = host_with_tiles(), host()
    found = [plain, *([tiled] if TILES in tiled.features else [])]
    return [*found, plain.with_vector("avx2")] if plain.vector == "avx512" else found


@pytest.mark.soak
@pytest.mark.parametrize("types", TYPES, ids=str)
def test_programs_for_narrow_types_equal_the_interpreter(types: tuple[DType, ...]) -> None:
    rng, cases = random.Random(str(types)), []
    for machine in machines():
        for _ in range(soak_count(200)):
            operation = operation_of(rng.choice(EQUATIONS), types, rng)
            cases.append((operation, machine, rng.choice((1, 2))))
    assert run_guarded(cases, check) is None
