"""Programs over fused axes equal the interpreter and touch nothing else."""

from __future__ import annotations

import random

from einloom.dtypes import FLOAT32
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
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
