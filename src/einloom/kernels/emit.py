"""`emit_kernel`: the one door to all generators."""

from __future__ import annotations

from einloom.kernels.contraction.brgemm import emit_brgemm
from einloom.kernels.contraction.pairs import emit_pair_product
from einloom.kernels.elementwise.binary import emit_binary
from einloom.kernels.elementwise.interleave import emit_interleave
from einloom.kernels.elementwise.leave import emit_leave_behind
from einloom.kernels.elementwise.pairs import emit_pair_copy
from einloom.kernels.elementwise.reduce import emit_reduce
from einloom.kernels.elementwise.stream import emit_stream
from einloom.kernels.elementwise.unary import emit_unary
from einloom.kernels.specs import Brgemm, Interleave, LeaveBehind, PairCopy, PairProduct, Reduce, Spec, Stream, Unary
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import KernelMachine, V

__all__ = ["emit_kernel"]


def emit_kernel(km: KernelMachine[R, V, A], spec: Spec) -> None:
    """Emit the function that a spec describes at the current position, with the C calling convention.

    Its arguments are `signature(spec)`, strides in elements. It clobbers the registers that a call may clobber and all
    vector registers but those that the ABI preserves.
    """
    if isinstance(spec, Brgemm):
        emit_brgemm(km, spec)
    elif isinstance(spec, PairProduct):
        emit_pair_product(km, spec)
    elif isinstance(spec, PairCopy):
        emit_pair_copy(km, spec)
    elif isinstance(spec, Unary):
        emit_unary(km, spec)
    elif isinstance(spec, Stream):
        emit_stream(km, spec)
    elif isinstance(spec, LeaveBehind):
        emit_leave_behind(km, spec)
    elif isinstance(spec, Interleave):
        emit_interleave(km, spec)
    elif isinstance(spec, Reduce):
        emit_reduce(km, spec)
    else:
        emit_binary(km, spec)
