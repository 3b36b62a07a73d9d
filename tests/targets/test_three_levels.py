"""Three loops over one axis whose steps do not divide each other: the first touch happens once."""

from __future__ import annotations

import random

import pytest

from einloom.ir.text import parse_operation, parse_schedule
from einloom.jit.host import host
from tests.targets.programs import difference

PRODUCT = parse_operation(
    """
    gemm first=zero last=relu
    axis a 3 m
    axis b 13 n
    axis c 16 k
    in0 float32 a=16 c=1
    in1 float32 b=1 c=13
    out float32 a=13 b=1
    """
)


@pytest.mark.parametrize(
    "text",
    [
        "seq c:6 seq c:3 seq c:2 prim m=b n=a k=c",
        "seq c:6 seq c:4 seq c:3 prim m=b n=a k=c",
        "seq c:6 seq a:2 seq c:3 seq b:4 seq c:2 seq b:3 seq b:2 prim m=b n=a k=c",
        "seq b:6 seq b:4 seq b:3 seq c:7 seq c:5 seq c:3 seq a:1 prim m=b k=c",
    ],
)
def test_three_uneven_levels_equal_the_interpreter(text: str, vector: str) -> None:
    machine, schedule = host().with_vector(vector), parse_schedule(text)
    assert difference(PRODUCT, PRODUCT, schedule, machine, random.Random(1)) is None
