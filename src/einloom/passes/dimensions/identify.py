"""Primitive identification: by unit strides, else by the smallest.

Where no dimension has the unit stride that a rule asks for, the one with the smallest stride takes its place, so that
every operation gets its primitive.
"""

from __future__ import annotations

from collections.abc import Iterable

from einloom.ir.configuration import primitive_axes
from einloom.ir.operation import Axis, DimType, Operand, Operation
from einloom.ir.schedule import Prims, Schedule
from einloom.passes.dimensions.dimension import from_dimensions, to_dimensions
from einloom.passes.values import Context, Pass, State

__all__ = ["IDENTIFY_BY_STRIDES", "identify_by_strides"]


def identify_by_strides(operation: Operation) -> Prims:
    """Return the axes that the primitive of `operation` takes.

    before: identity over a:c b:c d:c, in0 a=1 b=8 d=32, out a=1 b=32 d=8
    after:  prim m=a n=b
    """
    if len(operation.inputs) == 2:
        chosen = _ternary(operation) if operation.main.is_contraction else _binary(operation)
    else:
        chosen = _unary(operation)
    return primitive_axes(operation, [axis.name for axis in chosen if axis is not None])


def _unary(operation: Operation) -> list[Axis | None]:
    """The unit stride of the input; beside it that of the output if it is another, else the smallest of the input."""
    source = operation.inputs[0] if operation.inputs else operation.output
    kept = [axis for axis in operation.axes if axis.role is not DimType.K]
    m = _smallest(operation, source, kept)
    rest = [axis for axis in kept if axis is not m]
    transposes = m is not None and operation.stride(operation.output, m.name) != 1
    unit = [axis for axis in rest if transposes and operation.stride(operation.output, axis.name) == 1]
    n = unit[0] if unit else _smallest(operation, source, rest)
    k = _smallest(operation, source, [axis for axis in operation.axes if axis.role is DimType.K])
    return [m, n, k]


def _binary(operation: Operation) -> list[Axis | None]:
    """The unit stride of all tensors; of the rest the n, or else any, with the smallest strides."""
    axes = list(operation.axes)
    unit = [axis for axis in axes if all(operation.stride(o, axis.name) == 1 for o in operation.operands)]
    m = unit[0] if unit else _smallest(operation, operation.output, axes)
    rest = [axis for axis in axes if axis is not m]
    n = _smallest(operation, operation.output, [axis for axis in rest if axis.role is DimType.N] or rest)
    return [m, n]


def _ternary(operation: Operation) -> list[Axis | None]:
    """Batch: a second k without unit stride in the second input; k: its unit stride there; m, n: of their types."""
    first, second = operation.inputs
    of = {role: [axis for axis in operation.axes if axis.role is role] for role in DimType}
    unit = [
        a for a in of[DimType.M] if operation.stride(first, a.name) == operation.stride(operation.output, a.name) == 1
    ]
    m = unit[0] if unit else _smallest(operation, operation.output, of[DimType.M])
    n = _smallest(operation, second, of[DimType.N])
    k = _smallest(operation, second, of[DimType.K])
    batch = next((a for a in of[DimType.K] if a is not k and operation.stride(second, a.name) != 1), None)
    kept = [axis for axis in (m, n) if axis is not None]
    common = sorted(of[DimType.C], key=lambda axis: operation.distance(operation.output, axis))
    return [*kept, *([] if kept else common[:1]), batch, k]


def _smallest(operation: Operation, operand: Operand, axes: Iterable[Axis]) -> Axis | None:
    return min(axes, key=lambda axis: operation.distance(operand, axis), default=None)


def _apply(operation: Operation, schedule: Schedule, context: Context) -> State:
    return from_dimensions(operation, to_dimensions(operation, schedule), identify_by_strides(operation))


def _explain(before: State, after: State, context: Context) -> str:
    prims = after[1].prims
    taken = (("m", prims.m), ("n", prims.n), ("k", prims.k), ("batch", prims.batch))
    return " ".join(f"{letter}={name}" for letter, name in taken if name is not None) + ": by unit and smallest strides"


IDENTIFY_BY_STRIDES = Pass("identify primitive", _apply, _explain)
