"""Programs whose blocks follow a curve equal the interpreter: any sizes, one and more threads, wherever it stands."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from einloom.dtypes import FLOAT32, FLOAT64
from einloom.errors import ScheduleError
from einloom.ir.bind import bind
from einloom.ir.interpret import interpret
from einloom.ir.memory import Memory
from einloom.ir.operation import DimType, Operation
from einloom.ir.schedule import ExecType, Schedule
from einloom.jit.host import host
from einloom.passes.space_filling_curve import follow_space_filling_curve
from einloom.targets.cpu import lower_nest

from ..ir.strategies import fused_cases, random_memories, random_operation, random_schedule
from ..kernels.guarded import run_guarded
from .programs import difference
from .test_lowering import run


def _along_curves(operation: Operation, schedule: Schedule) -> Schedule | None:
    """The schedule with its sequential loops over kept axes along curves, or None where that is illegal or nothing."""
    loops = tuple(
        loop._replace(kind=ExecType.SFC)
        if loop.kind is ExecType.SEQ and operation.axis(loop.axis).role is not DimType.K
        else loop
        for loop in schedule.loops
    )
    changed = replace(schedule, loops=loops)
    try:
        bind(operation, changed)
    except ScheduleError:
        return None
    return changed if changed != schedule else None


@pytest.mark.parametrize("block", range(4))
def test_programs_along_curves_equal_the_interpreter(block: int) -> None:
    tried = 0
    for seed in range(block * 60, block * 60 + 60):
        rng = random.Random(seed)
        operation = random_operation(rng, rng.choice((FLOAT32, FLOAT64)))
        schedule = _along_curves(operation, random_schedule(rng, operation))
        if schedule is None:
            continue
        tried += 1
        memories = random_memories(rng, operation)
        expected = [Memory(memory.elements.copy(), memory.origin) for memory in memories]
        interpret(operation, expected)
        run(operation, schedule, host(), memories, rng.choice((1, 2, 3)))
        for want, got in zip(expected, memories):
            assert np.array_equal(want.elements, got.elements), (seed, str(schedule))
    assert tried > 15


def test_curves_over_axes_that_are_walked_as_one_equal_the_interpreter() -> None:
    found = [
        (operation, follow_space_filling_curve(operation, schedule))
        for operation, schedule in fused_cases(FLOAT32, 300)
    ]
    along = [case for case in found if any(loop.kind is ExecType.SFC for loop in case[1].loops)]
    assert sum({loop.axis for loop in each.loops} > {each.fused[0].name} for _, each in along) > 10
    assert run_guarded(along, lambda case: difference(case[0], case[0], case[1], host(), random.Random(1))) is None


def test_a_curve_that_stands_outermost_is_shared_among_threads() -> None:
    from einloom.ir.text import parse_operation, parse_schedule

    operation = parse_operation(
        "gemm first=zero last=none\naxis m 40 m\naxis n 30 n\naxis k 8 k\n"
        "in0 float32 m=1 k=40\nin1 float32 k=1 n=8\nout float32 m=1 n=40"
    )
    outermost = lower_nest(bind(operation, parse_schedule("sfc m:8 sfc n:7 prim m=m n=n k=k")), host())
    behind = lower_nest(bind(operation, parse_schedule("shared n:10 sfc m:8 sfc n:5 prim m=m n=n k=k")), host())
    inside = lower_nest(bind(operation, parse_schedule("seq k:4 sfc m:8 sfc n:7 prim m=m n=n k=k")), host())
    assert (outermost.shared_trips, behind.shared_trips, inside.shared_trips) == (25, 30, 1)
