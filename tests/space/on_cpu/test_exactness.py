"""A schedule that the space has words for is a leaf if it binds, and only then: neighbours of what families propose."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from einloom.errors import DeadEnd, ScheduleError
from einloom.ir.bind import bind
from einloom.ir.fused import FusedView
from einloom.ir.operation import Operation
from einloom.ir.schedule import Digit, Schedule, ScheduledLoop, ScheduledPack
from einloom.ir.text import parse_operation, parse_schedule
from einloom.machine import AVX512
from einloom.space.on_cpu.space import CpuSpace
from tests.soak import soak_count
from tests.space.on_cpu.operations import considered

APART = """
gemm first=identity:in2 last=none
axis a 4 m
axis b 6 m
axis c 5 n
axis d 4 n
axis k 3 k
in0 float32 a=1 b=4 k=24
in1 float32 c=1 d=5 k=20
in2 float32 a=6 b=1
out float32 a=20 b=80 c=1 d=5
"""
"""Rows of a*b lie apart in in0 and out, rows of c*d in in1 and out; in2 has an axis a*b in one piece."""
FUSED = "fuse ab=a*b fuse cd=c*d"


@pytest.mark.soak
def test_a_schedule_is_a_leaf_exactly_if_it_binds() -> None:
    seen = {True: 0, False: 0}
    for seed in range(soak_count(300, 0.01)):
        rng = random.Random(seed)
        operation, schedules = considered(seed)
        for schedule in rng.sample(schedules, min(3, len(schedules))):
            for _ in range(4):
                changed = neighbour(rng, operation, neighbour(rng, operation, schedule))
                if changed is not None and (said := leaf_of(operation, schedule, changed)) is not None:
                    assert said == binds(operation, changed), f"seed {seed}: {changed}"
                    seen[said] += 1
    assert all(seen.values())


def neighbour(rng: random.Random, operation: Operation, schedule: Schedule | None) -> Schedule | None:
    """Return a schedule with a loop or a pack changed; None: it has none, or that is no schedule."""
    if schedule is None or not schedule.loops or not schedule.packs:
        return None
    loops, packs = list(schedule.loops), list(schedule.packs)
    i, j, place = rng.randrange(len(loops)), rng.randrange(len(loops)), rng.randrange(len(packs))
    match rng.randrange(5):
        case 0:
            loops[i], loops[j] = loops[j], loops[i]
        case 1:
            packs[place] = replace(packs[place], loop=rng.randint(0, len(loops)))
        case 2:
            del packs[place]
        case 3:
            packs[place] = laid_anew(rng, loops, packs[place])
        case _:
            loops[i] = loops[i]._replace(step=max(1, rng.choice((loops[i].step // 2, 2 * loops[i].step))))
    extents = {axis.name: axis.extent for axis in FusedView.of(operation, schedule.fused).axes}
    if any(loop.step > extents[loop.axis] for loop in loops):
        return None
    try:
        return replace(schedule, loops=tuple(loops), packs=tuple(in_words(extents, loops, each) for each in packs))
    except ScheduleError:
        return None


def laid_anew(rng: random.Random, loops: list[ScheduledLoop], pack: ScheduledPack) -> ScheduledPack:
    """Return a pack with its axes in another order, some of them in panels."""
    layout = [digit for digit in pack.layout if digit.step == 1]
    rng.shuffle(layout)
    for digit in tuple(layout):
        width = next((loop.step for loop in loops[pack.loop :] if loop.axis == digit.axis), 1)
        if width > 1 and rng.random() < 0.5:
            layout.insert(rng.randint(0, layout.index(digit)), Digit(digit.axis, width))
    return replace(pack, layout=tuple(layout))


def in_words(extents: dict[str, int], loops: list[ScheduledLoop], pack: ScheduledPack) -> ScheduledPack:
    """Return a pack without digits of axes of which its block has one index: the space has no word for them."""
    spans = extents | {loop.axis: loop.step for loop in loops[: pack.loop]}
    return replace(pack, layout=tuple(digit for digit in pack.layout if spans[digit.axis] > 1))


def leaf_of(operation: Operation, known: Schedule, schedule: Schedule) -> bool | None:
    """Return whether a schedule is a leaf; None if the space has no word for it."""
    try:
        leaf = CpuSpace(operation, AVX512, (known, schedule)).leaf(schedule)
    except DeadEnd:
        return False
    except ScheduleError:
        return None
    assert leaf.is_leaf and leaf.schedule == schedule
    return True


def binds(operation: Operation, schedule: Schedule) -> bool:
    """Return whether a schedule is legal."""
    try:
        bind(operation, schedule)
    except ScheduleError:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "legal"),
    [
        # What a touch reads is packed; panels of 4 cut rows of 6, those of 6 are rows.
        ("seq ab:4 prim m=ab n=cd k=k pack in0@0 ab:4 k ab pack in1@0 k cd pack in2@0 ab pack out@0 cd ab", True),
        ("seq ab:6 prim m=ab n=cd k=k pack in0@0 ab:6 k ab pack in1@0 k cd pack in2@0 ab pack out@0 cd ab", True),
        # A copy inside a loop that cuts rows, or does not.
        ("seq ab:4 prim m=ab n=cd k=k pack in0@1 k ab pack in1@0 k cd pack out@0 cd ab", False),
        ("seq ab:6 prim m=ab n=cd k=k pack in0@1 k ab pack in1@0 k cd pack out@1 cd ab", True),
        # Staged, with panels of one axis that cut rows, and of both; of which one does.
        ("seq ab:4 seq cd:3 prim m=ab n=cd k=k pack in0@0 k ab pack in1@0 k cd pack out@0 ab:4 cd ab", True),
        ("seq ab:4 seq cd:3 prim m=ab n=cd k=k pack in0@0 k ab pack in1@0 k cd pack out@0 ab:4 cd:3 cd ab", False),
        ("seq ab:4 seq cd:4 prim m=ab n=cd k=k pack in0@0 k ab pack in1@0 k cd pack out@0 ab:4 cd:4 cd ab", True),
        # Rows that lie apart are not read in place.
        ("prim m=ab n=cd k=k pack in0@0 k ab pack out@0 cd ab", False),
    ],
)
def test_rows_that_lie_apart(text: str, legal: bool) -> None:
    operation, schedule = parse_operation(APART), parse_schedule(f"{FUSED} {text}")
    assert binds(operation, schedule) == legal
    assert leaf_of(operation, schedule, schedule) == legal


def test_an_output_that_is_added_to_is_not_walked_where_its_rows_lie_apart() -> None:
    operation = parse_operation(APART.replace("first=identity:in2", "first=none").replace("in2 float32 a=6 b=1\n", ""))
    schedule = parse_schedule("fuse ab=a*b seq d:1 prim m=ab n=c k=k pack in0@0 k ab")
    assert not binds(operation, schedule)
    assert leaf_of(operation, schedule, schedule) is False


def test_what_a_touch_writes_is_staged_as_the_output_is() -> None:
    operation = parse_operation(
        "gemm first=zero last=relu,sign>in2\naxis m 6 m\naxis n 4 n\naxis k 4 k\n"
        "in0 float32 m=1 k=6\nin1 float32 n=4 k=1\nin2 float32 m=1 n=6\nout float32 m=1 n=6"
    )
    for text, legal in (
        ("seq k:2 prim m=m n=n k=k pack in2@0 n m", True),
        ("seq k:2 prim m=m n=n k=k pack in2@1 n m", False),
        ("seq n:1 seq k:2 prim m=m k=k pack in2@1 m", True),
    ):
        schedule = parse_schedule(text)
        assert binds(operation, schedule) == legal
        assert leaf_of(operation, schedule, schedule) == legal
