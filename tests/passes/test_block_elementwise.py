"""Blocking of element-wise operations."""

from __future__ import annotations

from einloom.ir.text import parse_operation, parse_schedule
from einloom.machine import AVX512
from einloom.passes.pipeline import optimize_operation


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
