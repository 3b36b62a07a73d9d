"""Packs in groups mean what their operations mean, on machines without products of groups too."""

from __future__ import annotations

import random

import numpy as np
import pytest

from einloom.dtypes import BFLOAT16, FLOAT32, INT8, INT32, UINT8, DType
from einloom.ir.bind import bind
from einloom.ir.interpret import interpret, interpret_nest
from einloom.ir.memory import Memory
from einloom.ir.nest import Call, Loop, Pack, walk
from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.ir.text import parse_schedule

from .strategies import random_memories

TYPES = [(BFLOAT16, BFLOAT16, FLOAT32), (INT8, INT8, INT32), (UINT8, INT8, INT32)]


def _product(types: tuple[DType, DType, DType]) -> Operation:
    """A product with rows of 45 in the first input, no whole number of groups, and of 27 in the second one."""
    axes = (Axis("i", 21, DimType.M), Axis("j", 27, DimType.N), Axis("l", 45, DimType.K))
    strides = (("in0", (45, 0, 1)), ("in1", (0, 1, 27)), ("out", (27, 1, 0)))
    operands = tuple(Operand(name, dtype, each) for (name, each), dtype in zip(strides, types))
    return Operation(axes, operands, Primitive.GEMM, Touch(Primitive.ZERO))


@pytest.mark.parametrize("types", TYPES, ids=str)
def test_loops_around_the_copy_go_from_panel_to_panel(types: tuple[DType, DType, DType]) -> None:
    """Over panels of both inputs, and over a few rows of the one whose rows lie apart."""
    a, b, _ = types
    packs = f"pack in1@1:{b} j:8 l j pack in0@1:{a} i:4 l i"
    schedule = parse_schedule(f"seq l:40 seq j:8 seq i:4 prim m=j n=i k=l {packs}")
    operation = _product(types)
    nest = bind(operation, schedule)
    copies = [list(walk(node.body)) for node in walk(nest.body) if isinstance(node, Pack)]
    assert all(any(isinstance(node, Call) and node.group > 1 for node in copy) for copy in copies)
    assert {node.name for copy in copies for node in copy if isinstance(node, Loop)} == {"in1.j.0", "in1.l", "in0.i.0"}
    memories = random_memories(random.Random(1), operation)
    expected = [Memory(memory.elements.copy(), memory.origin) for memory in memories]
    interpret(operation, expected)
    interpret_nest(nest, memories)
    assert np.array_equal(memories[-1].elements, expected[-1].elements)
