"""Primitive identification: which axes the kernels take.

The plain rules (`dimensions/identify.py`) choose by unit strides; these add what they leave open: an output whose
contiguous axis has role `n` (the operands trade places), contractions whose contiguous axis is in all three tensors,
and operands without any contiguous axis. The arity comes from the main primitive, so batched contractions may have `c`
axes.
"""

from __future__ import annotations

from dataclasses import replace

from einloom.ir.operation import Axis, DimType, Operation
from einloom.ir.schedule import Prims, Schedule
from einloom.passes.values import Context, Pass, State

__all__ = [
    "IDENTIFY",
    "LARGER",
    "identify_primitive",
    "prims_along",
    "prims_of_one_product",
    "prims_with_batch_as_columns",
    "takes_outer_products",
    "vector_operand",
]

LINE = 64
"""Bytes of a cache line."""

LARGER = 4
"""An input more than this many times as large as the output decides in which order it is read."""


def identify_primitive(operation: Operation) -> Prims:
    """Return the axes that the primitive of `operation` takes.

    before: brgemm over a:m b:n c:k d:k, out b=64 a=1, in1 c=1 d=32
    after:  prim m=a n=b k=c batch=d
    """
    if operation.main.is_contraction:
        kept = (axis for axis in operation.axes if axis.role is not DimType.K)
        m = min(kept, key=lambda axis: operation.distance(operation.output, axis), default=None)
        return prims_along(operation, m)
    return _identify_element_wise(operation)


def vector_operand(operation: Operation, prims: Prims) -> int:
    """Return the position of the input that kernels read as vectors: the one that varies along the primitive's m."""
    if len(operation.inputs) < 2 or prims.m is None:
        return 0
    return 1 if operation.axis(prims.m).role is DimType.N else 0


def takes_outer_products(operation: Operation, prims: Prims) -> bool:
    """Whether m and n of the primitive belong to one input each, not to the same: every row meets every column."""
    roles = [operation.axis(name).role for name in (prims.m, prims.n) if name is not None]
    return DimType.C not in roles and len(set(roles)) == len(roles)


def prims_of_one_product(operation: Operation) -> tuple[Prims, ...]:
    """Return what the primitive may take of each product of a batch; nothing unless the output's innermost axis counts.

    before: brgemm over b:c i:m j:n k:k, in0 i=1, in1 k=1, out b=1
    after:  prim m=i n=j k=k; prim m=j n=i k=k
    """
    counting = operation.contiguous_axis(operation.output)
    if counting is None or counting.role is not DimType.C:
        return ()
    found: list[Prims] = []
    for role, operand in ((DimType.M, operation.inputs[0]), (DimType.N, operation.inputs[-1])):
        own = [axis for axis in operation.axes if axis.role is role]
        if own:
            prims = prims_along(operation, min(own, key=lambda axis: operation.distance(operand, axis)))
            counts = prims.n is not None and operation.axis(prims.n).role is DimType.C
            found.append(replace(prims, n=None) if counts else prims)
    return tuple(found)


def prims_with_batch_as_columns(operation: Operation, prims: Prims) -> Prims | None:
    """Return what the primitive takes if columns count products; None unless vectors of these share lines.

    before: brgemm over c:d m:c,f n:a,b k:e, out f=1 d=4; f 4; prim m=f n=a k=e
    after:  prim m=f n=d k=e
    """
    m = operation.contiguous_axis(operation.output)
    if m is None or m.role is DimType.C or m.name != prims.m or m.extent * operation.output.dtype.size >= LINE:
        return None
    follows = [a for a in operation.axes if operation.stride(operation.output, a.name) == m.extent and a.extent > 1]
    if not follows or follows[0].role is not DimType.C:
        return None
    return replace(prims, n=follows[0].name)


def prims_along(operation: Operation, m: Axis | None) -> Prims:
    """Return the axes that the primitive of a contraction takes if its vectors run along `m`."""
    kept = [axis for axis in operation.axes if axis.role is not DimType.K]
    summed = [axis for axis in operation.axes if axis.role is DimType.K]
    vector = operation.inputs[-1 if m is not None and m.role is DimType.N else 0]
    other = operation.inputs[0 if m is not None and m.role is DimType.N else -1]
    columns = _column_axes(operation, kept, m)
    # Columns next to each other in the output are written in runs; what is much larger should be read in runs.
    walked = other if operation.elements(other) > LARGER * operation.elements(operation.output) else operation.output
    n = min(columns, key=lambda axis: operation.distance(walked, axis), default=None)
    # Reduced axes: what is contiguous in the operand that kernels broadcast is read element after element.
    # The second one is the closest in the operand that kernels read as vectors, where a pack transposes it.
    k = min(summed, key=lambda axis: operation.distance(other, axis), default=None)
    rest = [axis for axis in summed if axis is not k]
    batch = min(rest, key=lambda axis: operation.distance(vector, axis), default=None)
    return Prims(_name(m), _name(n), _name(k), _name(batch))


def _column_axes(operation: Operation, kept: list[Axis], m: Axis | None) -> list[Axis]:
    """Axes over which a tile reuses its vector operand; if there are none, any other axis of the output."""
    others = [axis for axis in kept if axis is not m]
    if m is None or len(operation.inputs) < 2:
        return others
    opposite = {DimType.M: DimType.N, DimType.N: DimType.M}.get(m.role)
    reusing = [axis for axis in others if axis.role is opposite] if opposite else []
    return reusing or others


def _identify_element_wise(operation: Operation) -> Prims:
    axes = list(operation.axes)
    # A copy transposes one input in registers; of two inputs neither decides, vectors follow the output.
    source = operation.inputs[0] if len(operation.inputs) == 1 else operation.output
    m = min(axes, key=lambda axis: operation.distance(source, axis), default=None)
    rest = [axis for axis in axes if axis is not m]
    n = min(rest, key=lambda axis: operation.distance(operation.output, axis), default=None)
    return Prims(_name(m), _name(n))


def _name(axis: Axis | None) -> str | None:
    return axis.name if axis else None


def _apply(operation: Operation, schedule: Schedule, context: Context) -> State:
    return operation, replace(schedule, prims=identify_primitive(operation))


def _explain(before: State, after: State, context: Context) -> str:
    operation, prims = after[0], after[1].prims
    taken = (("m", prims.m), ("n", prims.n), ("k", prims.k), ("batch", prims.batch))
    said = " ".join(f"{letter}={name}" for letter, name in taken if name is not None)
    if prims.m is None:
        return said or "a single element"
    contiguous = [o.name for o in operation.operands if abs(operation.stride(o, prims.m)) == 1]
    return f"{said}: {prims.m} is contiguous in {' and '.join(contiguous) or 'no operand, but closest in the output'}"


IDENTIFY = Pass("identify primitive", _apply, _explain)
