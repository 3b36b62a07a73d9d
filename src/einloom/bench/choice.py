"""How good the optimiser's choice is: every proposed schedule of a case, run beside the chosen one.

All proposals take turns in this process, on one thread. Their processor time counts, so that other processes do not,
and the best of their turns.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from einloom.bench.cases import Case, Kind
from einloom.bench.data import make_operands, make_output
from einloom.dtypes import data_type
from einloom.ir.bind import bind
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.jit.timing import undisturbed
from einloom.machine import Machine
from einloom.passes.block_elementwise import costed_element_wise
from einloom.passes.contraction.choose import Costed, costed
from einloom.passes.fuse import fuse
from einloom.passes.identify import identify_primitive
from einloom.passes.pipeline import optimize_operation
from einloom.passes.values import Context
from einloom.plan.paths import contraction_path
from einloom.plan.problem import make_problem
from einloom.plan.steps import plan_problem
from einloom.targets.executable import Executable
from einloom.targets.image import image_of

__all__ = ["WITHIN", "Choice", "Tried", "mean_ratio", "measure_choice"]

WITHIN = 1.05
"""Up to so many times the best proposal's time a choice is good."""

HOPELESS = 2.0
"""A proposal that took so many times the best one's time gets no further turn."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A proposal with its predicted and its measured seconds."""

    family: str
    schedule: str
    predicted: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen for a case, first, and the other proposals."""

    name: str
    flops: int
    tried: tuple[Tried, ...]

    @property
    def best(self) -> Tried:
        """The fastest proposal."""
        return min(self.tried, key=lambda each: each.seconds)

    @property
    def ratio(self) -> float:
        """How many times the best proposal's time the chosen one takes."""
        return self.tried[0].seconds / self.best.seconds

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        tried = [{name: getattr(each, name) for name in Tried.__slots__} for each in self.tried]
        return {"name": self.name, "ratio": self.ratio, "tried": tried}


def measure_choice(case: Case, machine: Machine, runs: int, seconds: float) -> Choice | None:
    """Run all proposals of a case; None if it is no single step, or nothing is to be chosen.

    Args:
        case: what to compute.
        machine: the target; this host must be able to run its code.
        runs: turns of each proposal.
        seconds: least time of a turn.
    """
    operation = _step(case)
    if operation is None or len(found := _proposals(operation, machine)) < 2:
        return None
    arrays = [*make_operands(case), make_output(case)]
    addresses = [array.__array_interface__["data"][0] for array in arrays]
    programs = [Executable(image_of(bind(operation, each.proposal.schedule), machine)) for each in found]
    best = _best_times(programs, addresses, runs, seconds)
    return Choice(case.name, operation.flops, tuple(map(_tried, found, best)))


def _step(case: Case) -> Operation | None:
    """The case's only step with its axes fused."""
    if case.kind is not Kind.EXPRESSION:
        return None
    shapes = list(case.shapes[:-1])
    problem = make_problem(case.equation, shapes, [None] * len(shapes), data_type(case.dtype))
    plan = plan_problem(problem, None, contraction_path(problem))
    return fuse(plan.steps[0].operation) if len(plan.steps) == 1 else None


def _proposals(operation: Operation, machine: Machine) -> list[Costed]:
    """What the schedule is chosen among, the chosen one first; nothing if another pass decides it."""
    choose = costed if operation.main.is_contraction else costed_element_wise
    found = choose(operation, Schedule((), identify_primitive(operation)), Context(machine))
    return found if found[0].proposal.schedule == optimize_operation(operation, machine)[1] else []


def _tried(each: Costed, seconds: float) -> Tried:
    return Tried(each.proposal.family, str(each.proposal.schedule), each.cost.seconds, seconds)


def _best_times(programs: Sequence[Executable], addresses: list[int], runs: int, seconds: float) -> list[float]:
    """Return the least processor time of each program, the programs taking turns."""
    best = [math.inf] * len(programs)
    for run in range(runs):
        for index, program in enumerate(programs):
            if run and best[index] > HOPELESS * min(best):
                continue
            times = list[float]()
            while not times or sum(times) < seconds:
                begin = time.thread_time()
                program(addresses, 1)
                times.append(time.thread_time() - begin)
            best[index] = min(best[index], undisturbed(times))
    return best


def mean_ratio(choices: Sequence[Choice]) -> float:
    """Return the geometric mean of how far choices are behind the best."""
    return float(np.exp(np.mean([math.log(each.ratio) for each in choices])))
