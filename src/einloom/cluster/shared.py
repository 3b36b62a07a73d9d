"""`Shared`: a call that processes share, before it is known who they are; and what everybody does with one unit."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from einloom.arrays.library import Array, incoming
from einloom.cluster.checkpoint import Checkpoint, opened_checkpoint
from einloom.cluster.peers import Peer, check_peers, this_peer
from einloom.cluster.run import Event
from einloom.expression.expression import Expression
from einloom.expression.units import UnitProgram
from einloom.frozen import frozen
from einloom.once import cached_property
from einloom.plan.units import Unit

__all__ = ["Shared", "UnitTask"]


@frozen(slots=False)
class Shared:
    """A call.

    Attributes:
        expression: the contraction on one machine.
        program: the same in units; None: it is too small.
        given: operands as they came.
        folder: of the checkpoint; None: nothing is kept.
        progress: whether to show how far it is.
    """

    expression: Expression
    program: UnitProgram | None
    given: Sequence[Any]
    folder: str | os.PathLike[str] | None
    progress: bool

    @cached_property
    def operands(self) -> list[Array]:
        """The operands as code reads them."""
        return self.expression.readable(self.given)

    @cached_property
    def described(self) -> list[tuple[tuple[int, ...], str]]:
        """The operands' shapes and types as they came."""
        found = [incoming(each, f"operand {position}") for position, each in enumerate(self.given)]
        return [(each.array.shape, each.dtype) for each in found]

    def task(self, program: UnitProgram) -> UnitTask:
        """Return what computes units, with the checkpoint opened.

        Raises:
            DeviceError: the checkpoint's folder cannot be written.
        """
        if self.folder is None:
            return UnitTask(program, this_peer(), None)
        kept = opened_checkpoint(self.folder, program.digest, self.operands, program.work.grain)
        return UnitTask(program.with_grain(kept.grain), this_peer(), kept)


@frozen(slots=False)
class UnitTask:
    """What everybody does with a unit: look whether it is kept, else compute and keep it.

    Attributes:
        program: what computes units.
        peer: what a process must be.
        checkpoint: where units are kept.
    """

    program: UnitProgram
    peer: Peer
    checkpoint: Checkpoint | None

    def compute(self, unit: Unit, operands: Sequence[Array], threads: int, who: str) -> tuple[Array, Event]:
        """Return the unit's result, and what was done for it.

        Raises:
            UnsupportedTarget: this process would compute other bits.
            DeviceError: the checkpoint's folder is full.
        """
        check_peers({who: this_peer()}, self.peer)
        begin = time.time()
        kept = None if self.checkpoint is None else self.checkpoint.load(unit)
        if kept is not None:
            return kept, Event(who, f"kept {unit}", begin, time.time())
        result = self.program.compute(unit, operands, threads)
        if self.checkpoint is not None:
            self.checkpoint.save(unit, result)
        return result, Event(who, str(unit), begin, time.time())
