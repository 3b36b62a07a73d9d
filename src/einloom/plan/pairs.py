"""Operations on complex tensors that need no products of complex numbers, as operations on reals.

The parts of a complex element lie side by side, so a tensor of complex elements is one of reals with one more axis:
sums and copies walk it like any other, and so do products of complex and real tensors.
"""

from __future__ import annotations

from dataclasses import replace

from einloom.dtypes import Kind
from einloom.ir.operation import Axis, DimType, Operand, Operation

__all__ = ["on_reals"]

PARTS = "parts"
"""Name of the axis over the parts of elements: longer than any label."""


def on_reals(operation: Operation) -> Operation:
    """Return the operation on reals that computes one whose inputs are not all complex, or that has one input.

    before: axis a 3 m, axis b 4 k, axis c 5 n; in0 complex64 a=4 b=1; in1 float32 b=5 c=1; out complex64 a=5 c=1
    after:  axis a 3 m, axis b 4 k, axis c 5 n, axis parts 2 m
            in0 float32 a=8 b=2 parts=1; in1 float32 b=5 c=1; out float32 a=10 c=2 parts=1
    """
    paired = [operand.dtype.kind is Kind.COMPLEX for operand in operation.operands]
    role = DimType.C if len(operation.inputs) == 1 else DimType.M if paired[0] else DimType.N
    operands = tuple(
        Operand(o.name, o.dtype.real, (*(2 * stride for stride in o.strides), 1) if pair else (*o.strides, 0))
        for o, pair in zip(operation.operands, paired)
    )
    return replace(operation, axes=(*operation.axes, Axis(PARTS, 2, role)), operands=operands)
