"""What the optimiser is made of: `Pass`, the `Context` that passes run in, the `Options` that a caller may ask for.

All are values. A pass takes an operation and the schedule so far and returns both, changed or the same; beside it
stands a function that says in one line what it did and why.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from einloom.frozen import frozen
from einloom.ir.operation import Operation
from einloom.ir.schedule import Prims, Schedule
from einloom.machine import Machine

__all__ = ["DEFAULTS", "UNDECIDED", "Context", "Options", "Pass", "Rules", "State"]

State = tuple[Operation, Schedule]

UNDECIDED = Schedule((), Prims())
"""The schedule that the first pass gets: nothing is decided."""


class Rules(StrEnum):
    """Which passes run: those that size blocks for the caches, or the plain ones (`passes/dimensions`)."""

    CACHES = "caches"
    SEED = "seed"


@frozen
class Options:
    """What a caller may ask of the passes.

    Attributes:
        threads: how many threads may share the work; with the plain rules, most shared iterations.
        packing: whether blocks of inputs may be copied into scratch.
        max_kernel_size: most indices of an axis that one call of a primitive takes; None: what suits the caches.
        min_kernel_size: axes of at least this many indices take in no other axis; None: whatever can fuse does (with
            the plain rules: nothing).
        sfc: whether blocks of the output follow a space-filling curve.
        rules: which passes run.
        held: positions of inputs that stay the same from call to call: what is packed of them is packed once, before.
        fuses: whether packs may make one axis of several, which lists of dimensions cannot say.
    """

    threads: int = 1
    packing: bool = True
    max_kernel_size: int | None = None
    min_kernel_size: int | None = None
    sfc: bool = False
    rules: Rules = Rules.CACHES
    held: tuple[int, ...] = ()
    fuses: bool = True


DEFAULTS = Options()
"""What passes do when nobody asks for anything."""


@frozen
class Context:
    """What a pass may ask about besides the operation and its schedule."""

    machine: Machine
    options: Options = DEFAULTS


@frozen
class Pass:
    """One step of the optimiser.

    Attributes:
        name: what the field calls it.
        apply: from an operation and its schedule so far to both behind the pass.
        explain: what it did and why, in one line, from both before and both behind it.
    """

    name: str
    apply: Callable[[Operation, Schedule, Context], State]
    explain: Callable[[State, State, Context], str]
