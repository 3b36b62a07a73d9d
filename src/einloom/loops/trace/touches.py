"""`touches`: which parts of which tensors the calls of a traced body read and write."""

from __future__ import annotations

from collections.abc import Iterator

from einloom.frozen import frozen
from einloom.loops.nest import LoopNest
from einloom.loops.trace.index import Condition
from einloom.loops.trace.ranges import touched
from einloom.loops.trace.recorder import Recorded, RecordedCall, Recorder
from einloom.loops.trace.tensor import Base, Part

__all__ = ["Touched", "touches", "written_bases"]


@frozen(slots=False)
class Touched:
    """The part of a base that a call reads or writes, under conditions."""

    base: Base
    parts: tuple[Part, ...]
    writes: bool
    conditions: tuple[Condition, ...]
    call: RecordedCall


def written_bases(recording: Recorder) -> frozenset[str]:
    """Return the names of the arguments that a body writes."""
    return frozenset(each.base.name for each in touches(recording) if each.writes and not each.base.is_scratch)


def touches(recording: Recorder) -> list[Touched]:
    """Return what the calls of a body touch, in its order, the output of each last."""
    return list(_of(recording.root, (), recording.nest))


def _of(recorded: Recorded, conditions: tuple[Condition, ...], nest: LoopNest) -> Iterator[Touched]:
    if recorded.condition is not None:
        conditions = (*conditions, recorded.condition)
    for node in recorded.nodes:
        if isinstance(node, Recorded):
            yield from _of(node, conditions, nest)
            continue
        for place, tensor in enumerate(node.tensors):
            writes = place == len(node.tensors) - 1
            yield Touched(tensor.base, touched(node, tensor, nest), writes, conditions, node)
