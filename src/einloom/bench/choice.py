"""How good the optimiser's choice is: every proposed schedule of a case, run beside the chosen one.

All take short turns in this process, on one thread: each proposal between two turns of the chosen one, round after
round. The clock of a machine may step by a fifth in between, so only neighbours are compared, and a proposal takes as
many times as long as the chosen one as the median of its rounds says. Processor time counts, so that other processes
do not.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from einloom.bench.cases import Case, Kind
from einloom.bench.data import make_operands, make_output
from einloom.dtypes import data_type
from einloom.frozen import frozen
from einloom.ir.bind import bind
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.jit.timing import undisturbed
from einloom.machine import Machine
from einloom.passes.block_elementwise import costed_element_wise
from einloom.passes.contraction.choose import costed
from einloom.passes.contraction.proposals import Costed
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

HOPELESS = 1.5
"""A proposal that took so many times the chosen one's time gets no further turn."""

TURN = 0.005
"""Least seconds of a turn, of which the least call counts: long enough to have caches as a proposal leaves them, short
enough for the clock to be the same in the next one."""


@frozen
class Tried:
    """A proposal with its predicted seconds, and with those that it takes where the chosen one takes its least."""

    family: str
    schedule: str
    predicted: float
    seconds: float


@frozen
class Choice:
    """What was chosen for a case, first, and the other proposals; in how many rounds they were compared."""

    name: str
    flops: int
    rounds: int
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
        tried = [asdict(each) for each in self.tried]
        return {"name": self.name, "ratio": self.ratio, "rounds": self.rounds, "tried": tried}


def measure_choice(case: Case, machine: Machine, runs: int, seconds: float) -> Choice | None:
    """Run all proposals of a case; None if it is no single step, or nothing is to be chosen.

    Args:
        case: what to compute.
        machine: the target; this host must be able to run its code.
        runs: rounds at least.
        seconds: how long each proposal runs for each of them: short ones take more rounds.
    """
    operation = _step(case)
    if operation is None or len(found := _proposals(operation, machine)) < 2:
        return None
    arrays = [*make_operands(case), make_output(case)]
    addresses = [array.__array_interface__["data"][0] for array in arrays]
    programs = [Executable(image_of(bind(operation, each.proposal.schedule), machine)) for each in found]
    least = min(seconds, TURN)

    def turn(index: int) -> float:
        times = list[float]()
        while sum(times) <= least:  # At least until the clock has seen some of it.
            begin = time.thread_time()
            programs[index](addresses, 1)
            times.append(time.thread_time() - begin)
        return undisturbed(times)

    rounds = _rounds(turn(0), runs, seconds)
    best = _beside_the_chosen(turn, len(programs), rounds)
    return Choice(case.name, operation.flops, rounds, tuple(map(_tried, found, best)))


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


def _rounds(chosen: float, runs: int, seconds: float) -> int:
    """Return in how many rounds proposals run for about `runs * seconds` each; as many as `runs` at least."""
    return runs * max(int(seconds / max(chosen, TURN)), 1)


def _beside_the_chosen(turn: Callable[[int], float], count: int, rounds: int) -> list[float]:
    """Return the seconds of each proposal, the chosen one first.

    Args:
        turn: runs a proposal for a moment, and says how long a call of it took.
        count: of proposals, the chosen one among them.
        rounds: how often each has its turn, if it is not hopeless.
    """
    ratios: list[list[float]] = [[1.0], *([] for _ in range(count - 1))]
    chosen = [turn(0)]
    for _ in range(rounds):
        for found, rival in zip(ratios[1:], range(1, count)):
            if found and statistics.median(found) > HOPELESS:
                continue
            taken = turn(rival)
            chosen.append(turn(0))
            found.append(2 * taken / (chosen[-2] + chosen[-1]))
    least = undisturbed(chosen)
    return [least * statistics.median(found) for found in ratios]


def mean_ratio(choices: Sequence[Choice]) -> float:
    """Return the geometric mean of how far choices are behind the best."""
    return float(np.exp(np.mean([math.log(each.ratio) for each in choices])))
