"""Dimension fusion: axes that lie like one axis in every operand become one.

Two axes X and Y fuse when they have the same role and stride(X) = |Y| * stride(Y) holds in every operand (seed document
000, section 5.5.4). Axes of extent 1 disappear. Fewer, longer axes let kernels take larger blocks.
"""

from __future__ import annotations

from dataclasses import replace

from einloom.ir.operation import Axis, Operand, Operation

__all__ = ["fuse"]


def fuse(operation: Operation, below: int | None = None) -> Operation:
    """Return the operation with fusable pairs of axes fused; the inner axis gives the name.

    With `below`, only an inner axis of fewer indices takes in another one.

    before: axis a 4 m, axis b 8 m; in0 a=8 b=1; out a=8 b=1
    after:  axis b 32 m;            in0 b=1;     out b=1
    """
    axes = [axis for axis in operation.axes if axis.extent != 1]
    strides = {axis.name: tuple(operation.stride(op, axis.name) for op in operation.operands) for axis in axes}
    while pair := _fusable(axes, strides, below):
        outer, inner = pair
        merged = Axis(inner.name, outer.extent * inner.extent, inner.role)
        axes = [merged if axis is inner else axis for axis in axes if axis is not outer]
    operands = tuple(
        Operand(op.name, op.dtype, tuple(strides[axis.name][i] for axis in axes))
        for i, op in enumerate(operation.operands)
    )
    return replace(operation, axes=tuple(axes), operands=operands)


def _fusable(axes: list[Axis], strides: dict[str, tuple[int, ...]], below: int | None) -> tuple[Axis, Axis] | None:
    for outer in axes:
        for inner in axes:
            if (
                outer is not inner
                and outer.role is inner.role
                and (below is None or inner.extent < below)
                and all(a == inner.extent * b for a, b in zip(strides[outer.name], strides[inner.name]))
            ):
                return outer, inner
    return None
