"""The options of `optimize`: each changes what it should, and what comes out sets up and computes the same."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.dtypes import FLOAT32
from einloom.ir.bind import bind
from einloom.ir.interpret import Memory, interpret
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

    known = {"threads": options.get("thread_target", 1)} | {k: v for k, v in options.items() if k != "thread_target"}
    for seed in range(60):
        rng = random.Random(seed)
        operation = random_operation(rng, FLOAT32, points=3000)
        better, schedule = optimize_operation(operation, host(), **known)
        memories = random_memories(rng, operation)
        expected = [Memory(memory.elements.copy(), memory.origin) for memory in memories]
        interpret(operation, expected)
        interpret_nest(bind(better, schedule), memories)
        assert np.array_equal(memories[-1].elements, expected[-1].elements), (seed, str(schedule))
        el.TensorOperation(el.TensorOperationConfig.from_schedule(better, schedule))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_kernel_size": 0}, "max_kernel_size is 0"),
        ({"min_kernel_size": "big"}, "min_kernel_size is 'big'"),
        ({"packing": "yes"}, "packing is 'yes'"),
        ({"sfc": 3}, "sfc is 3"),
    ],
)
def test_options_of_another_kind_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(el.ScheduleError, match=words):
        el.optimize(gemm(8, 8, 8), **options)


def test_unknown_options_are_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        el.optimize(gemm(8, 8, 8), colour=1)  # pyright: ignore[reportCallIssue]
