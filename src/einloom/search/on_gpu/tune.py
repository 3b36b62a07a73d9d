"""`tune_kernel`: find a faster leaf of a GPU's space than the expert's, on the device at hand, and remember it.

The search starts from the leaves that experts would take. Candidates are compiled and run in a process apart, under a
time limit. At the end the best ones and the expert's are measured again in turns, in a fresh process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any

from einloom import csp
from einloom.errors import EinloomError
from einloom.frozen import frozen
from einloom.ir.gpu.text import write_launch
from einloom.search.measure import LEAST_WAIT, Timing, interval, is_faster, median, remeasured, search_end
from einloom.search.on_gpu.records import gpu_key
from einloom.search.on_gpu.result import TunedKernel, TunedLeaf
from einloom.search.records import Record, Records, kept, records_at
from einloom.search.search import Budget, Outcome, SearchRun, Trial, run_search
from einloom.space.candidate import Candidate, Space
from einloom.space.on_gpu.experts import expert_leaves

__all__ = ["KernelMeasurement", "KernelProblem", "tune_kernel"]

CODE = "from einloom.search.on_gpu.worker import serve\nserve()\n"

STARTS = 12
"""Leaves of experts that are evaluated first."""

FINALISTS, ROUNDS = 3, 9
"""Leaves of the search that are measured again at the end, and turns of each of them."""


@frozen(slots=False)
class KernelProblem:
    """What is tuned, and where.

    Attributes:
        space: its implementations on the device.
        told: what a process needs to make the same kernel: an operation's text, or a kernel's name and options.
        kind: of the device's driver.
        identity: of the device with its driver.
    """

    space: Space
    told: Mapping[str, Any]
    kind: str
    identity: str

    @property
    def key(self) -> str:
        """What its records are found by."""
        return gpu_key(self.space.name, self.identity)


class KernelMeasurement(Timing):
    """An evaluator of leaves on a device; `Timing` says what the last arguments are.

    Args:
        problem: what is computed, and where.
        first: a leaf that is known to be right.
    """

    def __init__(self, problem: KernelProblem, first: Candidate, seconds: float = 0.02, timeout: float = 20.0) -> None:
        super().__init__(CODE, "launch", 1, seconds, timeout)
        self.problem, self.first = problem, first

    def text(self, state: csp.State) -> str:
        """Return the launch of a leaf."""
        space = self.problem.space
        return write_launch(space.launch(space.decided(state)))

    def prepared(self) -> dict[str, Any]:
        """Return the kernel, the kind of device, and a first launch."""
        return {**self.problem.told, "kind": self.problem.kind, "launch": write_launch(self.first.launch())}


def tune_kernel(
    problem: KernelProblem,
    budget: Budget,
    *,
    strategy: str = "tag",
    seed: int = 0,
    file: Path | None = None,
    version: str = "",
    seconds: float = 0.02,
    timeout: float = 20.0,
    progress: Callable[[SearchRun], None] = lambda run: None,
    end: float | None = None,
) -> TunedKernel:
    """Return what a search for a faster leaf found.

    Args:
        problem: what is computed, and where.
        budget: when to end.
        strategy, seed: of the search.
        file: where records lie; None: nothing is read or remembered.
        version: of einloom, for records.
        seconds: how long a good candidate is timed.
        timeout: seconds that compiling and running a candidate may take.
        progress: is called after every evaluation.
        end: by the monotonic clock, when the budget's seconds end, which the start of one process may exceed; None:
            they begin now.

    Raises:
        InternalError: the expert's leaf computes something else than the interpreter.
        DeadEnd: nothing fits the device.
    """
    end = budget.end() if end is None else end
    tuning = _Tuning(problem, strategy, seed, None if file is None else records_at(file), version)
    with KernelMeasurement(problem, tuning.expert, seconds, timeout) as measurement:

        def seen(run: SearchRun) -> None:
            tuning.remember(run.history[-1])
            progress(run)

        start = measurement.start() if time.monotonic() < end else 0.0
        over = search_end(end, budget.seconds or 0.0, start, time.monotonic())
        measurement.end = min(over + LEAST_WAIT, end)
        run = run_search(
            problem.space, measurement, budget.until(over), strategy, seed,
            starts=[each.inner for each in tuning.starts], known=tuning.known, progress=seen,
        )  # fmt: skip
        leaves = tuning.best(run)
        left = end - time.monotonic()
        times = remeasured(measurement, [write_launch(leaf.launch()) for leaf in leaves], ROUNDS, left, least=1)
    return tuning.result(run, leaves, times)


class _Tuning:
    """One tuning: where it starts, and what is remembered."""

    def __init__(self, problem: KernelProblem, strategy: str, seed: int, records: Records | None, version: str) -> None:
        self.problem, self.records = problem, records
        space = problem.space
        self.starts = list(islice(expert_leaves(space), STARTS))
        self.expert = self.starts[0]
        self.blank = Record(
            problem.key, space.name, space.device.name, problem.kind, 1, "", seed=seed, strategy=strategy,
            einloom=version, space=space.digest,
        )  # fmt: skip
        earlier = [] if records is None else list(records.all(problem.key))
        self.known = [
            (leaf.inner, each.seconds if each.status == "ok" else inf)
            for each in earlier
            if each.is_trial and (leaf := self._leaf(each.decisions)) is not None
        ]

    def _leaf(self, decisions: Mapping[str, str | int]) -> Candidate | None:
        try:
            leaf = self.problem.space.root.apply(decisions)
        except EinloomError:
            return None
        return leaf if leaf.is_leaf else None

    def remember(self, trial: Trial) -> None:
        """Record a trial at once: a search that is killed loses nothing but what it was at."""
        self.records = kept(self.records, self._note(self._candidate(trial.leaf.snapshot), trial.outcome))

    def _candidate(self, snapshot: bytes) -> Candidate:
        space = self.problem.space
        return Candidate(space, csp.Domains(space.problem, snapshot, ()))

    def _note(self, leaf: Candidate, outcome: Outcome) -> Record:
        time = outcome.seconds if outcome.status == "ok" else 0.0
        told: dict[str, Any] = {"status": outcome.status, "seconds": time, "code": outcome.code}
        return replace(self.blank, decisions=leaf.assignment, note=outcome.note[:200], **told)

    def best(self, run: SearchRun) -> list[Candidate]:
        """Return the expert's leaf, and the best ones of all that is known."""
        ordered = sorted((seconds, leaf.snapshot) for leaf, seconds in run.known if seconds < inf)
        found = [self._candidate(snapshot) for _, snapshot in ordered[:FINALISTS]]
        return list(dict.fromkeys([self.expert, *found]))

    def result(self, run: SearchRun, leaves: list[Candidate], times: list[list[float]]) -> TunedKernel:
        """Choose the best, and record it."""
        measured = [
            TunedLeaf(leaf, median(each), tuple(each), interval(each) if each else (inf, inf))
            for leaf, each in zip(leaves, times)
        ]
        expert, best = measured[0], min(measured, key=lambda each: each.time)
        if not is_faster(best.times, expert.times):
            best = expert
        if best.times:
            note = self._note(best.leaf, Outcome("ok", min(best.times)))
            self.records = kept(self.records, replace(note, confirmed=True, times=best.times, heuristic=expert.time))
        others = tuple(sorted(measured[1:], key=lambda each: each.time))
        return TunedKernel(self.problem.space, run.result, best, expert, others)
