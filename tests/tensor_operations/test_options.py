"""The options of `optimize`: each changes what it should, and what comes out sets up and computes the same."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.dtypes import FLOAT32
from einloom.ir.bind import bind
from einloom.ir.interpret import interpret
from einloom.ir.memory import Memory
from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive
from einloom.ir.schedule import ExecType

from ..ir.strategies import random_memories, random_operation


def gemm(m: int, n: int, k: int) -> el.TensorOperationConfig:
    return el.TensorOperationConfig(
        dtype="float32",
        prim_main="gemm",
        prim_first_touch="zero",
        dim_types=("m", "n", "k"),
        exec_types=("prim", "prim", "prim"),
        dim_sizes=(m, n, k),
        strides_in0=(1, 0, m),
        strides_in1=(0, k, 1),
        strides_out=(1, m, 0),
    )


def kernel_sizes(config: el.TensorOperationConfig) -> list[int]:
    return [size for size, kind in zip(config.dim_sizes, config.exec_types) if kind == "prim"]


def test_no_kernel_exceeds_the_largest_size() -> None:
    assert max(kernel_sizes(el.optimize(gemm(300, 200, 100)))) > 48
    limited = el.optimize(gemm(300, 200, 100), max_kernel_size=48)
    assert max(kernel_sizes(limited)) <= 48
    assert el.TensorOperation(limited).config == limited


def test_only_small_axes_are_fused() -> None:
    axes = (Axis("a", 4, DimType.C), Axis("b", 8, DimType.C))
    operation = Operation(axes, (Operand("in0", FLOAT32, (8, 1)), Operand("out", FLOAT32, (8, 1))), Primitive.IDENTITY)
    config = el.TensorOperationConfig.from_schedule(operation, bind_ready(operation))
    assert len(el.optimize(config).operation.axes) == 1
    assert len(el.optimize(config, min_kernel_size=9).operation.axes) == 1
    assert len(el.optimize(config, min_kernel_size=8).operation.axes) == 2


def bind_ready(operation: Operation) -> Any:
    from einloom.ir.text import parse_schedule

    return parse_schedule("prim m=b n=a")


def test_packing_and_threads() -> None:
    assert el.optimize(gemm(1600, 1600, 1600), thread_target=1).packs
    assert not el.optimize(gemm(1600, 1600, 1600), thread_target=1, packing=False).packs
    assert el.optimize(gemm(1600, 1600, 1600), thread_target=2).schedule.shared


def test_blocks_follow_a_curve() -> None:
    plain, along = (el.optimize(gemm(400, 400, 40), max_kernel_size=48, sfc=sfc) for sfc in (None, True))
    assert "sfc" not in plain.exec_types and along.exec_types.count(ExecType.SFC) >= 2


@pytest.mark.parametrize(
    "options",
    [
        {"max_kernel_size": 1},
        {"max_kernel_size": 5, "sfc": True},
        {"min_kernel_size": 8},
        {"packing": False, "sfc": True},
        {"sfc": True, "thread_target": 2},
    ],
)
def test_every_option_sets_up_and_is_right(options: dict[str, Any]) -> None:
    from einloom.ir.interpret import interpret_nest
    from einloom.jit import host
    from einloom.passes.pipeline import optimize_operation
    from einloom.passes.values import Options

    known = {"threads": options.get("thread_target", 1)} | {k: v for k, v in options.items() if k != "thread_target"}
    for seed in range(60):
        rng = random.Random(seed)
        operation = random_operation(rng, FLOAT32, points=3000)
        better, schedule = optimize_operation(operation, host(), Options(**known))
        memories = random_memories(rng, operation)
        expected = [Memory(memory.elements.copy(), memory.origin) for memory in memories]
        interpret(operation, expected)
        interpret_nest(bind(better, schedule), memories)
        assert np.array_equal(memories[-1].elements, expected[-1].elements), (seed, str(schedule))
        el.TensorOperation(el.TensorOperationConfig.from_schedule(better, schedule))


EMPTY = [sizes for sizes in itertools.product((0, 1, 2, 70), repeat=3) if 0 in sizes]


@pytest.mark.parametrize("options", [{}, {"thread_target": 2}, {"max_kernel_size": 4}, {"rules": "seed"}], ids=str)
def test_sizes_may_be_0(options: dict[str, Any]) -> None:
    for m, n, k in EMPTY:
        strides = (1, 0, max(m, 1)), (0, max(k, 1), 1), (1, max(m, 1), 0)
        config = sequential("gemm", "mnk", (m, n, k), *strides)
        out = np.full(m * n, 5, np.float32)
        in0, in1 = np.ones(m * k, np.float32), np.ones(k * n, np.float32)
        el.TensorOperation(el.optimize(config, **options)).execute(in0, in1, out)
        assert not out.any(), (m, n, k)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_kernel_size": 0}, "max_kernel_size is 0"),
        ({"min_kernel_size": "big"}, "min_kernel_size is 'big'"),
        ({"packing": "yes"}, "packing is 'yes'"),
        ({"sfc": 3}, "sfc is 3"),
        ({"rules": "none"}, "rules is 'none'; it is one of caches, seed"),
    ],
)
def test_options_of_another_kind_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(el.ArgumentError, match=words):
        el.optimize(gemm(8, 8, 8), **options)


def test_unknown_options_are_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        el.optimize(gemm(8, 8, 8), colour=1)  # pyright: ignore[reportCallIssue]


def sequential(main: str, types: str, sizes: tuple[int, ...], *strides: tuple[int, ...]) -> el.TensorOperationConfig:
    """A configuration whose dimensions are all `seq`; strides of the inputs, then the output."""
    first, *second, out = strides
    return el.TensorOperationConfig(
        dtype="float32",
        prim_main=main,
        prim_first_touch="zero" if main == "gemm" else "none",
        dim_types=tuple(types),
        exec_types=("seq",) * len(types),
        dim_sizes=sizes,
        strides_in0=first,
        strides_in1=second[0] if second else None,
        strides_out=out,
    )


def executed(config: el.TensorOperationConfig, *inputs: np.ndarray) -> np.ndarray:
    out = np.zeros(math.prod(config.dim_sizes), np.float32)
    in0, in1 = (*inputs, None)[:2]
    return el.TensorOperation(config).execute(in0, in1, out)


ALL_SEQUENTIAL = [
    pytest.param(sequential("gemm", "mnk", (30, 20, 10), (1, 0, 30), (0, 10, 1), (1, 30, 0)), id="product"),
    pytest.param(sequential("gemm", "kmn", (10, 30, 20), (1, 10, 0), (20, 0, 1), (0, 20, 1)), id="row-major product"),
    pytest.param(sequential("add", "cc", (30, 20), (1, 30), (20, 1), (20, 1)), id="first input transposed"),
    pytest.param(sequential("mul", "ccc", (30, 4, 5), (1, 30, 120), (20, 1, 4), (5, 150, 1)), id="three orders"),
    pytest.param(sequential("sub", "mn", (30, 20), (20, 1), (1, 30), (20, 1)), id="second input transposed"),
    pytest.param(sequential("identity", "ccc", (30, 4, 5), (1, 30, 120), (20, 1, 4)), id="permutation"),
]


@pytest.mark.parametrize("config", ALL_SEQUENTIAL)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rules": "seed"},
        {"rules": "seed", "max_kernel_size": 8, "min_kernel_size": 2, "thread_target": 16},
        {"rules": "seed", "max_kernel_size": 5, "thread_target": 400, "sfc": True},
    ],
)
def test_identification_starts_from_dimensions_that_are_all_sequential(
    config: el.TensorOperationConfig, options: dict[str, Any]
) -> None:
    rng = np.random.default_rng(1)
    inputs = [rng.integers(-8, 8, math.prod(config.dim_sizes)).astype(np.float32) for _ in config.operation.inputs]
    better = el.optimize(config, **options)
    assert "prim" in better.exec_types
    assert np.array_equal(executed(better, *inputs), executed(config, *inputs))
    memories = [Memory(array.astype(np.float64), 0) for array in (*inputs, np.zeros(math.prod(config.dim_sizes)))]
    interpret(config.operation, memories)
    assert np.array_equal(executed(better, *inputs)[: len(memories[-1].elements)], memories[-1].elements)


def test_the_rules_of_the_seed_share_several_dimensions() -> None:
    config = replace(ALL_SEQUENTIAL[0].values[0], dim_sizes=(64, 48, 10))  # pyright: ignore[reportAttributeAccessIssue]
    better = el.optimize(config, rules="seed", max_kernel_size=16, thread_target=12)
    assert better.exec_types == ("shared", "shared", "prim", "prim", "prim")
    assert better.dim_sizes == (4, 3, 16, 16, 10)
    assert el.optimize(config, rules="seed", max_kernel_size=16, thread_target=11).exec_types[:2] == ("shared", "seq")
