"""What tuning gains on the cases of a suite: the heuristic's schedule beside the one that a search found.

Both are measured in turns in a fresh process, after the search: what chose the best one does not judge it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from einloom.bench.cases import Case
from einloom.dtypes import data_type
from einloom.frozen import frozen
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.jit.code_store import package_digest
from einloom.jit.host import host
from einloom.passes.fuse import fuse
from einloom.passes.pipeline import optimize_operation
from einloom.passes.values import Options
from einloom.plan.names import with_plain_names
from einloom.plan.paths import contraction_path
from einloom.plan.problem import make_problem
from einloom.plan.steps import plan_problem
from einloom.search.measure import Measurement, median, remeasured
from einloom.search.problems import host_of, recorded_schedule
from einloom.search.records import problem_key, records_at
from einloom.search.result import Tuned
from einloom.space.on_cpu.space import CpuSpace
from einloom.tuning import tune

__all__ = ["TunedCase", "differences", "mean_speedup", "tuned_case"]


@frozen
class TunedCase:
    """A case with the heuristic's schedule and the best one that is known, each with the times of its turns."""

    name: str
    evaluations: int
    heuristic: str
    best: str
    heuristic_times: tuple[float, ...]
    best_times: tuple[float, ...]
    difference: str

    @property
    def speedup(self) -> float:
        """The median over the turns of how many times as fast the best schedule is.

        1 where it is the heuristic's, or one of the two could not be timed again.
        """
        if self.best == self.heuristic or not (self.heuristic_times and self.best_times):
            return 1.0
        return median([own / found for own, found in zip(self.heuristic_times, self.best_times)])

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self) | {"speedup": self.speedup}


def tuned_case(case: Case, evaluations: int, file: Path, turns: int, seconds: float, threads: int = 1) -> TunedCase:
    """Tune a case as far as its records do not go yet, and measure the best schedule beside the heuristic's.

    Args:
        case: what to compute: one contraction, or one copy.
        evaluations: how many schedules of it are to be evaluated, with those that are recorded.
        file: records; what is there is not measured again.
        turns, seconds: how often each of the two is measured again, and how long at least.
        threads: how many may share the work.

    Raises:
        KeyboardInterrupt: Ctrl-C ended the search.
    """
    operation = with_plain_names(_operation(case))
    machine = host_of(operation)
    heuristic = optimize_operation(operation, machine, Options(threads))[1]
    done = _evaluated(operation, file, threads)
    if str(heuristic) not in done or len(done) < evaluations:
        budget = max(evaluations - len(done), 1)
        tuned = tune(case.equation, *case.shapes[:-1], budget=budget, records=file, dtype=case.dtype, threads=threads)
        if isinstance(tuned, Tuned) and tuned.run.ended == "interrupted":
            raise KeyboardInterrupt  # whoever asked for several cases wants no other one now
        done = _evaluated(operation, file, threads)
    best = recorded_schedule(operation, machine, threads, file) or heuristic
    texts = str(heuristic), str(best)
    space = CpuSpace(fuse(operation), machine, (heuristic, best), threads)
    with Measurement(operation, space, heuristic, threads, seconds) as measurement:
        own, found = remeasured(measurement, texts, turns)
    times = tuple(own), tuple(found)
    return TunedCase(case.name, len(done), *texts, *times, differences(heuristic, best))


def _operation(case: Case) -> Operation:
    shapes = list(case.shapes[:-1])
    problem = make_problem(case.equation, shapes, [None] * len(shapes), data_type(case.dtype))
    (step,) = plan_problem(problem, None, contraction_path(problem)).steps
    return step.operation


def _evaluated(operation: Operation, file: Path, threads: int) -> set[str]:
    """The schedules of an operation that this einloom has evaluated here."""
    found = records_at(file).all(problem_key(str(operation), host(), threads))
    return {each.schedule for each in found if not each.confirmed and each.compiler == package_digest()}


def differences(heuristic: Schedule, best: Schedule) -> str:
    """Return which decisions of two schedules differ, in the order in which people read them.

    >>> from einloom.ir.text import parse_schedule
    >>> differences(parse_schedule("seq m:8 prim m=m n=n"), parse_schedule("seq m:16 prim m=m n=n pack in0@1 m"))
    'steps, packs of in0'
    """

    def packs(each: Schedule) -> dict[int, tuple[Any, ...]]:
        return {p.operand: (p.layout, [loop.axis for loop in each.loops[: p.loop]]) for p in each.packs}

    mine, theirs = packs(heuristic), packs(best)
    packed = [operand for operand in sorted({*mine, *theirs}) if mine.get(operand) != theirs.get(operand)]
    orders = [[loop.axis for loop in each.loops] for each in (heuristic, best)]
    told = {
        "axes walked as one": heuristic.fused != best.fused,
        "roles": heuristic.prims != best.prims,
        "loops": sorted(orders[0]) != sorted(orders[1]),
        "order": sorted(orders[0]) == sorted(orders[1]) and orders[0] != orders[1],
        "steps": {(loop.axis, loop.step) for loop in heuristic.loops}
        != {(loop.axis, loop.step) for loop in best.loops},
        "packs of " + ", ".join("out" if each < 0 else f"in{each}" for each in packed): bool(packed),
    }
    return ", ".join(name for name, differs in told.items() if differs)


def mean_speedup(found: Sequence[TunedCase]) -> float:
    """Return the geometric mean of what tuning gained."""
    return float(np.exp(np.mean([math.log(each.speedup) for each in found])))
