"""`emulated_work`: what a processor has to do to run a launch, as far as it ranks launches of one kernel.

A processor that emulates a GPU (PoCL) runs a block's threads as the iterations of loops, one loop between two barriers,
and vectorises over the innermost dimension. So a statement costs the same whichever thread executes it, threads that
repeat what others do included; neighbours that touch no neighbouring elements take their time one by one; and registers
live in memory between two barriers, where a block's are as many as its threads hold together.
"""

from __future__ import annotations

from math import prod

from einloom.ir.gpu.launch import Launch, Repeat, Space, places, statements
from einloom.ir.statement import LoopKind, Statement

__all__ = ["emulated_work"]

CACHED = 64 * 1024
"""Bytes of a block's registers that the caches of a core still hold beside everything else."""

SCATTERED = 4
"""How many times as long a vector of elements takes that lie apart."""


def emulated_work(launch: Launch) -> float:
    """Return the statements that all threads execute, weighed."""
    executed = sum(_trips(around) * _weight(each, launch) for each, around in statements(launch))
    registers = sum(each.size * each.dtype.size for each in launch.arrays if each.space is Space.REGISTER)
    return executed * launch.blocks * launch.threads * (1 + registers * launch.threads / CACHED)


def _trips(around: tuple[Repeat, ...]) -> int:
    return prod(loop.trips for loop in around if loop.kind is not LoopKind.VECTOR)


def _weight(statement: Statement, launch: Launch) -> int:
    """Return more than 1 where neighbouring threads touch elements of memory that lie apart."""
    if not launch.block:
        return 1
    far = [each for each in places(statement) if launch.array[each.buffer].space in (Space.GLOBAL, Space.SHARED)]
    steps = [sum(factor for name, factor in each.terms if name == launch.block[0].name) for each in far]
    return SCATTERED if any(step not in (0, 1) for step in steps) else 1
