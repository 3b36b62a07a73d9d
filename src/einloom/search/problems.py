"""Tuned problems: an operation whose axes are named by their positions, and the way from records to schedules.

Two equations that differ in nothing but names are one problem.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from einloom.errors import EinloomError
from einloom.ir.bind import bind
from einloom.ir.operation import Operation
from einloom.ir.schedule import Prims, Schedule
from einloom.ir.text import parse_schedule
from einloom.machine import Machine
from einloom.passes.fuse import JOINT, fuse_as_named
from einloom.plan.names import with_plain_names
from einloom.search.records import problem_key, records_at

__all__ = ["recorded_schedule", "renamed", "with_plain_names"]

_log = logging.getLogger("einloom")


def recorded_schedule(operation: Operation, machine: Machine, threads: int, file: Path) -> Schedule | None:
    """Return the schedule that an operation was tuned to here, in its own names; None if it was not.

    A record that does not fit the operation, by whoever's hand, is left alone, and the log says why.
    """
    plain = with_plain_names(operation)
    record = records_at(file).best(problem_key(str(plain), machine, threads))
    if record is None:
        return None
    try:
        schedule = parse_schedule(record.schedule)
        bind(fuse_as_named(plain, schedule), schedule)
    except EinloomError as error:
        _log.warning("the record of a schedule is not used: %s (%s)", error, file)
        return None
    return renamed(schedule, dict(zip(plain.names, operation.names)))


def renamed(schedule: Schedule, names: dict[str, str]) -> Schedule:
    """Return a schedule with other names for the axes; an axis `a*b` is made of a and b."""
    fused = {each.name for each in schedule.fused}

    def other(name: str) -> str:
        return name if name in fused else JOINT.join(names.get(part, part) for part in name.split(JOINT))

    def maybe(name: str | None) -> str | None:
        return None if name is None else other(name)

    prims = schedule.prims
    return replace(
        schedule,
        loops=tuple(replace(loop, axis=other(loop.axis)) for loop in schedule.loops),
        prims=Prims(maybe(prims.m), maybe(prims.n), maybe(prims.k), maybe(prims.batch)),
        packs=tuple(
            replace(pack, layout=tuple(replace(digit, axis=other(digit.axis)) for digit in pack.layout))
            for pack in schedule.packs
        ),
        fused=tuple(
            replace(each, parts=tuple(names.get(part, part) for part in each.parts)) for each in schedule.fused
        ),
    )
