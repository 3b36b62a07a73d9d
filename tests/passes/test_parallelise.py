"""Shared loops."""

from __future__ import annotations

from einloom.ir.bind import bind
from einloom.ir.operation import DimType
from einloom.ir.text import parse_operation, parse_schedule
from einloom.machine import AVX512
from einloom.passes.parallelise import parallelise
from einloom.passes.pipeline import optimize_operation
from einloom.passes.values import Options

from .operations import PRODUCT


def test_parallelise_never_shares_a_reduced_axis() -> None:
    _, schedule = optimize_operation(PRODUCT, AVX512, Options(threads=4))
    assert schedule.shared and all(PRODUCT.axis(loop.axis).role is not DimType.K for loop in schedule.shared)
    sequential = parse_schedule("seq i:8 prim m=j n=i k=k")
    assert str(parallelise(PRODUCT, sequential, 2)).startswith("shared i:800 seq i:8 prim")
    small = parse_operation(str(PRODUCT).replace("1600", "16"))
    assert parallelise(small, sequential, 2) == sequential


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
    fused, schedule = optimize_operation(operation, AVX512, Options(threads=2))
    assert schedule.shared
    bind(fused, schedule)
