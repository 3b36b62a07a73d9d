"""Shared loops."""

from __future__ import annotations

import pytest

from einloom.ir.bind import bind
from einloom.ir.operation import DimType
from einloom.ir.text import parse_operation, parse_schedule
from einloom.machine import AVX2, AVX512
from einloom.passes.model.cost import cost_of
from einloom.passes.parallelise import parallelise
from einloom.passes.pipeline import optimize_operation
from einloom.passes.values import Options

from .operations import PRODUCT, contraction


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


def test_the_busiest_of_threads_counts() -> None:
    shared = parse_schedule("shared i:1024 seq i:8 prim m=j n=i k=k")
    alone = cost_of(PRODUCT, shared, AVX512).seconds
    for threads, part in ((1, 1600), (2, 1024), (8, 1024)):
        assert cost_of(PRODUCT, shared, AVX512, threads).seconds == pytest.approx(alone * part / 1600)
    both = parse_schedule("shared i:640 shared j:1200 seq i:8 prim m=j n=i k=k")
    largest = 3 * 640 * 1200 / 1600**2  # of 3 x 2 blocks, two threads
    assert cost_of(PRODUCT, both, AVX512, 2).seconds == pytest.approx(cost_of(PRODUCT, both, AVX512).seconds * largest)


def test_one_thread_has_hardly_more_to_do_than_the_other() -> None:
    product = contraction("m 100 n, n 10000 m, k 500 k", "kn", "km", "mn")
    _, schedule = optimize_operation(product, AVX2, Options(threads=2))
    assert [loop.axis for loop in schedule.shared] == ["n"]  # Rows would be 64 and 36.


def test_columns_are_shared_in_eights() -> None:
    product = contraction("m 203 n, n 333 m, k 77 k", "kn", "mk", "mn")
    alone = parse_schedule("prim m=n n=m k=k")
    assert str(parallelise(product, alone, 2)) == "shared m:104 prim m=n n=m k=k"
    assert str(parallelise(product, parse_schedule("prim m=m n=n k=k"), 2)) == "shared n:168 prim m=m n=n k=k"
