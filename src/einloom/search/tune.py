"""`tune_operation`: find a schedule that is faster here than the heuristic's, and remember it.

The search starts from what the heuristic considers, from what this einloom has recorded, and from what was best for
problems like it, or for this one on another machine or before einloom changed.
At the end the best schedules and the heuristic's are measured again in turns, in fresh processes: what wins there is
the result, and is recorded as such.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path

from einloom import csp
from einloom.errors import EinloomError
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_schedule
from einloom.jit.code_store import package_digest
from einloom.machine import Machine
from einloom.passes.contraction.choose import costed
from einloom.passes.fuse import fuse
from einloom.passes.identify import identify_primitive
from einloom.passes.parallelise import parallelise
from einloom.passes.pipeline import optimize_operation
from einloom.passes.values import Context, Options
from einloom.search.claims import code_digest
from einloom.search.hints import hints
from einloom.search.log import EventLog, SearchSetup, opened_log
from einloom.search.measure import (
    LEAST_ROUNDS,
    LEAST_WAIT,
    Compiler,
    Measurement,
    interval,
    is_faster,
    median,
    remeasured,
    search_end,
)
from einloom.search.problems import renamed, with_plain_names
from einloom.search.ranking import predicted_times
from einloom.search.records import Record, Records, kept, problem_key, records_at
from einloom.search.result import Tuned, TunedSchedule
from einloom.search.search import Budget, Outcome, SearchRun, Trial, run_search
from einloom.space.model.bound import Bound
from einloom.space.on_cpu.model import CpuModel
from einloom.space.on_cpu.rates import MARGIN, CpuRates
from einloom.space.on_cpu.space import CpuSpace
from einloom.targets.overhead import Overhead

__all__ = ["tune_operation"]


STARTS = 12
"""Schedules that the heuristic considers, of which so many of the cheapest are evaluated first."""

FINALISTS = 3
"""Schedules of the search that are measured again at the end."""

ROUNDS = 9
"""Turns of each of them."""

CALLS = 5
"""Calls that a turn takes at least: what begins anew, what is checked, and what is timed."""


def tune_operation(
    operation: Operation,
    machine: Machine,
    budget: Budget,
    *,
    threads: int = 1,
    strategy: str = "tag",
    seed: int = 0,
    file: Path | None = None,
    version: str = "",
    limits: CpuRates | None = None,
    seconds: float = 0.02,
    log: Path | None = None,
    progress: Callable[[SearchRun], None] = lambda run: None,
    compiler: Compiler | None = None,
    end: float | None = None,
) -> Tuned:
    """Return what a search for a faster schedule found.

    Args:
        operation: what is computed.
        machine: this host.
        budget: when to end; evaluations that are recorded count for nothing.
        threads: how many may share the work.
        strategy, seed: of the search.
        file: where records lie; None: nothing is read or remembered.
        version: of einloom, for records.
        limits: the best that was ever seen of a core; None: of any processor.
        seconds: how long a good candidate is timed.
        log: where to write what the search does; `einloom.search.log` reads it.
        progress: is called after every evaluation.
        compiler: what compiles candidates; None: the process that measures them.
        end: by the monotonic clock, when the budget's seconds end, which the start of one process may exceed; None:
            they begin now.

    Raises:
        ScheduleError: there is nothing to compute.
        InternalError: the heuristic's schedule computes something else than the interpreter.
    """
    end = budget.end() if end is None else end
    plain = with_plain_names(operation)
    rates = None if limits is None else limits.times(MARGIN)
    blank = Record(
        problem_key(str(plain), machine, threads), str(plain), machine.name, machine.vector, threads, "",
        seed=seed, strategy=strategy, einloom=version, compiler=package_digest() or version,
    )  # fmt: skip
    tuning = _Tuning(plain, machine, blank, None if file is None else records_at(file), rates)

    measurement = Measurement(plain, tuning.space, tuning.heuristic, threads, seconds, compiler=compiler)
    with measurement, opened_log(log, tuning.setup) as events:

        def seen(run: SearchRun) -> None:
            tuning.remember(run.history[-1], events)
            if run.explorer.best < inf:
                run.budget = limited(run.began, CALLS * run.explorer.best)
            progress(run)

        def limited(began: float, turn: float) -> Budget:
            """What is left for a search that began then: finalists that take longer have more of it."""
            if budget.seconds is None:
                return budget
            over = search_end(end, budget.seconds, start, began, turn)
            measurement.end = min(over + LEAST_WAIT, end)
            return replace(budget, seconds=max(over - began, 0.0))

        start = measurement.start() if time.monotonic() < end else 0.0
        run = run_search(
            tuning.space,
            measurement,
            limited(time.monotonic(), 0.0),
            strategy,
            seed,
            starts=tuning.starts,
            known=tuning.known,
            predict=predicted_times(tuning.space),
            proposed=measurement.propose,
            progress=seen,
        )
        left = end - time.monotonic()
        texts = tuning.best_texts(run, left)
        finalists = tuning.finalists(texts, remeasured(measurement, texts, ROUNDS, left))
    return tuning.result(run, finalists, dict(zip(plain.names, operation.names)), operation)


class _Tuning:
    """One tuning: the space, what is known of it, and what is remembered.

    Args:
        plain: the operation, its axes named by their positions.
        machine: this host.
        blank: what all records of this tuning say.
        records: where to read and write; None: nowhere.
        rates: limits of a core.
    """

    def __init__(
        self, plain: Operation, machine: Machine, blank: Record, records: Records | None, rates: CpuRates | None
    ) -> None:
        self.plain, self.machine, self.blank, self.records = plain, machine, blank, records
        fused = fuse(plain)
        self.heuristic, *others = _considered(plain, fused, machine, blank.threads)
        earlier = [] if records is None else list(records.all(blank.key))
        parsed = [(each, schedule) for each in earlier if (schedule := _parsed(each)) is not None]
        hinted = [] if records is None else hints(plain, fused, records, blank.threads)
        known = dict.fromkeys([self.heuristic, *others, *(schedule for _, schedule in parsed), *hinted])
        self.space = CpuSpace(fused, machine, tuple(known), blank.threads, rates=rates, lowered=Overhead)
        first = (self.heuristic, *hinted, *others[:STARTS])
        self.starts = [leaf for each in first if (leaf := self.leaf(each)) is not None]
        self.known = [
            (leaf, each.seconds if each.status == "ok" else inf)
            for each, schedule in parsed
            if each.is_trial and each.compiler == blank.compiler and (leaf := self.leaf(schedule)) is not None
        ]

    def leaf(self, schedule: Schedule) -> csp.Domains | None:
        """The leaf of a schedule; None if the space has no word for it."""
        try:
            return self.space.leaf(schedule).inner
        except EinloomError:
            return None

    @property
    def setup(self) -> SearchSetup:
        """What the search follows from."""
        starts = tuple(self.text(leaf.snapshot()) for leaf in self.starts)
        known = tuple((self.text(leaf.snapshot()), s if s < inf else None) for leaf, s in self.known)
        ranked = predicted_times(self.space) is not None
        return SearchSetup(self.space, self.blank.strategy, self.blank.seed, starts, known, ranked)

    def remember(self, trial: Trial, events: EventLog | None) -> None:
        """Record a trial at once: a search that is killed loses nothing but what it was at."""
        schedule = self.text(trial.leaf.snapshot)
        if trial.outcome.status != "late":  # of it nothing is known
            self.records = kept(self.records, self._note(schedule, trial.outcome))
        if events is not None:
            events.trial(schedule, trial.outcome)

    def _note(self, schedule: str, outcome: Outcome) -> Record:
        time = outcome.seconds if outcome.status == "ok" else 0.0
        told = {"schedule": schedule, "status": outcome.status, "seconds": time, "code": outcome.code}
        return replace(self.blank, **told, note=outcome.note[:200])

    def text(self, snapshot: bytes) -> str:
        """Return the schedule of a leaf as text."""
        state = self.space.problem.state()
        state.load(snapshot)
        return str(self.space.schedule(state))

    def best_texts(self, run: SearchRun, left: float) -> list[str]:
        """Return the heuristic's schedule, and of all that is known the best ones that can be compared in a time."""
        ordered = sorted((seconds, leaf.snapshot) for leaf, seconds in run.known if seconds < inf)
        found = [self.text(snapshot) for _, snapshot in ordered[:FINALISTS]]
        texts = list(dict.fromkeys([str(self.heuristic), *found]))
        turn = CALLS * run.explorer.best
        return texts[: max(int(min(left / (LEAST_ROUNDS * turn), len(texts))), 2)] if turn < inf else texts

    def finalists(self, texts: Sequence[str], times: Sequence[list[float]]) -> list[TunedSchedule]:
        """Return the schedules that were measured again, the heuristic's first."""
        return [self._finalist(text, each) for text, each in zip(texts, times)]

    def _finalist(self, text: str, times: list[float]) -> TunedSchedule:
        schedule = parse_schedule(text)
        leaf = self.leaf(schedule)
        bound = Bound(0.0, {}, self.space.root.bound().explain)
        if leaf is not None:
            bound = self.space.model.bound(leaf.state())
        return TunedSchedule(schedule, median(times), tuple(times), interval(times) if times else (inf, inf), bound)

    def result(
        self, run: SearchRun, finalists: Sequence[TunedSchedule], names: dict[str, str], operation: Operation
    ) -> Tuned:
        """Choose the best, record it, and name the axes as the operation does.

        The heuristic's schedule stays unless another one is surely faster. Where it could not be timed again, nothing
        is known to be, and nothing is recorded.
        """
        own = finalists[0]
        best = min((each for each in finalists if is_faster(each.times, own.times)), key=_time, default=own)
        if best.times:
            self.records = kept(self.records, self._confirmed(best, own))
        winner, own, *rest = [_named(each, names) for each in (best, *finalists)]
        model = run.explorer.model
        limits = model.rates.times(1 / MARGIN) if run.raised and isinstance(model, CpuModel) else None
        return Tuned(operation, run.result, winner, own, tuple(sorted(rest, key=_time)), limits)

    def _confirmed(self, best: TunedSchedule, heuristic: TunedSchedule) -> Record:
        leaf = self.leaf(best.schedule)
        decisions = {} if leaf is None else {name: values[0] for name, values in leaf.decisions}
        note = self._note(str(best.schedule), Outcome("ok", min(best.times)))
        told = {"times": best.times, "heuristic": heuristic.time, "decisions": decisions, "space": self.space.digest}
        return replace(note, confirmed=True, code=self._code(best), heuristic_code=self._code(heuristic), **told)

    def _code(self, found: TunedSchedule) -> str:
        return code_digest(self.plain, str(found.schedule), self.machine, self.blank.threads)


def _considered(plain: Operation, fused: Operation, machine: Machine, threads: int) -> list[Schedule]:
    """What the heuristic chooses, and what else it considers, the cheapest first."""
    _, chosen = optimize_operation(plain, machine, Options(threads))
    if not fused.main.is_contraction:
        return [chosen]
    found = costed(fused, Schedule((), identify_primitive(fused)), Context(machine, Options(threads)))
    schedules = (parallelise(fused, each.proposal.schedule, threads) for each in found)
    return list(dict.fromkeys([chosen, *schedules]))


def _parsed(record: Record) -> Schedule | None:
    try:
        return parse_schedule(record.schedule)
    except EinloomError:
        return None


def _time(each: TunedSchedule) -> float:
    return each.time


def _named(each: TunedSchedule, names: dict[str, str]) -> TunedSchedule:
    return replace(each, schedule=renamed(each.schedule, names))
