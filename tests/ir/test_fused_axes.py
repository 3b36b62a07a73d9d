"""Axes that a schedule walks as one mean what they mean apart, wherever an operand has them."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from einloom.dtypes import FLOAT32
from einloom.errors import ScheduleError
from einloom.ir.bind import bind
from einloom.ir.configuration import TensorOperationConfig
from einloom.ir.fused import FusedView
from einloom.ir.interpret import interpret, interpret_nest
from einloom.ir.memory import Memory
from einloom.ir.nest import Call, Loop, Pack, walk
from einloom.ir.operation import Operation
from einloom.ir.schedule import OUTPUT, Schedule
from einloom.ir.text import parse_operation, parse_schedule

from .strategies import fused_cases, random_memories

OPERATION = parse_operation("""
    gemm first=zero last=none
    axis a 3 m
    axis b 4 m
    axis c 5 n
    axis d 6 n
    axis k 7 k
    in0 float32 a=28 b=7 k=1
    in1 float32 c=1 d=5 k=30
    out float32 a=120 b=30 c=6 d=1
""")


def _same_meaning(operation: Operation, schedule: Schedule, rng: random.Random) -> bool:
    memories = random_memories(rng, operation)
    expected = [Memory(memory.elements.copy(), memory.origin) for memory in memories]
    interpret(operation, expected)
    interpret_nest(bind(operation, schedule), memories)
    return all(np.array_equal(a.elements, b.elements) for a, b in zip(expected, memories))


def test_nests_over_fused_axes_mean_what_their_operations_mean() -> None:
    cases = fused_cases(FLOAT32, 2000)
    apart = [(operation, schedule) for operation, schedule in cases if _is_apart(operation, schedule)]
    staged = [schedule for _, schedule in apart if any(pack.operand == OUTPUT for pack in schedule.packs)]
    touched = [operation for operation, _ in apart if operation.last_touches and len(operation.operands) > 3]
    assert len(cases) > 300 and len(apart) > 150 and len(staged) > 40 and len(touched) > 40
    assert not [
        str(schedule) for operation, schedule in cases if not _same_meaning(operation, schedule, random.Random(1))
    ]


def test_panels_of_rows_that_a_tensor_repeats_are_all_filled() -> None:
    first, *others = OPERATION.operands
    repeated = replace(OPERATION, operands=(replace(first, strides=(0, *first.strides[1:])), *others))
    schedule = parse_schedule("fuse ab=a*b seq ab:8 seq c:1 prim m=ab n=d k=k pack in0@0 ab:8 k ab")
    assert _same_meaning(repeated, schedule, random.Random(1))


def test_panels_that_cut_rows_are_among_them() -> None:
    copies = [
        list(walk(pack.body))
        for operation, schedule in fused_cases(FLOAT32, 2000)
        for pack in walk(bind(operation, schedule).body)
        if isinstance(pack, Pack)
    ]
    walked = [copy for copy in copies if any(isinstance(node, Loop) and node.carries for node in copy)]
    listed = [copy for copy in copies if sum(isinstance(node, Call) for node in copy) > 1]
    staged = [copy for copy in (*walked, *listed) if any(isinstance(node, Call) and node.streams for node in copy)]
    assert len(walked) > 20 and len(listed) > 100 and len(staged) > 20


def _is_apart(operation: Operation, schedule: Schedule) -> bool:
    """Whether the fused axes do not follow each other in some operand."""
    view = FusedView.of(operation, schedule.fused)
    return any(view.parts[operand.name] for operand in operation.operands)


def test_the_copy_walks_the_rows_of_a_block() -> None:
    schedule = parse_schedule("fuse cd=c*d seq cd:12 seq a:1 seq cd:4 prim m=cd n=b k=k pack in1@1 k cd")
    assert str(bind(OPERATION, schedule)).splitlines()[1:4] == [
        "  pack in1 into scratch0",
        "    seq in1.k.0 0:7:1                        in1+30 scratch0+12",
        "      identity m=6 n=2|1              in1[5, 1]  scratch0[1, 6]",
    ]
    assert _same_meaning(OPERATION, schedule, random.Random(2))


def test_the_copy_of_panels_goes_by_pieces_or_counts() -> None:
    schedule = parse_schedule("fuse cd=c*d seq a:1 seq cd:4 prim m=cd n=b k=k pack in1@0 cd:4 k cd")
    assert str(bind(OPERATION, schedule)).splitlines()[1:8] == [
        "  seq in1.c.rows 0:24:12                     in1+2 scratch0+84",
        "    identity m=4 n=7                in1[5, 30]  scratch0[1, 4]",
        "    identity m=2 n=7                in1+20[5, 30]  scratch0+28[1, 4]",
        "    identity m=2 n=7                in1+1[5, 30]  scratch0+30[1, 4]",
        "    identity m=4 n=7                in1+11[5, 30]  scratch0+56[1, 4]",
        "  identity m=4 n=7                in1+4[5, 30]  scratch0+168[1, 4]",
        "  identity m=2 n=7                in1+24[5, 30]  scratch0+196[1, 4]",
    ]
    assert _same_meaning(OPERATION, schedule, random.Random(2))
    schedule = parse_schedule("fuse cd=c*d seq cd:12 seq a:1 seq cd:5 prim m=cd n=b k=k pack in1@1 cd:5 k cd")
    assert str(bind(OPERATION, schedule)).splitlines()[2:4] == [
        "    seq in1.cd.rows 0:min(12, rest):1        in1+5 scratch0+1 in1-29/6 scratch0+30/5",
        "      identity n=7                    in1[5, 30]  scratch0[1, 5]",
    ]
    assert _same_meaning(OPERATION, schedule, random.Random(2))


def test_panels_of_one_row_each_are_indices_of_one_copy() -> None:
    """The rows of panels lie where those of an axis of their own would: one transposition moves all of them."""
    schedule = parse_schedule("fuse cd=c*d seq cd:12 seq a:1 seq cd:6 prim m=cd n=b k=k pack in1@1 cd:6 k cd")
    assert "identity m=42 n=2|1             in1[5, 1]  scratch0[1, 42]" in str(bind(OPERATION, schedule))
    assert _same_meaning(OPERATION, schedule, random.Random(2))


def test_texts_parse_back() -> None:
    for _, schedule in fused_cases(FLOAT32, 200):
        assert schedule.fused and parse_schedule(str(schedule)) == schedule


@pytest.mark.parametrize(
    "text, said",
    [
        ("fuse cd=c*x prim m=cd n=b k=k", "x is no axis"),
        ("fuse cd=c*c prim m=cd n=b k=k", "c stands twice"),
        ("fuse cd=c*d fuse e=d*c prim m=cd n=b k=k", "d stands twice"),
        ("fuse ca=c*a prim m=ca n=b k=k", "the roles m, n"),
        ("fuse a=c*d seq a:1 prim m=b k=k", "another axis' name"),
        ("fuse cd=c*d seq a:1 prim m=cd n=b k=k", "the primitive takes cd of in1"),
        ("fuse cd=c*d seq cd:4 seq a:1 prim m=cd n=b k=k pack in1@1 k cd", "cuts rows of 6"),
        ("fuse cd=c*d seq a:1 seq cd:10 seq cd:4 prim m=cd n=b k=k pack in1@2 cd:4 k cd", "cuts rows of 6"),
        ("fuse cd=c*d seq c:1 prim m=cd n=b k=k", "names the axis c"),
        ("fuse cd prim m=cd", "does not belong there"),
    ],
)
def test_what_cannot_be_fused_is_refused(text: str, said: str) -> None:
    with pytest.raises(ScheduleError, match=said) as refused:
        bind(OPERATION, parse_schedule(text))
    assert "\n  " in str(refused.value)  # What to do.


def test_a_configuration_cannot_say_it() -> None:
    schedule = parse_schedule("fuse cd=c*d seq a:1 prim m=cd n=b k=k pack in1@1 k cd")
    with pytest.raises(ScheduleError, match="fuse"):
        TensorOperationConfig.from_schedule(OPERATION, schedule)
