"""Every element-wise operator as main primitive and as touch of a tensor operation: the interpreter's results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import einloom as el
from einloom.ir import meanings
from einloom.ir.interpret import interpret
from einloom.ir.memory import Memory
from einloom.ir.operation import Primitive
from tests.tensor_operations.test_execution import SEED, elementwise, small

UNARY = [name for name in meanings.UNARY if name != "zero"]
BINARY = [name for name in meanings.BINARY if name != "muladd"]
LARGEST = {"float32": 5 * 2.0**-23, "float64": 5 * 2.0**-52}
"""Relative errors: 4 units of the last place and a little for the interpreter's own."""


def agrees(result: np.ndarray, expected: np.ndarray, argument: np.ndarray) -> bool:
    """Whether errors are small beside the result, or beside the argument for functions that cancel."""
    bound = LARGEST[result.dtype.name] * np.maximum(np.abs(expected), np.abs(argument))
    with np.errstate(invalid="ignore"):
        return bool(
            np.all((result == expected) | (np.isnan(result) & np.isnan(expected)) | (abs(result - expected) <= bound))
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", [*UNARY, *BINARY])
def test_main_primitives(op: str, dtype: str) -> None:
    config = elementwise(op, dtype=dtype)
    generator = np.random.default_rng(7)
    in0, in1 = (generator.normal(size=1020).astype(dtype) for _ in range(2))
    in1[::7] = in0[::7]
    out, expected = np.full(1020, np.nan, dtype), np.zeros(1020, dtype)
    second = [Memory(in1)] if config.strides_in1 is not None else []
    interpret(config.operation, [Memory(in0), *second, Memory(expected)])
    el.TensorOperation(config).execute(in0, in1 if second else None, out)
    argument = in0.reshape(3, 20, 17).transpose(0, 2, 1).ravel() if not second else in0
    assert agrees(out, expected, argument)


@pytest.mark.parametrize("op", UNARY)
def test_touches(op: str) -> None:
    """The sums are whole numbers and exact; the operator sees the same argument here and in the interpreter."""
    config = small(replace(SEED, prim_first_touch="zero", prim_last_touch=op))
    generator = np.random.default_rng(8)
    in0, in1 = (generator.integers(-1, 2, 4 * 8192).astype(np.float32) for _ in range(2))
    out, expected, sums = (np.zeros(3 * 32768, np.float32) for _ in range(3))
    for memory, last in ((sums, "none"), (expected, op)):
        operation = replace(config, prim_last_touch=last).operation
        interpret(operation, [Memory(in0), Memory(in1), Memory(memory)])
    el.TensorOperation(config, threads=1).execute(in0, in1, out)
    assert agrees(out, expected, sums)


def test_an_operator_may_come_first() -> None:
    config = small(replace(SEED, prim_first_touch="negate", prim_last_touch="gelu"))
    in0 = np.random.default_rng(9).integers(-1, 2, 4 * 8192).astype(np.float32)
    out = np.random.default_rng(10).normal(size=3 * 32768).astype(np.float32)
    expected = out.copy()
    interpret(config.operation, [Memory(in0), Memory(in0), Memory(expected)])
    el.TensorOperation(config, threads=2).execute(in0, in0, out)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=2e-5)


def test_every_operator_is_a_primitive() -> None:
    names = {primitive.value for primitive in Primitive}
    assert names >= {*meanings.UNARY, *BINARY}
    assert Primitive("gelu").is_unary and not Primitive("add").is_unary and Primitive("gt").is_binary
