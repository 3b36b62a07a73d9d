"""`check_pieces`: where threads take pieces as they come (`dynamic`, `guided`), nothing depends on who came first."""

from __future__ import annotations

from collections.abc import Sequence

from einloom.errors import ScheduleError
from einloom.ir.sharing import THREAD
from einloom.loops.nest import LoopNest
from einloom.loops.trace.tensor import Base
from einloom.loops.trace.touches import Touched

__all__ = ["check_pieces", "own_block"]


def check_pieces(every: Sequence[Touched], nest: LoopNest) -> None:
    """Refuse bodies that ask for their thread, or keep values in its scratch.

    Raises:
        ScheduleError: the message quotes the call.
    """
    _check_threads(every, nest)
    _check_scratch(every, nest)


def _check_threads(every: Sequence[Touched], nest: LoopNest) -> None:
    """What decides where a call writes does not depend on who came first."""
    for each in every:
        indices = [part.start for part in each.parts]
        indices += [test.index for condition in each.conditions for test in condition.comparisons]
        if any(THREAD in index.terms for index in indices):
            raise ScheduleError(
                f"loop.get_tid() under {nest.clause}: which thread takes a piece differs from run to run\n"
                f"  {each.call.line}\n  {nest.string}\n  {own_block(nest)}, or leave the clause out."
            )


def _check_scratch(every: Sequence[Touched], nest: LoopNest) -> None:
    """Where threads take pieces as they come, no iteration reads what another one left in the thread's scratch."""
    shared = {loop.letter for loop in nest.innermost if loop.collapsed}
    written: list[tuple[Base, set[str]]] = []
    for each in every:
        tests = {
            repr(test)
            for condition in each.conditions
            for test in condition.comparisons
            if test.modulus != 1 and shared & test.index.terms.keys()
        }
        reads = not each.writes or each.call.primitive.is_contraction
        if each.base.is_scratch and reads and not any(each.base is base and when <= tests for base, when in written):
            raise ScheduleError(
                f"scratch is read before this iteration wrote it, under {nest.clause}\n  {each.call.line}\n"
                f"  {nest.string}\n  Which thread takes a piece differs from run to run: write it first, or leave the "
                "clause out."
            )
        if each.writes and not reads:
            written.append((each.base, tests))


def own_block(nest: LoopNest) -> str:
    """Return the advice to sum into memory that no two threads share."""
    if nest.clause.is_static or not nest.group:
        return "Sum into a block for each thread, P[loop.get_tid()]"
    return f"Sum into a block for each iteration, P[{', '.join(dict.fromkeys(loop.letter for loop in nest.group))}]"
