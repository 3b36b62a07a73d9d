"""Primitive identification."""

from __future__ import annotations

import pytest

from einloom.ir.operation import Operation
from einloom.ir.text import parse_operation
from einloom.passes.identify import identify_primitive

from .operations import PRODUCT

BATCHED = parse_operation(
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
TRANSPOSITION = parse_operation(
    """
    identity first=none last=none
    axis a 40 c
    axis b 30 c
    in0 float32 a=30 b=1
    out float32 a=1 b=40
    """
)
TRANSPOSED_SUM = parse_operation(
    """
    add first=none last=none
    axis a 40 c
    axis b 30 c
    in0 float32 a=30 b=1
    in1 float32 a=1 b=40
    out float32 a=1 b=40
    """
)


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        pytest.param(PRODUCT, ("j", "i", "k", None), id="the contiguous axis of the output becomes m"),
        pytest.param(BATCHED, ("m", "n", "k", "l"), id="a second reduced axis becomes the batch"),
        pytest.param(TRANSPOSITION, ("b", "a", None, None), id="a copy reads along its input's contiguous axis"),
        pytest.param(TRANSPOSED_SUM, ("a", "b", None, None), id="of two inputs neither decides, the output does"),
    ],
)
def test_what_the_primitive_takes(operation: Operation, expected: tuple[str | None, ...]) -> None:
    prims = identify_primitive(operation)
    assert (prims.m, prims.n, prims.k, prims.batch) == expected
