"""Programs over fused axes equal the interpreter and touch nothing else."""

from __future__ import annotations

import random

from einloom.dtypes import FLOAT32
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_operation, parse_schedule
from einloom.jit.host import host

from ..ir.strategies import fused_cases
from ..kernels.guarded import run_guarded
from .programs import difference


def test_programs_over_fused_axes_equal_the_interpreter(vector: str) -> None:
    def check(case: tuple[Operation, Schedule]) -> str | None:
        operation, schedule = case
        return difference(operation, operation, schedule, host().with_vector(vector), random.Random(str(schedule)))

    cases = fused_cases(FLOAT32, 1000)
    assert len(cases) > 150
    assert run_guarded(cases, check) is None


def test_parts_that_end_early_are_copied_whole(vector: str) -> None:
    """Nobody follows what is left of a part of fused axes, as of b here: 9 rows are not copied as 8 and 1."""
    operation = parse_operation(
        """
        gemm first=zero last=none
        axis a 7 m
        axis b 9 m
        axis n 9 n
        axis k 9 k
        in0 float32 a=1 b=7 k=63
        in1 float32 k=9 n=1
        out float32 a=81 b=9 n=1
        """
    )
    schedule = parse_schedule("fuse ab=a*b seq ab:18 seq ab:4 prim m=n n=ab k=k pack in0@1 ab k")
    assert difference(operation, operation, schedule, host().with_vector(vector), random.Random(0)) is None
