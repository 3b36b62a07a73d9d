"""`kernel_spec`: which kernel a call of a nest is, for blocks of given sizes."""

from __future__ import annotations

from dataclasses import replace

from einloom.dtypes import COMPLEX64, FLOAT32, FLOAT64, INT32, LOWERED, RAISED, DType, Kind, promoted
from einloom.errors import InternalError, UnsupportedTarget
from einloom.ir.nest import Access, Call, Turned
from einloom.ir.operation import Operation, Primitive
from einloom.kernels.formula.functions import pair_name
from einloom.kernels.specs import Binary, Brgemm, Interleave, Spec, Stream, Unary
from einloom.kernels.specs.copies import PairCopy
from einloom.kernels.specs.products import BatchBy, PairProduct
from einloom.machine import Machine

__all__ = ["is_far", "kernel_spec", "one_by_one"]


def is_far(operation: Operation, access: Access, machine: Machine) -> bool:
    """Return whether an access goes to a tensor that the second-level cache does not hold."""
    tensor = next((each for each in operation.operands if each.name == access.buffer), None)
    return tensor is not None and operation.elements(tensor) * tensor.dtype.size > machine.l2


def kernel_spec(
    call: Call, sizes: tuple[int, ...], types: tuple[DType, ...], beta: int | None
) -> tuple[Spec, tuple[int, ...]]:
    """Return the kernel for blocks of the given sizes, and which of its arguments each access of the call is.

    `types` are those of the elements that each access finds in memory.
    `beta` says whether a contraction adds to its output (1), starts from zero (0) or decides at run time (None); then
    the argument behind the last pointer is the flag.

    Raises:
        UnsupportedTarget: it sums complex elements without multiplying them.
    """
    strides = [access.strides for access in call.accesses]
    if call.group > 1:
        return _spec_of_groups(call, sizes, types, beta)
    dtype = promoted(*types).accumulate
    if call.primitive.is_contraction and dtype.kind is Kind.COMPLEX:
        if len(strides) < 3:
            raise UnsupportedTarget(
                f"no kernel sums {dtype}\n"
                f"  Sum {dtype.real} with one more axis over the parts, as einsum does (`plan.pairs.on_reals`)."
            )
        m, n, k, batch = sizes
        a, b, c = _four(strides[0]), _four(strides[1]), _two(strides[2])
        return PairProduct(dtype.real, m, n, k, batch, a, b, c, beta, call.conjugated), (0, 1, 2)
    if call.primitive.is_contraction:
        m, n, k, batch = sizes
        a, b = _four(strides[0]), _four(strides[1]) if len(strides) == 3 else None
        memory = types if b is not None else (types[0], types[0], types[1])
        by = BatchBy.OFFSETS if call.offsets else BatchBy.STRIDE
        spec = Brgemm(dtype, m, n, k, batch, a=a, b=b, c=_two(strides[-1]), beta=beta, memory=memory, batch_by=by)
        return spec, (0, 1, 2) if b is not None else (0, 2)
    m, n = sizes
    if call.pair is not None:
        return _spec_of_pair(call.pair, sizes, types[0], *(_two(_divided(along, 2)) for along in strides)), (0, 1)
    if call.streams and types[0] == types[1] == COMPLEX64:
        a, b = _two(strides[0]), _two(strides[-1])
        return Stream(FLOAT64, m, n, a, b, in_pairs=True), (0, 1)  # Of the same bits.
    if call.primitive is Primitive.IDENTITY and dtype.kind is Kind.COMPLEX:
        parts = Turned(0), Turned(1, call.conjugated[0])
        return _spec_of_pair(parts, sizes, dtype.real, *map(_two, strides)), (0, 1)
    if call.primitive.is_binary:
        a, b, c = (_two(s) for s in strides)
        dtype = FLOAT32 if (types[0], types[-1]) == (INT32, FLOAT32) else dtype  # sums that are rounded
        return Binary(call.primitive.value, dtype, m, n, a=a, b=b, c=c, memory=types), (0, 1, 2)
    if call.primitive is Primitive.ZERO:
        return Unary("zero", types[-1], m, n, a=(0, 0), b=_two(strides[-1])), (1,)
    if call.streams and types[0] == types[1]:
        return Stream(types[0], m, n, a=_two(strides[0]), b=_two(strides[-1])), (0, 1)
    if call.primitive.is_unary:
        a, b = _two(strides[0]), _two(strides[-1])
        return Unary(call.primitive.value, types[0], m, n, a=a, b=b, output=types[1]), (0, 1)
    raise InternalError(f"no kernel computes {call.primitive}; please report this with the nest's text:\n{call}")


def one_by_one(call: Call, sizes: tuple[int, ...]) -> tuple[Call, tuple[int, ...]]:
    """Return a product of whole groups, and its sizes, as one of single elements: right everywhere, but slower.

    before -> after, the i-th elements of all groups being a matrix of the batch:

        k=32 batch=1 in groups of 2       k=16 batch=2 at +0,+0 +1,+1
    """
    (m, n, k, batch), group, steps = sizes, call.group, [access.strides[-1] for access in call.accesses]
    places = call.offsets or tuple((number * steps[0], number * steps[1]) for number in range(batch))
    offsets = tuple((a + place, b + place) for a, b in places for place in range(group))
    return replace(call, group=1, offsets=offsets), (m, n, -(-k // group), len(offsets))


def _spec_of_groups(
    call: Call, sizes: tuple[int, ...], types: tuple[DType, ...], beta: int | None
) -> tuple[Spec, tuple[int, ...]]:
    """The kernel that multiplies or copies groups: strides are counted in groups but those of single elements."""
    group, (first, *others) = call.group, [access.strides for access in call.accesses]
    if not call.primitive.is_contraction:
        m, n = sizes
        a, b = _two(first), _two(_divided(others[0], group))
        keeps_bits = types[0].is_integer and types[1].is_integer and types[0].size == types[1].size
        output = None if keeps_bits and types[1] not in (RAISED, LOWERED) and not types[1].of else types[1]
        return Interleave(types[0], m, n, a=a, b=b, output=output), (0, 1)
    m, n, k, batch = sizes
    a, b = _four(_divided(first, group)), _four(_divided(others[0], group))
    c, dtype = _two(others[1]), types[-1].accumulate
    by = BatchBy.OFFSETS if call.offsets else BatchBy.STRIDE
    k = -(-k // group)
    spec = Brgemm(dtype, m, n, k, batch, a=a, b=b, c=c, beta=beta, memory=types, batch_by=by, grouped=True)
    return spec, (0, 1, 2)


def _divided(strides: tuple[int, ...], group: int) -> tuple[int, ...]:
    return tuple(stride // group for stride in strides)


def _spec_of_pair(
    pair: tuple[Turned, Turned], sizes: tuple[int, ...], dtype: DType, a: tuple[int, int], b: tuple[int, int]
) -> Spec:
    """The kernel that copies pairs; of two float32 one element of 8 bytes is made, which registers transpose."""
    (first, second), (m, n) = pair, sizes
    swapped, negative = (first.part, second.part) == (1, 0), (first.negative, second.negative)
    if dtype == FLOAT32 and not a[0] == b[0] == 1:
        return Unary(pair_name(swapped, *negative), FLOAT64, m, n, a=a, b=b)
    return PairCopy(dtype, m, n, a, b, swapped, negative)


def _two(strides: tuple[int, ...]) -> tuple[int, int]:
    return strides[0], strides[1]


def _four(strides: tuple[int, ...]) -> tuple[int, int, int, int]:
    return strides[0], strides[1], strides[2], strides[3]
