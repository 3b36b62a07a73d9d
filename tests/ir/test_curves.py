"""Space-filling curves: every cell once, next to the one before; and what may not run along one."""

from __future__ import annotations

import math
from itertools import pairwise, product

import pytest

from einloom.errors import ScheduleError
from einloom.ir.bind import bind
from einloom.ir.configuration import TensorOperationConfig
from einloom.ir.curve import curve
from einloom.ir.text import parse_operation, parse_schedule

GEMM = parse_operation(
    """gemm first=zero last=none
axis m 40 m
axis n 30 n
axis k 8 k
in0 float32 m=1 k=40
in1 float32 k=1 n=8
out float32 m=1 n=40"""
)


@pytest.mark.parametrize("rows", range(1, 18))
def test_a_curve_visits_every_cell_once_in_small_steps(rows: int) -> None:
    for columns in range(1, 18):
        cells = curve((rows, columns))
        assert cells[0] == (0, 0)
        assert sorted(cells) == list(product(range(rows), range(columns)))
        steps = [(abs(a - c), abs(b - d)) for (a, b), (c, d) in pairwise(cells)]
        assert max((max(step) for step in steps), default=0) <= 1
        assert sum(sum(step) == 2 for step in steps) <= 1  # a diagonal one where parity asks for it


def test_more_dimensions_and_empty_ones() -> None:
    cells = curve((3, 4, 5, 2))
    assert sorted(cells) == list(product(range(3), range(4), range(5), range(2)))
    assert max(math.dist(a, b) for a, b in pairwise(cells)) < 1.5
    assert curve((0, 3)) == ()


def test_the_text_of_a_curve_parses_back() -> None:
    text = "sfc m:8 sfc n:5 seq n:1 prim m=m k=k pack in0@2 k m"
    assert str(parse_schedule(text)) == text
    assert "sfc m 0:40:8" in str(bind(GEMM, parse_schedule(text)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sfc k:4 prim m=m n=n k=k", "dimension k .*contracted.*sfc"),
        ("sfc m:8 sfc n:5 prim m=m n=n k=k pack in0@1 m k", "input 0 is packed.*between sfc"),
        ("sfc m:8 sfc n:5 prim m=m n=n k=k pack out@1 n m", "the output is packed.*between sfc"),
        ("sfc m:8 shared n:5 prim m=m n=n k=k", "dimension n is shared inside"),
    ],
)
def test_what_may_not_run_along_a_curve(text: str, words: str) -> None:
    with pytest.raises(ScheduleError, match=words):
        bind(GEMM, parse_schedule(text))


def test_a_curve_has_a_longest_length() -> None:
    wide = parse_operation(str(GEMM).replace("m 40 m", "m 4000 m").replace("axis n 30", "axis n 3000"))
    with pytest.raises(ScheduleError, match="from m on have 12,000,000 blocks"):
        bind(wide, parse_schedule("sfc m:1 sfc n:1 prim k=k"))


def test_a_configuration_says_sfc_and_keeps_it() -> None:
    schedule = parse_schedule("sfc m:8 sfc n:7 prim m=m n=n k=k")
    config = TensorOperationConfig.from_schedule(GEMM, schedule)
    assert config.exec_types[:2] == ("sfc", "sfc")
    assert TensorOperationConfig.from_json(config.to_json()) == config
    assert str(config.schedule) == str(schedule)
