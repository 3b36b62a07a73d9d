"""Nests whose packs put neighbours along k side by side: the interpreter and generated code equal the operation."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from einloom.dtypes import BFLOAT16, FLOAT32, INT8, INT32, UINT8, DType, Kind
from einloom.errors import ScheduleError
from einloom.ir.bind import bind
from einloom.ir.interpret import interpret, interpret_nest
from einloom.ir.memory import Memory
from einloom.ir.numbers import elements_of, narrowed
from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.ir.text import parse_schedule
from einloom.jit.tiles import host_with_tiles
from einloom.machine import TILES, Machine
from einloom.targets.executable import Executable
from einloom.targets.image import image_of
from tests.kernels.guarded import GuardedArray, run_guarded

PACKED = "pack in1@2:{a} l j pack in0@3:{b} i l"
SCHEDULES = {
    "both packed": "seq l:32 seq j:16 seq i:8 prim m=j n=i k=l " + PACKED,
    "one packed": "seq l:32 seq j:16 seq i:8 prim m=j n=i k=l pack in1@2:{a} l j",
    "panels": "seq l:40 seq j:32 seq i:8 prim m=j n=i k=l pack in1@1:{a} j:32 l j pack in0@1:{b} i l",
    "staged": "seq l:32 seq j:32 seq i:8 prim m=j n=i k=l pack in1@1:{a} j:32 l j pack in0@1:{b} i l pack out@0 i j",
}
TYPES = [(BFLOAT16, BFLOAT16, FLOAT32), (INT8, INT8, INT32), (UINT8, INT8, INT32)]


def product(types: tuple[DType, DType, DType], i: int, j: int, k: int, rows: bool) -> Operation:
    """Return a matrix product with k contiguous in the first input, and in the second one too if `rows`."""
    axes = (Axis("i", i, DimType.M), Axis("j", j, DimType.N), Axis("l", k, DimType.K))
    second = (0, k, 1) if rows else (0, 1, j)
    strides = (("in0", (k, 0, 1)), ("in1", second), ("out", (j, 1, 0)))
    operands = tuple(Operand(name, dtype, each) for (name, each), dtype in zip(strides, types))
    return Operation(axes, operands, Primitive.GEMM, Touch(Primitive.ZERO))


def contents(operation: Operation, seed: int) -> list[Any]:
    """Return elements for the operands, whole numbers that are summed exactly."""
    generator, made = np.random.default_rng(seed), []
    for operand in operation.operands:
        size = 1 + sum((axis.extent - 1) * stride for axis, stride in zip(operation.axes, operand.strides))
        low = 0 if operand.dtype.kind is Kind.UNSIGNED else -8
        made.append(narrowed(generator.integers(low, 100, size).astype(float), operand.dtype))
    return made


def check(case: tuple[Operation, str, Machine]) -> str | None:
    """Compare interpreter and code with the operation."""
    operation, text, machine = case
    given = contents(operation, 3)
    expected = [Memory(elements.copy()) for elements in given]
    interpret(operation, expected)
    nest = bind(operation, parse_schedule(text))
    interpreted = [Memory(elements.copy()) for elements in given]
    interpret_nest(nest, interpreted)
    if not np.array_equal(interpreted[-1].elements, expected[-1].elements):
        return "the interpreter finds another result"
    guarded = [GuardedArray(len(e), elements_of(o.dtype).name) for e, o in zip(given, operation.operands)]
    for array, elements in zip(guarded, given):
        array.values[:] = elements
    Executable(image_of(nest, machine))(tuple(array.values.ctypes.data for array in guarded), 1)
    return None if np.array_equal(guarded[-1].values, expected[-1].elements) else "code finds another result"


def machines(types: tuple[DType, ...]) -> list[Machine]:
    """Return what this host can do with products of these types in groups."""
    host = host_with_tiles()
    without = replace(host, features=host.features - {TILES})
    found = [host] if TILES in host.features else []
    return [*found, without] if types[0] is BFLOAT16 and "avx512bf16" in host.features else found


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("types", TYPES, ids=str)
def test_packs_in_groups_keep_the_meaning(name: str, types: tuple[DType, ...]) -> None:
    if not machines(types):
        pytest.skip("no products of groups here")
    rng = random.Random(f"{name} {types}")
    text = SCHEDULES[name].format(a=types[1], b=types[0])
    cases = []
    for machine in machines(types):
        for _ in range(6):
            k = rng.choice((32, 64, 96)) if name == "one packed" else rng.randint(1, 100)
            sizes = rng.randint(1, 40), rng.randint(32, 70)
            cases.append((product(types, *sizes, k, rng.random() < 0.3), text, machine))
    assert run_guarded(cases, check) is None


def test_text_says_the_type_of_groups() -> None:
    text = "seq l:32 seq i:8 prim m=j n=i k=l pack in1@1:bfloat16 l j pack in0@2:bfloat16 i l"
    assert str(parse_schedule(text)) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("prim m=j n=i pack in1@0:bfloat16 l j seq l:1", "takes no k"),
        ("seq l:32 prim m=j n=i k=l pack in1@1:bfloat16 l:8 j l pack in0@1:bfloat16 i l", "one digit of l"),
        ("seq l:32 prim m=j n=i k=l pack in0@1:bfloat16 i l", "in1 does not lie in groups"),
        ("seq l:32 prim m=j n=i k=l pack in1@1:bfloat16 l j pack in0@1 i l", "Group both alike"),
        ("seq l:33 prim m=j n=i k=l pack in1@1:bfloat16 l j", "in0 does not lie in groups"),
        ("seq l:32 seq l:3 prim m=j n=i k=l pack in1@1:bfloat16 l j pack in0@1:bfloat16 i l", "cuts groups of 2"),
    ],
)
def test_what_does_not_lie_in_groups_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ScheduleError, match=reason):
        bind(product((BFLOAT16, BFLOAT16, FLOAT32), 8, 16, 99, False), parse_schedule(text))
