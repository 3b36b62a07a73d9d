"""`Dimension`: one entry of the list that the plain passes work on; an operation and its schedule as such a list."""

from __future__ import annotations

from dataclasses import replace

from einloom.frozen import frozen
from einloom.ir.operation import Axis, DimType, Operand, Operation
from einloom.ir.schedule import ExecType, Prims, Schedule, ScheduledLoop
from einloom.passes.values import State

__all__ = ["Dimension", "from_dimensions", "listed", "to_dimensions"]


@frozen
class Dimension:
    """An axis with how its iterations run; `strides` has one entry an operand, in elements."""

    name: str
    role: DimType
    kind: ExecType
    size: int
    strides: tuple[int, ...]


def to_dimensions(operation: Operation, schedule: Schedule) -> list[Dimension]:
    """Return the axes in the order of their first loops, the primitive's behind them; blocks of one axis are joined."""
    kinds: dict[str, ExecType] = {}
    for loop in schedule.loops:
        kinds.setdefault(loop.axis, loop.kind)
    taken = [name for name in operation.names if name not in kinds]
    kinds |= {name: ExecType.PRIM if name in schedule.prims.names else ExecType.SEQ for name in taken}
    strides = dict(zip(operation.names, zip(*(operand.strides for operand in operation.operands))))
    axes = {axis.name: axis for axis in operation.axes}
    return [Dimension(n, axes[n].role, kind, axes[n].extent, strides[n]) for n, kind in kinds.items()]


def from_dimensions(operation: Operation, dimensions: list[Dimension], prims: Prims) -> State:
    """Return the operation on these dimensions, with a loop over each but those that the primitive takes.

    Before the primitive is identified none is taken: what was `prim` is a sequential loop until then.
    """
    axes = tuple(Axis(d.name, d.size, d.role) for d in dimensions)
    operands = tuple(
        Operand(operand.name, operand.dtype, tuple(d.strides[i] for d in dimensions))
        for i, operand in enumerate(operation.operands)
    )
    kinds = {d.name: ExecType.SEQ if d.kind is ExecType.PRIM else d.kind for d in dimensions}
    loops = tuple(ScheduledLoop(name, 1, kind) for name, kind in kinds.items() if name not in prims.names)
    return replace(operation, axes=axes, operands=operands), Schedule(loops, prims)


def listed(dimensions: list[Dimension]) -> str:
    """Return the dimensions as words, `name:size`."""
    return " ".join(f"{d.name}:{d.size}" for d in dimensions)
