"""Blocks along a space-filling curve."""

from __future__ import annotations

import pytest

from einloom.ir.text import parse_schedule
from einloom.passes.space_filling_curve import follow_space_filling_curve

from .operations import PRODUCT, contraction


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("seq k:200 seq i:64 seq j:48 prim m=j n=i k=k", "seq k:200 sfc i:64 sfc j:48 prim m=j n=i k=k"),
        ("seq i:64 seq k:200 seq j:48 prim m=j n=i k=k", "seq i:64 seq k:200 seq j:48 prim m=j n=i k=k"),
        (
            "seq i:800 seq j:800 seq i:80 prim m=j n=i k=k pack in1@2 k j",
            "sfc i:800 sfc j:800 seq i:80 prim m=j n=i k=k pack in1@2 k j",
        ),
        (
            "seq i:800 seq i:60 seq j:48 prim m=j n=i k=k",
            "seq i:800 sfc i:60 sfc j:48 prim m=j n=i k=k",
        ),
        (
            "shared i:800 seq i:60 seq j:48 prim m=j n=i k=k",
            "shared i:800 seq i:60 seq j:48 prim m=j n=i k=k",
        ),
    ],
)
def test_blocks_of_the_output_follow_a_curve(before: str, after: str) -> None:
    assert str(follow_space_filling_curve(PRODUCT, parse_schedule(before))) == after


def test_axes_that_are_walked_as_one_follow_a_curve() -> None:
    operation = contraction("a 30 m, b 7 n, c 14 n, k 40 k", "ka", "bck", "bca")
    before = parse_schedule("fuse bc=b*c seq a:8 seq bc:24 prim m=a n=bc k=k")
    assert str(follow_space_filling_curve(operation, before)) == "fuse bc=b*c sfc a:8 sfc bc:24 prim m=a n=bc k=k"
