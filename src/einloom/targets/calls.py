"""From a call of a nest to the kernel that computes one of its variants."""

from __future__ import annotations

from einloom.dtypes import DType
from einloom.errors import InternalError
from einloom.ir.nest import Call
from einloom.ir.operation import Primitive
from einloom.kernels import Binary, Brgemm, Spec, Stream, Unary

__all__ = ["kernel_spec"]


def kernel_spec(call: Call, sizes: tuple[int, ...], dtype: DType, beta: int | None) -> tuple[Spec, tuple[int, ...]]:
    """Return the kernel for blocks of the given sizes, and which of its arguments each access of the call is.

    `beta` says whether a contraction adds to its output (1), starts from zero (0) or decides at run time (None); then
    the argument behind the last pointer is the flag.
    """
    strides = [access.strides for access in call.accesses]
    if call.primitive.is_contraction:
        m, n, k, batch = sizes
        a, b = _four(strides[0]), _four(strides[1]) if len(strides) == 3 else None
        spec = Brgemm(dtype, m, n, k, batch, a=a, b=b, c=_two(strides[-1]), beta=beta)
        return spec, (0, 1, 2) if b is not None else (0, 2)
    m, n = sizes
    if call.primitive.is_binary:
        a, b, c = (_two(s) for s in strides)
        return Binary(call.primitive.value, dtype, m, n, a=a, b=b, c=c), (0, 1, 2)
    if call.primitive is Primitive.ZERO:
        return Unary("zero", dtype, m, n, a=(0, 0), b=_two(strides[-1])), (1,)
    if call.streams:
        return Stream(dtype, m, n, a=_two(strides[0]), b=_two(strides[-1])), (0, 1)
    if call.primitive.is_unary:
        return Unary(call.primitive.value, dtype, m, n, a=_two(strides[0]), b=_two(strides[-1])), (0, 1)
    raise InternalError(f"no kernel computes {call.primitive}; please report this with the nest's text:\n{call}")


def _two(strides: tuple[int, ...]) -> tuple[int, int]:
    return strides[0], strides[1]


def _four(strides: tuple[int, ...]) -> tuple[int, int, int, int]:
    return strides[0], strides[1], strides[2], strides[3]
