"""Space-filling-curve order: the longest run of loops over blocks of the output becomes one loop along a curve."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from einloom.ir.curve import LONGEST_CURVE
from einloom.ir.fused import FusedView
from einloom.ir.operation import DimType, Operation
from einloom.ir.schedule import ExecType, Schedule, ScheduledLoop
from einloom.passes.values import Context, Pass, State

__all__ = ["SPACE_FILLING_CURVE", "follow_space_filling_curve"]


def follow_space_filling_curve(operation: Operation, schedule: Schedule) -> Schedule:
    """Return the schedule with its longest run of two or more sequential loops over kept axes along a curve.

    No pack may stand between the loops of a run, and none may cut the blocks of another one, or of threads, unevenly. A
    schedule without such a run stays as it is.

    before: seq k:200 seq i:64 seq j:48 prim …
    after:  seq k:200 sfc i:64 sfc j:48 prim …
    """
    operation = FusedView.of(operation, schedule.fused).stand_in(operation)
    runs = [run for run in _runs(operation, schedule) if len(run) > 1 and _cells(operation, run) <= LONGEST_CURVE]
    if not runs:
        return schedule
    chosen = max(runs, key=len)
    loops = (loop._replace(kind=ExecType.SFC) if i in chosen else loop for i, loop in enumerate(schedule.loops))
    return replace(schedule, loops=tuple(loops))


def _runs(operation: Operation, schedule: Schedule) -> list[dict[int, tuple[str, int]]]:
    """Return the runs as loop positions with the axis and the step of each."""
    runs: list[dict[int, tuple[str, int]]] = [{}]
    packed = {pack.loop for pack in schedule.packs}
    shared = [(loop.axis, loop.step) for loop in schedule.loops if loop.kind is ExecType.SHARED]
    for position, loop in enumerate(schedule.loops):
        kept = loop.kind is ExecType.SEQ and operation.axis(loop.axis).role is not DimType.K
        kept = kept and not _cuts_unevenly(loop, shared)
        if not kept or position in packed or _cuts_unevenly(loop, runs[-1].values()):
            runs.append({})
        if kept:
            runs[-1][position] = (loop.axis, loop.step)
    return runs


def _cuts_unevenly(loop: ScheduledLoop, others: Iterable[tuple[str, int]]) -> bool:
    return any(axis == loop.axis and step % loop.step for axis, step in others)


def _cells(operation: Operation, run: dict[int, tuple[str, int]]) -> int:
    """Most cells that the run can have: its first loop of an axis covers at most the whole axis."""
    rest = {axis.name: axis.extent for axis in operation.axes}
    cells = 1
    for axis, step in run.values():
        cells *= -(-rest[axis] // step)
        rest[axis] = min(step, rest[axis])
    return cells


def _apply(operation: Operation, schedule: Schedule, context: Context) -> State:
    return operation, follow_space_filling_curve(operation, schedule) if context.options.sfc else schedule


def _explain(before: State, after: State, context: Context) -> str:
    if not context.options.sfc:
        return "no: not asked for"
    along = [loop.axis for loop in after[1].loops if loop.kind is ExecType.SFC]
    return f"blocks of {' '.join(along)} follow a curve" if along else "no: fewer than two loops over blocks in a row"


SPACE_FILLING_CURVE = Pass("space-filling curve", _apply, _explain)
