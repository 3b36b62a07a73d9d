"""`replayed`: a record's decisions, taken again; decisions count by their names, so the space may have grown since."""

from __future__ import annotations

from einloom.errors import EinloomError, ScheduleError
from einloom.frozen import frozen
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_operation, parse_schedule
from einloom.machine import Machine
from einloom.passes.fuse import fuse
from einloom.passes.pipeline import optimize_operation
from einloom.passes.values import Options
from einloom.search.measure import Measurement, median, remeasured
from einloom.search.records import Record
from einloom.space.on_cpu.space import CpuSpace

__all__ = ["Replayed", "rebuilt", "replayed"]


@frozen
class Replayed:
    """A schedule that was rebuilt from decisions, and the medians of its and the heuristic's times, in seconds."""

    schedule: Schedule
    time: float
    times: tuple[float, ...]
    heuristic: float


def rebuilt(record: Record, machine: Machine) -> Schedule:
    """Return the schedule of a record's decisions.

    Raises:
        ScheduleError: the decisions leave nothing or are not all, or lead to another schedule than the record's.
    """
    operation, schedule = parse_operation(record.operation), parse_schedule(record.schedule)
    space = CpuSpace(fuse(operation), machine, (schedule,), record.threads)
    try:
        leaf = space.root.apply(record.decisions)
    except EinloomError as error:
        raise ScheduleError(f"the decisions of record {record.key} do not hold\n  {error}") from None
    if leaf.schedule != schedule:
        raise ScheduleError(
            f"the decisions of record {record.key} lead to another schedule than it says\n"
            f"  decisions: {leaf.schedule}\n  record:    {schedule}"
        )
    return schedule


def replayed(record: Record, machine: Machine, rounds: int) -> Replayed:
    """Rebuild the schedule of a record, and measure it in turns with the heuristic's, in a fresh process.

    Raises:
        ScheduleError: as `rebuilt`.
    """
    schedule, operation = rebuilt(record, machine), parse_operation(record.operation)
    _, heuristic = optimize_operation(operation, machine, Options(record.threads))
    space = CpuSpace(fuse(operation), machine, (heuristic,), record.threads)
    with Measurement(operation, space, heuristic, record.threads) as measurement:
        mine, other = remeasured(measurement, [str(schedule), str(heuristic)], rounds)
    return Replayed(schedule, median(mine), tuple(mine), median(other))
