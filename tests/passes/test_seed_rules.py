"""The plain passes: dimensions before and after."""

from __future__ import annotations

from dataclasses import replace

import pytest

from einloom.ir.operation import DimType, Operation
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_operation, parse_schedule
from einloom.machine import AVX512
from einloom.passes.dimensions.dimension import listed, to_dimensions
from einloom.passes.dimensions.fuse import fuse_dimensions
from einloom.passes.dimensions.identify import identify_by_strides
from einloom.passes.dimensions.share import share_dimensions
from einloom.passes.dimensions.split import best_split, split_dimensions
from einloom.passes.pipeline import optimize_operation
from einloom.passes.values import Options, Rules

from .operations import contraction

PRODUCT = parse_operation(
    """
    gemm first=zero last=none
    axis m 1600 m
    axis n 1600 n
    axis k 1600 k
    in0 float32 m=1 k=1600
    in1 float32 n=1600 k=1
    out float32 m=1 n=1600
    """
)
ALL_SEQUENTIAL = parse_schedule("seq m:1 seq n:1 seq k:1 prim")


@pytest.mark.parametrize(
    ("size", "role", "most", "least", "parts"),
    [
        (1600, DimType.M, 1024, None, (2, 800)),
        (1600, DimType.M, 1024, 16, (20, 80)),
        (1600, DimType.M, 48, 16, (50, 32)),
        (36, DimType.M, 16, None, (3, 12)),
        (1600, DimType.N, 100, None, (16, 100)),
        (18, DimType.N, 8, None, (3, 6)),
        (35, DimType.N, 8, None, (1, 35)),
        (35, DimType.K, 8, None, (5, 7)),
        (37, DimType.M, 8, None, (1, 37)),
        (37, DimType.K, 8, None, (1, 37)),
        (37, DimType.C, 8, 1, (1, 37)),
        (36, DimType.K, 1, None, (1, 36)),
    ],
)
def test_splits(size: int, role: DimType, most: int, least: int | None, parts: tuple[int, int]) -> None:
    assert best_split(size, role, most, least) == parts


def test_outer_parts_are_split_again_and_stand_at_the_end() -> None:
    dimensions = to_dimensions(PRODUCT, ALL_SEQUENTIAL)
    assert listed(split_dimensions(dimensions, 32)) == "m:32 n:32 k:32 m.1:10 n.1:10 k.1:25 m.1.1:5 n.1.1:5 k.1.1:2"
    outer = split_dimensions(dimensions, 32)[4]
    assert outer.strides == (0, 32 * 1600, 32 * 1600)


def test_dimensions_without_divisors_stay_whole() -> None:
    sizes = {"m": 37, "n": 74, "k": 41}
    product = replace(PRODUCT, axes=tuple(replace(axis, extent=sizes[axis.name]) for axis in PRODUCT.axes))
    assert listed(split_dimensions(to_dimensions(product, ALL_SEQUENTIAL), 8)) == "m:37 n:2 k:41 n.1:37"


@pytest.mark.parametrize(("least", "after"), [(1, "a:8 b:4 c:2"), (3, "a:8 b*c:8"), (16, "a*b*c:64")])
def test_small_dimensions_take_in_what_lies_behind_them(least: int, after: str) -> None:
    operation = parse_operation(
        """
        identity first=none last=none
        axis a 8 c
        axis b 4 c
        axis c 2 c
        in0 float32 a=8 b=2 c=1
        out float32 a=8 b=2 c=1
        """
    )
    assert listed(fuse_dimensions(to_dimensions(operation, parse_schedule("prim")), least)) == after


@pytest.mark.parametrize(
    ("before", "target", "after"),
    [
        ("seq k:1 seq m:1 seq n:1 prim", 32, "shared m:1 shared n:1 seq k:1 prim"),
        ("seq k:1 seq m:1 seq n:1 prim", 31, "shared m:1 seq k:1 seq n:1 prim"),
        ("seq k:1 seq m:1 seq n:1 prim", 7, "shared n:1 seq k:1 seq m:1 prim"),
        ("seq k:1 seq m:1 seq n:1 prim", 3, "seq k:1 seq m:1 seq n:1 prim"),
        ("shared m:1 seq k:1 seq n:1 prim", 8, "shared m:1 seq k:1 seq n:1 prim"),
        ("shared m:1 seq k:1 seq n:1 prim", 64, "shared m:1 shared n:1 seq k:1 prim"),
    ],
)
def test_loops_become_shared_up_to_the_target(before: str, target: int, after: str) -> None:
    operation = contraction("m 8 m, n 4 n, k 6 k", "mk", "kn", "mn")
    assert str(share_dimensions(operation, parse_schedule(before), target)) == after


COPY = """
    identity first=none last=none
    axis a 4 c
    axis b 5 c
    axis d 6 c
    in0 float32 a={0} b={1} d={2}
    out float32 a={3} b={4} d={5}
    """


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        pytest.param(COPY.format(1, 4, 20, 1, 24, 4), "prim m=a n=b", id="no transposition: smallest input stride"),
        pytest.param(COPY.format(1, 4, 20, 30, 6, 1), "prim m=a n=d", id="transposition: unit stride of the output"),
    ],
)
def test_unary_operations(operation: str, expected: str) -> None:
    assert str(Schedule((), identify_by_strides(parse_operation(operation)))) == expected


def test_a_second_k_is_the_batch() -> None:
    operation = parse_operation(
        """
        gemm first=none last=none
        axis m 32 m
        axis n 32 n
        axis l 8 k
        axis k 32 k
        in0 float32 m=1 k=32 l=1024
        in1 float32 n=32 k=1 l=1024
        out float32 m=1 n=32
        """
    )
    assert str(Schedule((), identify_by_strides(operation))) == "prim m=m n=n k=k batch=l"


def _optimised(operation: Operation, given: Schedule, options: Options) -> str:
    return str(optimize_operation(operation, AVX512, options, given)[1])


def test_all_passes_in_a_row() -> None:
    options = Options(64, max_kernel_size=125, min_kernel_size=16, rules=Rules.SEED)
    expected = "shared m.1:1 seq n.1:1 prim m=m n=n k=k batch=k.1"
    assert _optimised(PRODUCT, ALL_SEQUENTIAL, options) == expected
