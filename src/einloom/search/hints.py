"""Schedules that were the fastest elsewhere: of the same problem on another machine or by another einloom, or of one of
other extents here.

They are where a search may begin, never code: each is a text that binds to the operation at hand, and is measured here.
"""

from __future__ import annotations

from math import log

from einloom.errors import EinloomError
from einloom.ir.bind import bind
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_operation, parse_schedule
from einloom.search.records import Record, Records

__all__ = ["hints"]

HINTS = 4
"""Schedules that a search begins with, at most."""


def hints(operation: Operation, fused: Operation, records: Records, threads: int) -> list[Schedule]:
    """Return the confirmed schedules of problems like this one that bind to it, those of the nearest extents first.

    Args:
        operation: what is computed, its axes named by their positions.
        fused: the same with the axes joined that lie like one: what schedules are about.
        records: where they lie.
        threads: how many may share the work, as theirs may.
    """
    found = dict[Schedule, float]()
    for record in records.all():
        if not record.confirmed or record.threads != threads:
            continue
        distance = _distance(operation, record)
        schedule = None if distance is None else _bound(fused, record.schedule)
        if distance is not None and schedule is not None:
            found[schedule] = min(distance, found.get(schedule, distance))
    return sorted(found, key=lambda schedule: found[schedule])[:HINTS]


def _distance(operation: Operation, record: Record) -> float | None:
    """Return how far the extents of a record's problem are, as a sum of logarithms; None: it is another kind."""
    try:
        other = parse_operation(record.operation)
    except EinloomError:
        return None
    if _kind(other) != _kind(operation) or not all(axis.extent for axis in other.axes):
        return None
    return sum(abs(log(mine.extent / theirs.extent)) for mine, theirs in zip(operation.axes, other.axes))


def _kind(operation: Operation) -> tuple[object, ...]:
    """What problems have in common whose schedules are alike: all but extents and strides."""
    types = tuple(operand.dtype for operand in operation.operands)
    return operation.main, operation.first_touch, operation.last_touches, types, *(a.role for a in operation.axes)


def _bound(operation: Operation, text: str) -> Schedule | None:
    try:
        schedule = parse_schedule(text)
        bind(operation, schedule)
    except EinloomError:
        return None
    return schedule
