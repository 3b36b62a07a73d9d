"""`barriers_of`: behind which loops of a schedule the threads of its team wait: where it says so, and where they must.

A loop over a summed axis around a parallel loop adds to the same blocks in every iteration. Static pieces and grids
give a block to the same thread each time. Pieces that threads take as they come may not: then all wait in between.
"""

from __future__ import annotations

from collections.abc import Mapping

from einloom.errors import ScheduleError
from einloom.ir.blocks import cut
from einloom.ir.operation import DimType
from einloom.ir.schedule import ExecType, Schedule

__all__ = ["barriers_of"]


def barriers_of(schedule: Schedule, roles: Mapping[str, DimType], extents: Mapping[str, int]) -> frozenset[int]:
    """Return the positions of the loops behind which threads wait; of loops that are one, the outermost's.

    Raises:
        ScheduleError: a barrier that not every thread of a grid comes by as often.
    """
    if schedule.team is None:
        return frozenset()
    loops = schedule.loops
    group = [place for place, loop in enumerate(loops) if loop.kind is ExecType.SHARED and loop.ways is None]
    waits = {group[0] if place in group else place for place, loop in enumerate(loops) if loop.barrier}
    if group and not schedule.team.clause.is_static:
        around = loops[: group[0]]
        waits |= {group[0]} if any(roles[x.axis] is DimType.K and x.step < extents[x.axis] for x in around) else set()
    for place in waits:
        _check_even(schedule, place, extents)
    return frozenset(waits)


def _check_even(schedule: Schedule, place: int, extents: Mapping[str, int]) -> None:
    """Every thread comes by a barrier equally often: what encloses it runs alike in all teams of the grid."""
    around = schedule.loops[:place]
    if not any(loop.ways for loop in around):
        return
    lengths: dict[str, tuple[int, ...]] = {axis: (extent,) for axis, extent in extents.items()}
    for loop in around:
        trips = -(-lengths[loop.axis][0] // loop.step)
        if len(lengths[loop.axis]) > 1 or (loop.ways is not None and trips % loop.ways.count):
            raise ScheduleError(
                f"a barrier inside {loop}, which does not run alike in all teams of the grid\n  {schedule}\n"
                "  Threads would wait for ever. Put it further out, or make block sizes and ways divide."
            )
        lengths[loop.axis] = cut(lengths[loop.axis], loop.step)
