"""Packs of inputs that stay the same from call to call move to the beginning: they are made once, before all calls.

Loops outside such a pack would copy the same elements in every call, and some of them more than once. The program then
reads all blocks where they lie, one behind the other: `targets` makes the copy a program of its own.
"""

from __future__ import annotations

from einloom.errors import ScheduleError
from einloom.ir.bind import bind
from einloom.ir.held import packed_whole
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule, operand_name
from einloom.passes.values import Context, Pass, State

__all__ = ["PACK_ONCE", "pack_once"]


def pack_once(operation: Operation, schedule: Schedule, held: tuple[int, ...]) -> Schedule:
    """Return the schedule with the packs of some inputs at its beginning, where the copy can follow all its blocks.

    before: seq k:200 seq j:96 … pack in1@2 j:48 k j
    after:  seq k:200 seq j:96 … pack in1@0 k:200 j:96 j:48 k j
    """
    for operand in held:
        whole = packed_whole(operation, schedule, operand)
        schedule = whole if whole == schedule or _is_legal(operation, whole) else schedule
    return schedule


def _is_legal(operation: Operation, schedule: Schedule) -> bool:
    try:
        bind(operation, schedule)
    except ScheduleError:
        return False
    return True


def _apply(operation: Operation, schedule: Schedule, context: Context) -> State:
    return operation, pack_once(operation, schedule, context.options.held)


def _explain(before: State, after: State, context: Context) -> str:
    held = context.options.held
    if not held:
        return "no: no input stays the same"
    once = [pack for pack in after[1].packs if pack.operand in held]
    said = ", ".join(operand_name(pack.operand) for pack in once if pack.loop == 0)
    return f"{said}: packed before the first call" if said else "no: nothing is packed of inputs that stay the same"


PACK_ONCE = Pass("pack once", _apply, _explain)
