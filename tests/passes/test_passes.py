"""Each pass: text before and after, and the law that it keeps the meaning."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from einloom.dtypes import FLOAT32, FLOAT64
from einloom.ir.bind import bind
from einloom.ir.interpret import Memory, interpret, interpret_nest
from einloom.ir.operation import DimType, Operation
from einloom.ir.text import parse_operation, parse_schedule
from einloom.machine import AVX2, AVX512, NEON
from einloom.passes.fuse import fuse
from einloom.passes.identify import identify_primitive
from einloom.passes.model.sizes import balanced_block, equal_block
from einloom.passes.model.tiles import SCRATCH_LIMIT
from einloom.passes.parallelise import parallelise
from einloom.passes.pipeline import optimize_operation
from einloom.passes.space_filling_curve import follow_curve
from einloom.passes.split import limit_kernels

from ..ir.strategies import random_contraction, random_memories, random_operation

PRODUCT = parse_operation(
    """
    gemm first=zero last=none
    axis i 1600 m
    axis j 1600 n
    axis k 1600 k
    in0 float32 i=1600 k=1
    in1 float32 j=1 k=1600
    out float32 i=1600 j=1
    """
)


def test_fusion_joins_axes_that_lie_like_one() -> None:
    before = parse_operation(
        """
        gemm first=none last=none
        axis a 4 m
        axis b 8 m
        axis n 3 n
        axis k 5 k
        axis o 1 k
        in0 float32 a=40 b=5 k=1
        in1 float32 n=1 k=3
        out float32 a=24 b=3 n=1
        """
    )
    after = parse_operation(
        """
        gemm first=none last=none
        axis b 32 m
        axis n 3 n
        axis k 5 k
        in0 float32 b=5 k=1
        in1 float32 n=1 k=3
        out float32 b=3 n=1
        """
    )
    assert fuse(before) == after


def test_fusion_leaves_axes_that_one_operand_separates() -> None:
    padded = parse_operation(
        """
        identity first=none last=none
        axis a 4 c
        axis b 8 c
        in0 float32 a=9 b=1
        out float32 a=8 b=1
        """
    )
    assert fuse(padded) == padded


def test_the_contiguous_axis_of_the_output_becomes_m() -> None:
    prims = identify_primitive(PRODUCT)
    assert (prims.m, prims.n, prims.k, prims.batch) == ("j", "i", "k", None)


def test_a_second_reduced_axis_becomes_the_batch() -> None:
    operation = parse_operation(
        """
        gemm first=none last=none
        axis m 32 m
        axis n 32 n
        axis k 32 k
        axis l 8 k
        in0 float32 m=1 k=32 l=1024
        in1 float32 n=32 k=1 l=1024
        out float32 m=1 n=32
        """
    )
    prims = identify_primitive(operation)
    assert (prims.m, prims.n, prims.k, prims.batch) == ("m", "n", "k", "l")


def test_blocking_packs_what_lies_spread() -> None:
    _, schedule = optimize_operation(PRODUCT, AVX512)
    assert schedule.packs[0].operand == 1
    assert schedule.packs[0].layout[-1].axis == "j"
    small = parse_operation(str(PRODUCT).replace("1600", "64"))
    assert str(optimize_operation(small, AVX512)[1]) == "prim m=j n=i k=k"


def test_an_output_that_exceeds_the_caches_is_staged() -> None:
    transposition = parse_operation(
        """
        identity first=none last=none
        axis a 4096 c
        axis b 4096 c
        in0 float32 a=4096 b=1
        out float32 a=1 b=4096
        """
    )
    _, schedule = optimize_operation(transposition, AVX512)
    assert schedule == parse_schedule("seq b:512 seq a:256 prim m=b n=a pack out@2 b a")


def _contraction(axes: str, in0: str, in1: str, out: str) -> Operation:
    """Axes as `name extent role`, separated by commas; row-major operands as words of axes."""
    sizes = {name: int(extent) for name, extent, _ in (axis.split() for axis in axes.split(","))}

    def strides(word: str) -> str:
        products = [math.prod(sizes[name] for name in word[i + 1 :]) for i in range(len(word))]
        return " ".join(f"{name}={stride}" for name, stride in zip(word, products))

    lines = ["gemm first=zero last=none", *(f"axis {axis.strip()}" for axis in axes.split(","))]
    operands = zip(("in0", "in1", "out"), (in0, in1, out))
    return parse_operation("\n".join([*lines, *(f"{name} float32 {strides(word)}" for name, word in operands)]))


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        pytest.param(
            _contraction("d 84 m, b 84 m, e 84 k, a 84 m, c 24 n", "dbea", "ec", "abcd"),
            "seq d:32 seq b:1 seq a:1 prim m=d n=c k=e pack in0@2 a e d",
            id="a block holds runs of a tensor that is read once: all of a and e, panels of two vectors",
        ),
        pytest.param(
            _contraction("b 368 m, d 368 k, a 368 m, c 24 n", "bda", "dc", "abc"),
            "seq b:16 seq b:1 seq a:48 prim m=a n=c k=d pack in0@2 a:48 d a pack out@1 b c a",
            id="what is many times as large as the output is read in its own order",
        ),
        pytest.param(
            _contraction("e 400 m, g 24 k, a 16 m, f 20 n, c 320 n", "ega", "gfc", "acef"),
            "seq e:100 seq a:1 seq c:1 seq e:20 prim m=f n=e k=g pack in1@0 c g f pack in0@1 a e:20 e g pack out@4 e f",
            id="tiles of few products are staged one by one",
        ),
        pytest.param(
            _contraction("e 32 m, f 32 k, b 36 m, a 36 m, d 36 m, c 24 n", "efbad", "cf", "abcde"),
            "seq b:1 seq a:6 seq a:1 seq d:1 prim m=e n=c k=f pack in0@2 f a d e",
            id="the reduced axis stands outside where neighbours would alias in L1",
        ),
        pytest.param(
            _contraction("i 1600 m, j 1600 n, k 1600 k", "ik", "kj", "ij"),
            "seq j:576 seq k:320 seq i:8 seq j:48 prim m=j n=i k=k pack in1@2 j:48 k j",
            id="long runs along k are read where they lie, a panel of a few rows at a time",
        ),
        pytest.param(
            _contraction("i 1600 m, j 1600 n, k 1600 k", "ki", "kj", "ij"),
            "seq j:576 seq k:320 seq i:136 seq i:8 seq j:48 prim m=j n=i k=k pack in1@2 j:48 k j pack in0@3 k i",
            id="contiguous columns that are read one by one are copied straight",
        ),
        pytest.param(
            _contraction("a 368 m, c 368 k, d 368 k, b 368 n", "acd", "dbc", "ab"),
            "seq d:21 seq c:16 seq a:128 seq a:8 seq b:48 prim m=b n=a k=d batch=c "
            "pack in1@2 b:48 c d b pack in0@3 a:8 a c d",
            id="runs that blocks of the reduced axes cut short are packed",
        ),
    ],
)
def test_packs_follow_the_tensors(operation: Operation, expected: str) -> None:
    assert str(optimize_operation(operation, replace(AVX512, l2=2**21))[1]) == expected


def test_parallelise_never_shares_a_reduced_axis() -> None:
    _, schedule = optimize_operation(PRODUCT, AVX512, threads=4)
    assert schedule.shared and all(PRODUCT.axis(loop.axis).role is not DimType.K for loop in schedule.shared)
    sequential = parse_schedule("seq i:8 prim m=j n=i k=k")
    assert str(parallelise(PRODUCT, sequential, 2)).startswith("shared i:800 seq i:8 prim")
    small = parse_operation(str(PRODUCT).replace("1600", "16"))
    assert parallelise(small, sequential, 2) == sequential


@pytest.mark.parametrize(
    ("before", "most", "after"),
    [
        ("seq i:64 prim m=j n=i k=k", 40, "seq i:64 seq j:40 seq i:32 seq k:40 prim m=j n=i k=k"),
        ("seq i:8 prim m=j n=i k=k", 1600, "seq i:8 prim m=j n=i k=k"),
        ("seq k:200 seq j:48 seq i:8 prim m=j n=i k=k", 100, "seq k:200 seq j:48 seq i:8 seq k:100 prim m=j n=i k=k"),
    ],
)
def test_kernels_are_limited_by_loops_inside(before: str, most: int, after: str) -> None:
    assert str(limit_kernels(PRODUCT, parse_schedule(before), most)) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("seq k:200 seq i:64 seq j:48 prim m=j n=i k=k", "seq k:200 sfc i:64 sfc j:48 prim m=j n=i k=k"),
        ("seq i:64 seq k:200 seq j:48 prim m=j n=i k=k", "seq i:64 seq k:200 seq j:48 prim m=j n=i k=k"),
        (
            "seq i:800 seq j:800 seq i:80 prim m=j n=i k=k pack in1@2 k j",
            "sfc i:800 sfc j:800 seq i:80 prim m=j n=i k=k pack in1@2 k j",
        ),
    ],
)
def test_blocks_of_the_output_follow_a_curve(before: str, after: str) -> None:
    assert str(follow_curve(PRODUCT, parse_schedule(before))) == after


@pytest.mark.parametrize(
    ("extent", "target", "balanced", "equal"),
    [(200, 192, 200, 100), (300, 192, 150, 150), (1009, 192, 202, 169), (56, 11, 12, 8), (7, 192, 7, 7), (1, 1, 1, 1)],
)
def test_blocks_of_an_axis(extent: int, target: int, balanced: int, equal: int) -> None:
    assert balanced_block(extent, target) == balanced
    assert equal_block(extent, target) == equal


def test_shared_blocks_keep_to_the_panels_of_a_pack() -> None:
    operation = parse_operation(
        """
        gemm first=zero last=none
        axis a 46 n
        axis c 464 k
        axis b 464 k
        in0 float64 c=464 b=1
        in1 float64 a=-1 c=-46 b=21482
        out float64 a=1
        """
    )
    fused, schedule = optimize_operation(operation, AVX512, 2)
    assert schedule.shared
    bind(fused, schedule)


TINY = replace(AVX512, l1d=1024, l2=2048, l3=4096)
"""Caches so small that everything is blocked, packed and staged."""


@pytest.mark.parametrize("machine", [AVX512, AVX2, NEON, TINY], ids=["avx512", "avx2", "neon", "tiny caches"])
def test_optimising_keeps_the_meaning(machine: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("einloom.passes.parallelise.LEAST_WORK", 1)  # Threads share even the smallest work.
    for seed in range(120):
        rng = random.Random(seed)
        operation = random_operation(rng, rng.choice((FLOAT32, FLOAT64)), points=3000)
        memories = random_memories(rng, operation)
        expected = [Memory(memory.elements.copy(), memory.origin) for memory in memories]
        interpret(operation, expected)
        interpret_nest(bind(*optimize_operation(operation, machine, rng.choice((1, 3)))), memories)  # type: ignore[arg-type]
        assert np.array_equal(memories[-1].elements, expected[-1].elements), f"seed {seed}\n{operation}"


def test_scratch_stays_below_its_limit() -> None:
    for seed in range(300):
        rng = random.Random(seed)
        operation = random_contraction(rng, FLOAT64, points=20_000)
        large = parse_operation(str(operation))
        for size in (4, 40, 400):
            grown = _grown(large, size)
            for machine in (AVX512, AVX2, NEON):
                assert bind(*optimize_operation(grown, machine, 2)).scratch_bytes <= SCRATCH_LIMIT


def _grown(operation, factor: int):
    """The operation with larger, contiguous axes: only sizes and strides count here, no memory is touched."""
    from dataclasses import replace

    axes = tuple(replace(axis, extent=min(axis.extent * factor, 5000)) for axis in operation.axes)
    operands = []
    for operand in operation.operands:
        order = sorted(range(len(axes)), key=lambda i: abs(operand.strides[i]))
        strides, step = [0] * len(axes), 1
        for i in order:
            if operand.strides[i]:
                strides[i] = step
                step *= axes[i].extent
        operands.append(replace(operand, strides=tuple(strides)))
    if np.prod([float(axis.extent) for axis in axes]) > 2**60:
        return operation
    try:
        return replace(operation, axes=axes, operands=tuple(operands))
    except Exception as error:  # an operand beyond 64-bit addresses
        assert "64-bit" in str(error)
        return operation
