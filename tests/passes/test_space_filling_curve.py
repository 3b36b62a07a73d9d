"""Blocks along a space-filling curve."""

from __future__ import annotations

import pytest

from einloom.ir.text import parse_schedule
from einloom.passes.space_filling_curve import follow_space_filling_curve

from .operations import PRODUCT


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
    assert str(follow_space_filling_curve(PRODUCT, parse_schedule(before))) == after
