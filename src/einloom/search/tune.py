"""`tune_operation`: find a schedule that is faster here than the heuristic's, and remember it.

The search starts from what the heuristic considers and from what is recorded. At the end the best schedules and the
heuristic's are measured again in turns, in a fresh process: what wins there is the result, and is recorded as such.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path

from einloom import csp
from einloom.errors import EinloomError
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_schedule
from einloom.machine import Machine
from einloom.passes.contraction.choose import costed
from einloom.passes.fuse import fuse
from einloom.passes.identify import identify_primitive
from einloom.passes.parallelise import parallelise
from einloom.passes.pipeline import optimize_operation
from einloom.passes.values import Context, Options
from einloom.search.measure import Measurement, interval, median, remeasured
from einloom.search.problems import renamed, with_plain_names
from einloom.search.records import Record, problem_key, records_at
from einloom.search.result import Tuned, TunedSchedule
from einloom.search.search import Budget, Outcome, SearchRun, run_search
from einloom.space.model.bound import Bound
from einloom.space.on_cpu.space import CpuSpace

__all__ = ["tune_operation"]

STARTS = 12
"""Schedules that the heuristic considers, of which so many of the cheapest are evaluated first."""

FINALISTS = 3
"""Schedules of the search that are measured again at the end."""

LEAST_GAIN = 1.01
"""How many times as fast as the heuristic's a schedule must be to take its place: less is noise."""

ROUNDS = 9
"""Turns of each of them."""


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
    seconds: float = 0.02,
    progress: Callable[[SearchRun], None] = lambda run: None,
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
        seconds: how long a good candidate is timed.
        progress: is called after every evaluation.

    Raises:
        ScheduleError: there is nothing to compute.
        InternalError: the heuristic's schedule computes something else than the interpreter.
    """
    plain = with_plain_names(operation)
    fused = fuse(plain)
    heuristic, *others = _considered(plain, fused, machine, threads)
    records = None if file is None else records_at(file)
    key = problem_key(str(plain), machine, threads)
    earlier = [] if records is None else list(records.all(key))
    recorded = [schedule for each in earlier if (schedule := _parsed(each)) is not None]
    space = CpuSpace(fused, machine, tuple(dict.fromkeys([heuristic, *others, *recorded])), threads)
    starts = [leaf for each in (heuristic, *others[:STARTS]) if (leaf := _leaf(space, each)) is not None]
    known = [
        (leaf, each.seconds if each.status == "ok" else inf)
        for each in earlier
        if not each.confirmed and (schedule := _parsed(each)) and (leaf := _leaf(space, schedule)) is not None
    ]

    def note(schedule: str, outcome: Outcome) -> Record:
        time = outcome.seconds if outcome.status == "ok" else 0.0
        return Record(
            key, str(plain), machine.name, machine.vector, threads, schedule, outcome.status, time,
            code=outcome.code, seed=seed, strategy=strategy, einloom=version, note=outcome.note[:200],
        )  # fmt: skip

    def seen(run: SearchRun) -> None:
        trial = run.history[-1]
        if records is not None:
            records.append([note(_text(space, trial.leaf.snapshot), trial.outcome)])
        progress(run)

    with Measurement(plain, space, heuristic, threads, seconds) as measurement:
        run = run_search(space, measurement, budget, strategy, seed, starts=starts, known=known, progress=seen)
        found = _best_texts(space, run, known)
        entered = [str(heuristic), *(text for text in found if text != str(heuristic))]
        times = remeasured(measurement, entered, ROUNDS)
    finalists = [_finalist(space, text, each) for text, each in zip(entered, times)]
    best = min(finalists, key=lambda each: each.time)
    if best.time > finalists[0].time / LEAST_GAIN:
        best = finalists[0]
    if records is not None and best.times:
        told = note(str(best.schedule), Outcome("ok", min(best.times)))
        records.append([_confirmed(told, best, finalists[0], space)])
    names = dict(zip(plain.names, operation.names))
    winner, own, *rest = [_named(each, names) for each in (best, *finalists)]
    return Tuned(operation, run, winner, own, tuple(sorted(rest, key=lambda each: each.time)))


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


def _leaf(space: CpuSpace, schedule: Schedule) -> csp.Domains | None:
    """The leaf of a schedule; None if the space has no word for it."""
    try:
        return space.leaf(schedule).inner
    except EinloomError:
        return None


def _text(space: CpuSpace, snapshot: bytes) -> str:
    state = space.problem.state()
    state.load(snapshot)
    return str(space.schedule(state))


def _best_texts(space: CpuSpace, run: SearchRun, known: Sequence[tuple[csp.Domains, float]]) -> list[str]:
    times = {domains.snapshot(): seconds for domains, seconds in known}
    times |= {trial.leaf.snapshot: trial.outcome.seconds for trial in run.history if trial.outcome.status == "ok"}
    ordered = sorted((seconds, snapshot) for snapshot, seconds in times.items() if seconds < inf)
    return [_text(space, snapshot) for _, snapshot in ordered[:FINALISTS]]


def _finalist(space: CpuSpace, text: str, times: list[float]) -> TunedSchedule:
    schedule = parse_schedule(text)
    leaf = _leaf(space, schedule)
    bound = Bound(0.0, {}, space.root.bound().explain) if leaf is None else space.model.bound(leaf.state())
    return TunedSchedule(schedule, median(times), tuple(times), interval(times) if times else (inf, inf), bound)


def _confirmed(record: Record, best: TunedSchedule, heuristic: TunedSchedule, space: CpuSpace) -> Record:
    leaf = _leaf(space, best.schedule)
    decisions = {} if leaf is None else {name: values[0] for name, values in leaf.decisions}
    return replace(
        record, times=best.times, heuristic=heuristic.time, confirmed=True, decisions=decisions, space=space.digest
    )


def _named(each: TunedSchedule, names: dict[str, str]) -> TunedSchedule:
    return replace(each, schedule=renamed(each.schedule, names))
