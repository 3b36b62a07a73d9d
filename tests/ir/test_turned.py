"""Turned tensors: real products of them are products of complex numbers, conjugated or not; nests mean the same."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from einloom.dtypes import COMPLEX64, COMPLEX128, DType
from einloom.errors import ScheduleError
from einloom.ir.bind import bind
from einloom.ir.interpret import Memory, interpret, interpret_nest
from einloom.ir.operation import TURNS, Axis, Operation, Primitive
from einloom.jit.host import host
from einloom.passes.pipeline import optimize_operation
from einloom.passes.values import Options
from einloom.plan.pairs import real_operations

from ..kernels.guarded import run_guarded
from ..targets.programs import difference
from .strategies import random_contraction


def _product(rng: random.Random, dtype: DType) -> Operation:
    operation = random_contraction(rng, dtype, most=4, points=2000)
    operands = (*operation.operands[:2], operation.operands[-1])
    return Operation(operation.axes, operands, Primitive.GEMM)


def _values(rng: random.Random, operation: Operation, position: int) -> Any:
    """Complex integers for every index: [index of axis, …], the same along axes that the operand lacks."""
    generator = np.random.default_rng(rng.randrange(2**32))
    operand = operation.operands[position]
    shape = [axis.extent if stride else 1 for axis, stride in zip(operation.axes, operand.strides)]
    parts = generator.integers(-3, 4, (2, *shape))
    return parts[0] + 1j * parts[1]


def _placed(operation: Operation, position: int, values: Any) -> Memory:
    """The values where the operand's strides put them, as reals."""
    operand = operation.operands[position]
    ends = [(axis.extent - 1) * stride for axis, stride in zip(operation.axes, operand.strides)]
    low, high = sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)
    memory = Memory(np.zeros(2 * (high - low + 1), operand.dtype.real.name), -2 * low)
    for part, each in enumerate((values.real, values.imag)):
        memory.view(each.shape, [2 * stride for stride in operand.strides], part)[...] = each
    return memory


@pytest.mark.parametrize("conjugated", [(False, False), (True, False), (False, True), (True, True)])
def test_real_products_of_turned_tensors_are_complex_products(conjugated: tuple[bool, bool]) -> None:
    for seed in range(60):
        rng = random.Random(seed)
        operation = _product(rng, COMPLEX64)
        a, b = (_values(rng, operation, position) for position in (0, 1))
        reals = real_operations(operation, conjugated)
        assert reals.turn is not None
        memories = [_placed(operation, position, values) for position, values in enumerate((a, b))]
        out = _placed(operation, 2, _values(rng, operation, 2) * 0)
        turned = Memory(np.zeros(np.prod([axis.extent for axis in reals.turn.axes]), np.float32))
        interpret(reals.turn, [memories[reals.turned], turned])
        inputs = [turned if position == reals.turned else memory for position, memory in enumerate(memories)]
        interpret(reals.main, [*inputs, out])
        summed = tuple(i for i, axis in enumerate(operation.axes) if axis.role == "k")
        factors = [np.conj(each) if sign else each for each, sign in zip((a, b), conjugated)]
        wanted = np.broadcast_to(factors[0] * factors[1], [axis.extent for axis in operation.axes]).sum(summed)
        kept = [stride for i, stride in enumerate(operation.output.strides) if i not in summed]
        result = [out.view(wanted.shape, [2 * stride for stride in kept], part) for part in (0, 1)]
        assert np.array_equal(result[0] + 1j * result[1], wanted), seed


@pytest.mark.parametrize("main", TURNS)
@pytest.mark.parametrize("dtype", [COMPLEX64, COMPLEX128], ids=str)
def test_programs_that_turn_equal_the_interpreter(vector: str, dtype: DType, main: Primitive) -> None:
    machine = host().with_vector(vector)

    def check(seed: int) -> str | None:
        rng = random.Random(seed)
        turn = real_operations(_product(rng, dtype)).turn
        assert turn is not None
        operation = replace(turn, main=main)
        fused, schedule = optimize_operation(operation, machine, Options(rng.choice((1, 2))))
        nest = bind(fused, schedule)
        memories = [Memory(np.arange(1.0, 1 + 4 * 2000 * 40)), Memory(np.zeros(4 * operation.points))]
        memories[0] = Memory(memories[0].elements, 4 * 2000 * 20)
        other = Memory(np.zeros(4 * operation.points))
        interpret(operation, memories)
        interpret_nest(nest, [memories[0], other])
        if not np.array_equal(memories[1].elements, other.elements):
            return f"another nest: {operation}\n{schedule}"
        return difference(operation, fused, schedule, machine, rng)

    assert run_guarded(list(range(40)), check) is None


def test_turning_takes_elements_of_two_parts() -> None:
    turn = real_operations(_product(random.Random(1), COMPLEX64)).turn
    assert turn is not None
    with pytest.raises(ScheduleError, match="two parts"):
        replace(turn, axes=(*turn.axes[:-1], Axis("part", 3, turn.axes[-1].role)))
