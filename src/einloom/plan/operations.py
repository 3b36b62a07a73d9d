"""One step of a plan as an `Operation`: terms with labels become operands with strides, and touches are put on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from einloom.dtypes import DType
from einloom.ir.operation import NO_TOUCH, Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.plan.problem import Term

__all__ = ["FRESH", "Touching", "finished", "operation_of"]

FRESH = -1
"""In place of the number of a factor: what the target holds is not read."""

Touching: TypeAlias = tuple[Primitive, int | None]
"""An operator on the finished target, and the number of what it reads."""


def operation_of(inputs: Sequence[Term], output: Term, sizes: dict[str, int], types: Sequence[DType]) -> Operation:
    """Return the operation `output = sum over all other labels of the product of the inputs`; its type is the last."""
    labels = dict.fromkeys([*output.labels, *(label for term in inputs for label in term.labels)])
    axes = tuple(Axis(label, sizes[label], _role(label, inputs, output)) for label in labels)
    operands: list[Operand] = []
    names = (*("in0", "in1")[: len(inputs)], "out")
    for name, term, dtype in zip(names, (*inputs, output), types):
        strides = dict(zip(term.labels, term.strides))
        operands.append(Operand(name, dtype, tuple(strides.get(label, 0) for label in labels)))
    if len(inputs) == 2:
        main = Primitive.GEMM
    else:
        main = Primitive.SUM if any(axis.role is DimType.K for axis in axes) else Primitive.IDENTITY
    first = Touch(Primitive.ZERO) if main is not Primitive.IDENTITY else NO_TOUCH
    return Operation(axes, tuple(operands), main, first)


def finished(
    operation: Operation,
    first: int | None,
    touches: Sequence[Touching],
    extras: Sequence[tuple[Term, DType]],
) -> Operation:
    """Return the operation with touches, the first of which is before the sums if `first` is a tensor.

    What is added to cannot be a copy: a copy becomes a sum over nothing but one element.
    """
    inputs = len(operation.inputs)
    places = iter(range(inputs, inputs + len(extras)))
    done = [Touch(primitive, None if number is None else next(places)) for primitive, number in touches]
    operands = [
        Operand(
            f"extra{i}",
            dtype,
            tuple(dict(zip(t.labels, t.strides)).get(n, 0) for n in operation.names),
        )
        for i, (t, dtype) in enumerate(extras)
    ]
    adds = first != FRESH and operation.main is Primitive.IDENTITY
    start = operation.first_touch if first == FRESH else NO_TOUCH if first is None else done.pop(0)
    return replace(
        operation,
        operands=(*operation.inputs, *operands, operation.output),
        main=Primitive.SUM if adds else operation.main,
        first_touch=start,
        last_touches=tuple(done),
    )


def _role(label: str, inputs: Sequence[Term], output: Term) -> DimType:
    if label not in output.labels:
        return DimType.K
    if len(inputs) == 1:
        return DimType.C
    in0, in1 = (label in term.labels for term in inputs)
    return DimType.C if in0 and in1 else DimType.M if in0 else DimType.N
