"""Tiny contractions by tables equal the interpreter, exactly, between unmapped pages."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from einloom.dtypes import FLOAT32, FLOAT64, DType
from einloom.ir.interpret import interpret
from einloom.ir.memory import Memory
from einloom.ir.operation import DimType, Operation, Primitive, Touch
from einloom.jit import host
from einloom.jit.arrays import array_address
from einloom.targets.by_table import MOST_PRODUCTS, is_tiny, table_of, table_program

from ..ir.strategies import random_contraction, random_memories
from ..isas import vectors_of_host
from ..kernels.guarded import GuardedArray


def plain(operation: Operation, rng: random.Random) -> Operation:
    """The operation as a step of a tree: products, or sums of one tensor, from zero on and without touches."""
    first, second, output = (*operation.inputs, operation.output)
    sole = rng.random() < 0.3
    operation = replace(operation, operands=(first, second, output), first_touch=Touch(Primitive.ZERO), last_touches=())
    if not sole:
        return operation
    axes = [i for i, axis in enumerate(operation.axes) if axis.role is not DimType.N]
    kept = tuple(replace(o, strides=tuple(o.strides[i] for i in axes)) for o in (first, output))
    return replace(operation, axes=tuple(operation.axes[i] for i in axes), operands=kept, main=Primitive.SUM)


@pytest.mark.parametrize("vector", vectors_of_host())
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
def test_tables_equal_the_interpreter(vector: str, dtype: DType) -> None:
    machine = host().with_vector(vector)
    for seed in range(60):
        rng = random.Random(seed)
        operation = plain(random_contraction(rng, dtype, points=MOST_PRODUCTS), rng)
        assert is_tiny(operation)
        memories = random_memories(rng, operation)
        expected = [Memory(memory.elements.copy(), memory.origin) for memory in memories]
        interpret(operation, expected)
        guarded = [GuardedArray(len(m.elements), m.elements.dtype.name, rng.random() < 0.5) for m in memories]
        for array, memory in zip(guarded, memories):
            array.values[:] = memory.elements
        places = [a.values.ctypes.data + m.origin * m.elements.itemsize for a, m in zip(guarded, memories)]
        table = table_of(operation)
        table_program(operation, machine).run(places, 1, array_address(table))
        assert all((a.values == e.elements).all() for a, e in zip(guarded, expected)), f"{seed}\n{operation}"
        for array in guarded:
            array.close()


def test_what_a_table_cannot_say_is_not_tiny() -> None:
    operation = plain(random_contraction(random.Random(3), FLOAT32, points=MOST_PRODUCTS), random.Random(0))
    assert is_tiny(operation)
    assert not is_tiny(replace(operation, last_touches=(Touch(Primitive.RELU),)))
    assert not is_tiny(replace(operation, first_touch=Touch(Primitive.NONE)))
    large = tuple(replace(axis, extent=axis.extent + MOST_PRODUCTS) for axis in operation.axes)
    assert not is_tiny(replace(operation, axes=large))
