"""Between teams of schedules and decisions: who runs the loops, how they are shared, where threads wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from einloom.errors import ScheduleError
from einloom.ir.schedule import Schedule, ScheduledLoop
from einloom.ir.sharing import Clause, Dimension, Grid, Policy, Team, Ways
from einloom.space.on_cpu.backbone import CpuBackbone, LoopLevel

__all__ = ["Value", "loop_in_team", "team_decisions", "team_of"]

Value = str | int

_FORM = "form(team)"


def loop_in_team(loop: LoopLevel, scheduled: ScheduledLoop, leaf: Mapping[str, Value]) -> ScheduledLoop:
    """Return a loop with what a leaf says about its ways and its barrier."""
    if _FORM not in leaf:
        return scheduled
    dimension = leaf[f"dimension({loop.name})"]
    ways = None if dimension == "NONE" else Ways(Dimension[str(dimension)], int(leaf[f"ways({loop.name})"]))
    return scheduled._replace(ways=ways, barrier=leaf[f"barrier({loop.name})"] == "YES")


def team_of(loops: Sequence[ScheduledLoop], leaf: Mapping[str, Value]) -> Team | None:
    """Return the team of a leaf with these loops; None if any number of threads may run it."""
    form = leaf.get(_FORM, "ANY")
    if form == "ANY":
        return None
    if form == "GRID":
        ways = tuple(loop.ways for loop in loops if loop.ways is not None)
        return Team(prod(each.count for each in ways), Grid.of(ways))
    chunk = int(leaf["chunk(team)"]) if leaf["sized(team)"] == "YES" else None
    return Team(int(leaf["threads(team)"]), clause=Clause(Policy[str(leaf["policy(team)"])], chunk))


def team_decisions(backbone: CpuBackbone, schedule: Schedule, loops: Sequence[LoopLevel]) -> dict[str, Value]:
    """Return what a schedule says about its team; `loops` are the space's names of its loops.

    Raises:
        ScheduleError: it has a team, and the space none.
    """
    team = schedule.team
    if not backbone.teams:
        if team is not None:
            raise ScheduleError(f"the schedule is for a team of {team}; the space has none: make it with teams=True")
        return {}
    found: dict[str, Value] = {_FORM: "ANY" if team is None else "PIECES" if team.grid is None else "GRID"}
    if team is not None and team.grid is None:
        found |= {"threads(team)": team.threads, "policy(team)": team.clause.policy.name}
        found["sized(team)"] = "NO" if team.clause.chunk is None else "YES"
        if team.clause.chunk is not None:
            found["chunk(team)"] = team.clause.chunk
    for loop, scheduled in zip(loops, schedule.loops):
        found[f"barrier({loop.name})"] = "YES" if scheduled.barrier else "NO"
        if scheduled.ways is not None:
            found[f"dimension({loop.name})"] = scheduled.ways.dimension.name
            found[f"ways({loop.name})"] = scheduled.ways.count
    return found
