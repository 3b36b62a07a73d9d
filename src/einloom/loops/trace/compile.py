"""`compile_body`: trace a body, see that it has no race, and lower it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from einloom.dtypes import DType
from einloom.frozen import frozen
from einloom.ir.nest import Nest
from einloom.loops.nest import LoopNest
from einloom.loops.trace.lower import lower_body
from einloom.loops.trace.races import check_races
from einloom.loops.trace.recorder import Recorder, trace
from einloom.loops.trace.touches import written_bases

__all__ = ["Compiled", "compile_body"]


@frozen
class Compiled:
    """A body as a nest.

    Attributes:
        loops: the loops around it.
        nest: what runs.
        written: names of the arguments that it writes.
        notes: what was decided for the threads' sake.
    """

    loops: LoopNest
    nest: Nest
    written: frozenset[str]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([*(f"// {note}" for note in self.notes), str(self.loops), "", str(self.nest)])


def compile_body(
    loops: LoopNest,
    function: Callable[..., Any],
    arguments: Mapping[str, tuple[tuple[int, ...], tuple[int, ...], DType]],
) -> Compiled:
    """Return a body, compiled for arguments of these shapes, strides (in elements) and types.

    Raises:
        ScheduleError: it does what cannot be traced, or has a race.
        ShapeError: a block leaves its tensor, or blocks do not fit together.
    """
    recording = Recorder(loops)
    tensors = {name: recording.argument(name, *kind) for name, kind in arguments.items()}
    trace(recording, function, tensors)
    barriers, notes = check_races(recording)
    return Compiled(loops, lower_body(recording, barriers), written_bases(recording), notes)
