"""Blocking of contractions: loops, packs and staged outputs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from einloom.ir.operation import Operation
from einloom.ir.text import parse_operation
from einloom.machine import AVX512
from einloom.passes.pipeline import optimize_operation

from .operations import PRODUCT, contraction


def test_blocking_packs_what_lies_spread() -> None:
    _, schedule = optimize_operation(PRODUCT, AVX512)
    assert schedule.packs[0].operand == 1
    assert schedule.packs[0].layout[-1].axis == "j"
    small = parse_operation(str(PRODUCT).replace("1600", "64"))
    assert str(optimize_operation(small, AVX512)[1]) == "prim m=j n=i k=k"


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        pytest.param(
            contraction("d 84 m, b 84 m, e 84 k, a 84 m, c 24 n", "dbea", "ec", "abcd"),
            "seq d:32 seq b:1 seq a:1 prim m=d n=c k=e pack in0@2 a e d",
            id="a block holds runs of a tensor that is read once: all of a and e, panels of two vectors",
        ),
        pytest.param(
            contraction("b 368 m, d 368 k, a 368 m, c 24 n", "bda", "dc", "abc"),
            "seq b:16 seq b:1 seq a:48 prim m=a n=c k=d pack in0@2 a:48 d a pack out@1 b c a",
            id="what is many times as large as the output is read in its own order",
        ),
        pytest.param(
            contraction("e 400 m, g 24 k, a 16 m, f 20 n, c 320 n", "ega", "gfc", "acef"),
            "seq e:100 seq a:1 seq c:1 seq e:20 prim m=f n=e k=g pack in1@0 c g f pack in0@1 a e:20 e g pack out@4 e f",
            id="tiles of few products are staged one by one",
        ),
        pytest.param(
            contraction("e 32 m, f 32 k, b 36 m, a 36 m, d 36 m, c 24 n", "efbad", "cf", "abcde"),
            "seq b:1 seq a:6 seq a:1 seq d:1 prim m=e n=c k=f pack in0@2 f a d e",
            id="the reduced axis stands outside where neighbours would alias in L1",
        ),
        pytest.param(
            contraction("i 1600 m, j 1600 n, k 1600 k", "ik", "kj", "ij"),
            "seq j:576 seq k:320 seq i:8 seq j:48 prim m=j n=i k=k pack in1@2 j:48 k j",
            id="long runs along k are read where they lie, a panel of a few rows at a time",
        ),
        pytest.param(
            contraction("i 1600 m, j 1600 n, k 1600 k", "ki", "kj", "ij"),
            "seq j:576 seq k:320 seq i:136 seq i:8 seq j:48 prim m=j n=i k=k pack in1@2 j:48 k j pack in0@3 k i",
            id="contiguous columns that are read one by one are copied straight",
        ),
        pytest.param(
            contraction("a 368 m, c 368 k, d 368 k, b 368 n", "acd", "dbc", "ab"),
            "seq d:21 seq c:16 seq a:128 seq a:8 seq b:48 prim m=b n=a k=d batch=c "
            "pack in1@2 b:48 c d b pack in0@3 a:8 a c d",
            id="runs that blocks of the reduced axes cut short are packed",
        ),
    ],
)
def test_packs_follow_the_tensors(operation: Operation, expected: str) -> None:
    assert str(optimize_operation(operation, replace(AVX512, l2=2**21))[1]) == expected
