"""Tensor operations: the founding document's three configurations, random optimised ones, and refused arguments."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import einloom as el
from einloom.dtypes import FLOAT32, FLOAT64
from einloom.ir.interpret import interpret
from einloom.ir.memory import Memory
from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.ir.schedule import Schedule

from ..ir.strategies import random_contraction, random_memories
from .test_configurations import SEED

RNG = np.random.default_rng(1)


def small(config: el.TensorOperationConfig) -> el.TensorOperationConfig:
    """The seed's configuration with fewer blocks; the blocks and their strides stay."""
    return replace(config, dim_sizes=(3, 4, 8, 32, 32, 32))


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    ("first", "main", "last", "execs"),
    [
        ("none", "gemm", "none", ("shared", "seq", "seq", "prim", "prim", "prim")),
        ("none", "brgemm", "none", ("shared", "shared", "prim", "prim", "prim", "prim")),
        ("zero", "brgemm", "relu", ("shared", "seq", "prim", "prim", "prim", "prim")),
        ("relu", "gemm", "relu", ("seq", "seq", "seq", "prim", "prim", "prim")),
        ("zero", "gemm", "zero", ("seq", "seq", "seq", "prim", "prim", "prim")),
    ],
)
def test_the_founding_configurations(first: str, main: str, last: str, execs: tuple[str, ...], threads: int) -> None:
    config = small(replace(SEED, prim_first_touch=first, prim_main=main, prim_last_touch=last, exec_types=execs))
    in0, in1 = (RNG.integers(-3, 4, 4 * 8192).astype(np.float32) for _ in range(2))
    out = RNG.integers(-50, 50, 3 * 32768).astype(np.float32)
    expected = out.copy()
    interpret(config.operation, [Memory(in0), Memory(in1), Memory(expected)])
    assert el.TensorOperation(config, threads=threads).execute(in0, in1, out) is out
    assert np.array_equal(out, expected)


def elementwise(main: str, **changes: object) -> el.TensorOperationConfig:
    two = Primitive(main).inputs == 2
    config = el.TensorOperationConfig(
        dtype="float32",
        prim_main=main,
        dim_types=("c", "c", "c"),
        exec_types=("seq", "prim", "prim"),
        dim_sizes=(3, 20, 17),
        strides_in0=(340, 17, 1),
        strides_in1=(340, 17, 1) if two else None,
        strides_out=(340, 1, 20) if not two else (340, 17, 1),
    )
    return replace(config, **changes)


@pytest.mark.parametrize("main", ["identity", "relu", "add", "sub", "mul", "div", "min", "max"])
def test_unary_and_binary_main_primitives(main: str) -> None:
    config = elementwise(main)
    in0, in1 = (RNG.normal(size=1020).astype(np.float32) for _ in range(2))
    out, expected = np.zeros(1020, np.float32), np.zeros(1020, np.float32)
    second = [Memory(in1)] if config.strides_in1 is not None else []
    interpret(config.operation, [Memory(in0), *second, Memory(expected)])
    el.TensorOperation(config).execute(in0, in1 if second else None, out)
    assert np.allclose(out, expected, rtol=1e-6)


def test_zero_reads_nothing() -> None:
    config = elementwise("zero", strides_in0=(0, 0, 0))
    out = np.full(1020, np.nan, np.float32)
    el.TensorOperation(config).execute(None, None, out)
    assert not out.any()


@pytest.mark.parametrize("block", range(6))
def test_optimised_configurations_set_up_and_are_right(block: int) -> None:
    for seed in range(block * 40, block * 40 + 40):
        rng = random.Random(seed)
        operation = random_contraction(rng, rng.choice((FLOAT32, FLOAT64)), points=8000)
        config = el.TensorOperationConfig.from_schedule(*optimised(operation, rng.choice((1, 2))))
        memories = random_memories(rng, operation)
        if any(memory.origin for memory in memories) or any(not memory.elements.size for memory in memories):
            continue  # execute() takes arrays that begin at index 0; the lowering tests have the others.
        expected = [Memory(memory.elements.copy()) for memory in memories]
        interpret(operation, expected)
        in0, in1, *extras, out = (memory.elements for memory in memories)
        named = {operand.name: array for operand, array in zip(operation.extras, extras)}
        el.TensorOperation(config).execute(in0, in1, out, **named)
        same = [np.array_equal(memory.elements, wanted.elements) for memory, wanted in zip(memories, expected)]
        assert all(same), f"seed {seed}\n{operation}"


def optimised(operation: Operation, threads: int) -> tuple[Operation, Schedule]:
    from einloom.jit import host
    from einloom.passes.pipeline import optimize_operation
    from einloom.passes.values import Options

    return optimize_operation(operation, host(), Options(threads))


def test_optimize_returns_a_configuration_of_the_same_operation() -> None:
    sequential = replace(SEED, prim_main="gemm", exec_types=("seq", "seq", "seq", "prim", "prim", "prim"))
    best = el.optimize(sequential, thread_target=2)
    assert best.operation.flops == SEED.operation.flops and best.schedule.shared
    op = el.TensorOperation(best, threads=2)
    in0, in1 = (RNG.integers(-3, 4, 32 * 8192).astype(np.float32) for _ in range(2))
    out, expected = np.empty(32 * 32768, np.float32), np.empty(32 * 32768, np.float32)
    el.TensorOperation(sequential, threads=1).execute(in0, in1, expected)
    assert np.array_equal(op.execute(in0, in1, out), expected)


def small_gemm() -> tuple[el.TensorOperation, list[np.ndarray]]:
    config = el.TensorOperationConfig(
        dtype="float32",
        prim_main="gemm",
        prim_first_touch="zero",
        dim_types=("m", "n", "k"),
        exec_types=("prim", "prim", "prim"),
        dim_sizes=(5, 6, 7),
        strides_in0=(1, 0, 5),
        strides_in1=(0, 7, 1),
        strides_out=(1, 5, 0),
    )
    return el.TensorOperation(config), [np.ones(35, np.float32), np.ones(42, np.float32), np.full(30, 9, np.float32)]


def test_refused_arguments_leave_the_output_alone() -> None:
    op, (a, b, c) = small_gemm()
    frozen = c.copy()
    frozen.flags.writeable = False
    shared = np.full(60, 9, np.float32)
    cases: list[tuple[type[Exception], tuple]] = [
        (el.DTypeError, (a.astype(np.float64), b, c)),
        (el.DTypeError, (a, None, c)),
        (el.DTypeError, (list(a), b, c)),
        (el.StrideError, (a[:-1], b, c)),
        (el.StrideError, (a, b[:-1], c)),
        (el.StrideError, (a, b, c[:-1])),
        (el.StrideError, (a, b, frozen)),
        (el.OverlapError, (shared[:35], b, shared[20:50])),
    ]
    for kind, arguments in cases:
        before = np.array(arguments[2])
        with pytest.raises(kind):
            op.execute(*arguments)
        assert np.array_equal(before, arguments[2])
    unaligned = np.zeros(35 * 4 + 1, np.uint8)[1:].view(np.float32)
    with pytest.raises(el.StrideError, match="4 bytes"):
        op.execute(unaligned, b, c)


def test_in_place_element_wise() -> None:
    config = elementwise("relu", strides_out=(340, 17, 1))
    values = RNG.normal(size=1020).astype(np.float32)
    expected = np.maximum(values, 0)
    el.TensorOperation(config).execute(values, None, values)
    assert np.array_equal(values, expected)


def test_sums_of_one_operand() -> None:
    axes = (Axis("i", 6, DimType.C), Axis("j", 50, DimType.K))
    operation = Operation(
        axes,
        (Operand("in0", FLOAT64, (50, 1)), Operand("out", FLOAT64, (1, 0))),
        Primitive.SUM,
        first_touch=Touch(Primitive.ZERO),
    )
    config = el.TensorOperationConfig.from_schedule(*optimised(operation, 1))
    values, out = RNG.normal(size=300), np.empty(6)
    el.TensorOperation(config).execute(values, None, out)
    assert np.allclose(out, values.reshape(6, 50).sum(1))


def test_what_an_operation_says_of_itself() -> None:
    op, _ = small_gemm()
    assert "gemm float32" in repr(op)
    assert "gemm m=5 n=6 k=7" in op.show()
    assert "420 flop, 428 bytes at least, 1.0 flop a byte" in op.show()
    assert str(op.config.schedule) in op.show()
    assert op._repr_html_().startswith("<pre>TensorOperation(")
    assert "vfmadd" in op.show("asm") or "fmla" in op.show("asm")
