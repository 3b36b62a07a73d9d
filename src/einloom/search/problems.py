"""Tuned problems: an operation whose axes are named by their positions, and the way from records to schedules.

Two equations that differ in nothing but names are one problem.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from einloom.errors import EinloomError
from einloom.ir.operation import Operation
from einloom.ir.schedule import Prims, Schedule
from einloom.ir.text import parse_schedule
from einloom.jit.host_for import host_for
from einloom.machine import Machine
from einloom.passes.fuse import JOINT
from einloom.plan.names import with_plain_names
from einloom.search.claims import still_holds
from einloom.search.records import problem_key, records_at

__all__ = ["host_of", "recorded_schedule", "renamed", "with_plain_names"]

_log = logging.getLogger("einloom")


def host_of(operation: Operation) -> Machine:
    """Return the host as expressions of such an operation see it."""
    return host_for(each.dtype for each in operation.inputs)


def recorded_schedule(operation: Operation, machine: Machine, threads: int, file: Path) -> Schedule | None:
    """Return the schedule that an operation was tuned to here, in its own names; None if it was not.

    A record does not count whose claim is about other code than what is generated today. One that does not fit the
    operation, by whoever's hand, is left alone too, and the log says why.
    """
    plain = with_plain_names(operation)
    for record in records_at(file).confirmed(problem_key(str(plain), machine, threads)):
        try:
            if still_holds(record, plain, machine):
                return renamed(parse_schedule(record.schedule), dict(zip(plain.names, operation.names)))
            _log.info("record %s is about other code than is generated now: tune again (%s)", record.key, file)
        except EinloomError as error:
            _log.warning("the record of a schedule is not used: %s (%s)", error, file)
    return None


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
        loops=tuple(loop._replace(axis=other(loop.axis)) for loop in schedule.loops),
        prims=Prims(maybe(prims.m), maybe(prims.n), maybe(prims.k), maybe(prims.batch)),
        packs=tuple(
            replace(pack, layout=tuple(digit._replace(axis=other(digit.axis)) for digit in pack.layout))
            for pack in schedule.packs
        ),
        fused=tuple(
            replace(each, parts=tuple(names.get(part, part) for part in each.parts)) for each in schedule.fused
        ),
    )
