"""Operations on complex tensors as operations on reals: one operand is turned into matrices, then reals are multiplied.

The parts of a complex element lie side by side, so a tensor of complex elements is one of reals with one more axis. A
product of two goes through an intermediate tensor, four reals for each element of one operand, in the order in which
the product reads it; the other one and the result stay as they are. What is summed or moved alone needs no turning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from einloom.ir.operation import NO_TOUCH, Axis, DimType, Operand, Operation, Primitive

__all__ = ["RealOperations", "real_operations"]

PART, TERM = "part", "term"
"""Names of the axes over the parts of the result and of the operand that is not turned: longer than any label."""

_TURNS = {
    (False, False): Primitive.TURN,
    (True, False): Primitive.TURN_CONJUGATE,
    (False, True): Primitive.TURN_BESIDE,
    (True, True): Primitive.TURN_BOTH,
}
"""By whether the operand that is turned, and the other one, are conjugated."""


@dataclass(frozen=True, slots=True)
class RealOperations:
    """What computes an operation on complex tensors.

    Attributes:
        main: the operation on reals.
        turn: makes the matrices of one of its operands; None: it reads the operands as they are.
        turned: which one.
    """

    main: Operation
    turn: Operation | None = None
    turned: int = 0


def real_operations(operation: Operation, conjugated: tuple[bool, bool] = (False, False)) -> RealOperations:
    """Return the operations on reals that compute one on complex tensors, perhaps with conjugated factors.

    before: axis a 3 m, axis b 4 k, axis c 5 n; in0 a=4 b=1; in1 b=5 c=1; out a=5 c=1 (complex64)
    after:  axis b 4 c, axis c 5 c, axis term 2 c, axis part 2 c; turn in0 b=10 c=2 part=1, out b=20 c=2 term=10 part=1
            axis a 3 m, axis b 4 k, axis c 5 n, axis term 2 k, axis part 2 n
            gemm in0 a=8 b=2 term=1; in1 b=20 c=2 term=10 part=1; out a=10 c=2 part=1 (float32)
    """
    if len(operation.inputs) != 2:
        axes = (*operation.axes, Axis(PART, 2, DimType.C))
        operands = tuple(_in_reals(operand, 1) for operand in operation.operands)
        return RealOperations(replace(operation, axes=axes, operands=operands))
    turned = _vector_operand(operation)
    own, other = operation.operands[turned], operation.operands[1 - turned]
    signs = _TURNS[conjugated[turned], conjugated[1 - turned]]
    turn = _turn(operation, own, _order_of_matrices(operation, own, other), signs)
    axes = (*operation.axes, Axis(TERM, 2, DimType.K), Axis(PART, 2, DimType.M if turned == 0 else DimType.N))
    matrices = turn.strides(turn.output)
    operands = [_in_reals(operand, 1, 0) for operand in operation.operands]
    operands[turned] = Operand(own.name, turn.output.dtype, tuple(matrices.get(axis.name, 0) for axis in axes))
    operands[-1] = _in_reals(operation.output, 0, 1)
    return RealOperations(replace(operation, axes=axes, operands=tuple(operands)), turn, turned)


def _in_reals(operand: Operand, *ends: int) -> Operand:
    """The operand as one of reals, with strides along further axes."""
    return Operand(operand.name, operand.dtype.real, (*(2 * stride for stride in operand.strides), *ends))


def _vector_operand(operation: Operation) -> int:
    """Which operand to turn: that which has the result's contiguous axis, along which vectors run; else the smaller."""
    run = operation.contiguous_axis(operation.output)
    if run is not None and run.role in (DimType.M, DimType.N):
        return 0 if run.role is DimType.M else 1
    first, second = operation.inputs
    return 0 if operation.elements(first) <= operation.elements(second) else 1


def _order_of_matrices(operation: Operation, own: Operand, other: Operand) -> list[str]:
    """The axes of the turned tensor, outermost first, so that the product reads runs that are as long as possible.

    Summed axes lie as in the other operand, with its parts inside; the axes of the result inside them.
    """
    axes = [axis for axis in operation.axes if operation.stride(own, axis.name) and axis.extent > 1]
    common = [axis for axis in axes if axis.role is DimType.C]
    summed = [axis for axis in axes if axis.role is DimType.K]
    free = [axis for axis in axes if axis not in common and axis not in summed]
    outer = [axis.name for axis in operation.outermost_first(operation.output, common)]
    middle = [*(axis.name for axis in operation.outermost_first(other, summed)), TERM]
    inner = [*(axis.name for axis in operation.outermost_first(operation.output, free)), PART]
    return [*outer, *middle, *inner] if free else [*outer, *inner, *middle]


def _turn(operation: Operation, own: Operand, order: list[str], main: Primitive) -> Operation:
    """The operation that turns `own` into a tensor whose axes lie in an order."""
    names = [name for name in order if name not in (TERM, PART)]
    axes = [Axis(name, operation.axis(name).extent, DimType.C) for name in names]
    axes += [Axis(TERM, 2, DimType.C), Axis(PART, 2, DimType.C)]
    extents = {axis.name: axis.extent for axis in axes}
    strides, stride = dict[str, int](), 1
    for name in reversed(order):
        strides[name], stride = stride, stride * extents[name]
    source = tuple(2 * operation.stride(own, name) for name in names)
    operands = (
        Operand("in0", own.dtype.real, (*source, 0, 1)),
        Operand("out", own.dtype.real, tuple(strides[axis.name] for axis in axes)),
    )
    return Operation(tuple(axes), operands, main, NO_TOUCH)
