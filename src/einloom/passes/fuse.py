"""Dimension fusion: axes that lie like one axis in every operand become one.

Two axes X and Y fuse when they have the same role and stride(X) = |Y| * stride(Y) holds in every operand. Axes of
extent 1 disappear. Fewer, longer axes let kernels take larger blocks. A fused axis is called by what it is made of,
`a*b`, so that a schedule which names it says which axes it fuses.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from einloom.errors import ScheduleError
from einloom.ir.operation import Axis, Operation
from einloom.ir.schedule import Schedule
from einloom.passes.values import Context, Pass, State

__all__ = ["FUSE", "JOINT", "fuse", "fuse_as_named"]

JOINT = "*"
"""Stands between the names of the axes that a fused axis is made of, the outermost first."""


def fuse(operation: Operation, below: int | None = None) -> Operation:
    """Return the operation with fusable pairs of axes fused, and without axes of extent 1.

    With `below`, only an inner axis of fewer indices takes in another one.

    before: axis a 4 m, axis b 8 m; in0 a=8 b=1; out a=8 b=1
    after:  axis a*b 32 m;          in0 a*b=1;   out a*b=1
    """
    if any(axis.extent == 1 for axis in operation.axes):
        operation = _kept(operation, {axis.name: axis for axis in operation.axes if axis.extent != 1})
    while pair := next((pair for pair in _pairs(operation, below) if _lie_like_one(operation, *pair)), None):
        operation = _joined(operation, *pair)
    return operation


def fuse_as_named(operation: Operation, schedule: Schedule) -> Operation:
    """Return the operation with those axes fused that the schedule names together, as in `a*b`.

    Raises:
        ScheduleError: they do not lie like one axis in every operand.
    """
    names = dict.fromkeys([*(loop.axis for loop in schedule.loops), *schedule.prims.names])
    for name in names:
        parts = name.split(JOINT)
        if name not in operation.names and set(parts) <= set(operation.names):
            operation = _fused(operation, [operation.axis(part) for part in parts], name)
    return operation


def _fused(operation: Operation, parts: list[Axis], name: str) -> Operation:
    def join(so_far: tuple[Operation, Axis], inner: Axis) -> tuple[Operation, Axis]:
        operation, outer = so_far
        if not _lie_like_one(operation, outer, inner):
            raise ScheduleError(
                f"the schedule fuses {name}, but {outer.name} and {inner.name} do not lie like one axis\n"
                f"  Fused axes have one role, and in every operand the stride of {outer.name} is {inner.extent} times "
                f"that of {inner.name}."
            )
        joined = _joined(operation, outer, inner)
        return joined, joined.axis(_name(outer, inner))

    first, *rest = parts
    return reduce(join, rest, (operation, first))[0]


def _pairs(operation: Operation, below: int | None) -> list[tuple[Axis, Axis]]:
    axes = operation.axes
    return [(outer, inner) for outer in axes for inner in axes if below is None or inner.extent < below]


def _lie_like_one(operation: Operation, outer: Axis, inner: Axis) -> bool:
    if outer.name == inner.name or outer.role is not inner.role:
        return False
    first, second = operation.names.index(outer.name), operation.names.index(inner.name)
    return all(o.strides[first] == inner.extent * o.strides[second] for o in operation.operands)


def _joined(operation: Operation, outer: Axis, inner: Axis) -> Operation:
    """The operation with `inner` reaching over both axes."""
    merged = Axis(_name(outer, inner), outer.extent * inner.extent, inner.role)
    return _kept(
        operation, {axis.name: merged if axis is inner else axis for axis in operation.axes if axis is not outer}
    )


def _name(outer: Axis, inner: Axis) -> str:
    return f"{outer.name}{JOINT}{inner.name}"


def _kept(operation: Operation, axes: dict[str, Axis]) -> Operation:
    """The operation on some of its axes, by name, each perhaps with another name and extent."""
    places = [operation.names.index(name) for name in axes]
    operands = tuple(replace(o, strides=tuple(o.strides[i] for i in places)) for o in operation.operands)
    return replace(operation, axes=tuple(axes.values()), operands=operands)


def _apply(operation: Operation, schedule: Schedule, context: Context) -> State:
    return fuse(operation, context.options.min_kernel_size), schedule


def _explain(before: State, after: State, context: Context) -> str:
    fused = [f"{axis.name} ({axis.extent})" for axis in after[0].axes if axis.name not in before[0].names]
    single = [axis.name for axis in before[0].axes if axis.extent == 1]
    said = [f"{', '.join(fused)}: one axis in every operand"] if fused else []
    said += [f"without {', '.join(single)}, of one index"] if single else []
    return "; ".join(said) or "no two axes lie like one in every operand"


FUSE = Pass("fuse", _apply, _explain)
