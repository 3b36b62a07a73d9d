"""Dimension fusion."""

from __future__ import annotations

import pytest

from einloom.errors import ScheduleError
from einloom.ir.text import parse_operation, parse_schedule
from einloom.passes.fuse import fuse, fuse_as_named

CHAIN = parse_operation(
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
FUSED = parse_operation(
    """
    gemm first=none last=none
    axis a*b 32 m
    axis n 3 n
    axis k 5 k
    in0 float32 a*b=5 k=1
    in1 float32 n=1 k=3
    out float32 a*b=3 n=1
    """
)


def test_axes_that_lie_like_one_are_fused_and_say_what_they_are_made_of() -> None:
    assert fuse(CHAIN) == FUSED


def test_three_axes_in_any_order_become_one() -> None:
    before = parse_operation(
        """
        identity first=none last=none
        axis b 8 c
        axis c 3 c
        axis a 4 c
        in0 float32 a=24 b=3 c=1
        out float32 a=48 b=6 c=2
        """
    )
    after = parse_operation(
        """
        identity first=none last=none
        axis a*b*c 96 c
        in0 float32 a*b*c=1
        out float32 a*b*c=2
        """
    )
    assert fuse(before) == after


def test_axes_that_one_operand_separates_stay() -> None:
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


def test_only_small_axes_take_others_in() -> None:
    assert fuse(CHAIN, below=9) == FUSED
    assert fuse(CHAIN, below=8).axis("b").extent == 8


def test_a_schedule_names_what_it_fuses() -> None:
    assert fuse_as_named(CHAIN, parse_schedule("seq a*b:8 prim m=n n=a*b k=k")).axis("a*b").extent == 32
    assert fuse_as_named(CHAIN, parse_schedule("seq a:1 prim m=n n=b k=k")) == CHAIN
    with pytest.raises(ScheduleError, match=r"a\*n, but a and n do not lie like one axis"):
        fuse_as_named(CHAIN, parse_schedule("prim m=a*n"))
