"""PyTorch on the CPU as a contestant: `einsum`, and `mm`, `bmm` or `copy_` where they do the work."""

# pyright: standard
# PyTorch's types are unknown where it is not installed.

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import opt_einsum
import torch  # pyright: ignore[reportMissingImports]

from einloom.bench.cases import Case, Kind
from einloom.bench.data import Array
from einloom.bench.peers.contestants import Prepared, kernel_repeats
from einloom.bench.peers.numpy import plain_product
from einloom.errors import UnsupportedTarget

__all__ = ["prepare"]

STACK_BYTES = 256 * 1024
"""Outputs of one `bmm` call that repeats a kernel: they stay in the second level cache."""


def prepare(case: Case, operands: list[Array], output: Array, threads: int, target: str) -> Prepared:
    """Return PyTorch's way to do a case, with so many threads."""
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    tensors, out = [_tensor(operand) for operand in operands], _tensor(output)
    if case.kind is Kind.KERNEL:
        return _kernel(case, tensors, out)
    call = _expression(case, tensors, out)
    if case.kind is Kind.TENSOR_OPERATION:
        a, b, c = (torch.from_numpy(array) for array in plain_product(case))
        return Prepared(
            _corrected(case, call, out.clone()),
            lambda: torch.mm(a, b, out=c),
            note="one plain product of the same size",
        )
    try:
        call()
    except RuntimeError as error:
        if "not implemented for" not in str(error):
            raise
        raise UnsupportedTarget(f"PyTorch has no such products of {case.dtype}") from error
    return Prepared(lambda: _array(call(), output), call)


def _tensor(array: Array) -> Any:
    """The tensor that shares an array's memory. Types of `ml_dtypes` are unknown to PyTorch."""
    return (
        torch.from_numpy(array.view(np.int16)).view(torch.bfloat16) if _is_bfloat16(array) else torch.from_numpy(array)
    )


def _array(tensor: Any, like: Array) -> Array:
    """The array that shares a tensor's memory, of the type of another one."""
    return tensor.view(torch.int16).numpy().view(like.dtype) if _is_bfloat16(like) else tensor.numpy()


def _is_bfloat16(array: Array) -> bool:
    return array.dtype.name == "bfloat16"


def _expression(case: Case, tensors: list[Any], out: Any) -> Callable[[], Any]:
    if case.is_permutation:
        view = tensors[0].permute([case.terms[0].index(label) for label in case.terms[1]])
        return lambda: out.copy_(view)
    matrices = _matrices(case, tensors)
    if matrices is not None:
        return lambda: torch.mm(*matrices, out=out)
    if len(tensors) > 2:  # Along the given path, in the way that `torch.einsum` itself contracts.
        expression: Any = opt_einsum.contract_expression(case.equation, *case.shapes[:-1], optimize=case.optimize)
        return lambda: expression(*tensors)
    return lambda: torch.einsum(case.lettered, *tensors)


def _matrices(case: Case, operands: Sequence[Any]) -> tuple[Any, Any] | None:
    """Return the operands as `mm` takes them, if the case is one product of two matrices."""
    if len(operands) != 2 or len(case.sizes) != 3 or any(len(term) != 2 for term in case.terms):
        return None
    (row, column), (summed,) = case.terms[2], set(case.sizes) - set(case.terms[2])
    views = []
    for operand, term, wanted in zip(operands, case.terms, (row + summed, summed + column)):
        if set(term) != set(wanted):
            return None
        views.append(operand if term == wanted else operand.T)
    return views[0], views[1]


def _corrected(case: Case, product: Callable[[], Any], start: Any) -> Callable[[], Array]:
    def once() -> Array:
        result = product() + start if case.accumulates else product()
        return (result.relu() if case.last_touch == "relu" else result).numpy()

    return once


def _kernel(case: Case, tensors: list[Any], out: Any) -> Prepared:
    a, b = tensors
    fitting = max(1, STACK_BYTES // (out.numel() * out.element_size()))
    repeats = min(kernel_repeats(case.flops), fitting)
    stack = torch.zeros((repeats, *out.shape), dtype=out.dtype)
    stacked = b.expand(repeats, *b.shape), a.expand(repeats, *a.shape)
    return Prepared(
        lambda: out.addmm_(b, a).numpy(),
        lambda: torch.bmm(*stacked, out=stack),
        repeats,
        note="overwrites instead of adding",
    )
