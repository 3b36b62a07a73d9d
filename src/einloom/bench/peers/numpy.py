"""NumPy as a contestant: `einsum` along a path found beforehand, and `matmul` or `copyto` where they do the work."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from einloom.bench.cases import Case
from einloom.bench.data import Array
from einloom.bench.peers.contestants import Prepared, kernel_repeats

__all__ = ["matrix_operands", "plain_product", "prepare"]


def prepare(case: Case, operands: list[Array], output: Array, threads: int, target: str) -> Prepared:
    """Return NumPy's way to do a case. Threads are OpenBLAS's own and come from the environment."""
    if case.kind == "kernel":
        return _kernel(case, operands, output)
    once = _expression(case, operands, output)
    if case.kind == "tensor_operation":
        a, b, c = plain_product(case)
        return Prepared(
            _corrected(case, once, output), lambda: np.matmul(a, b, out=c), note="one plain product of the same size"
        )
    return Prepared(once, once)


def _expression(case: Case, operands: list[Array], output: Array) -> Callable[[], Array]:
    if case.is_permutation:
        view = operands[0].transpose([case.terms[0].index(label) for label in case.terms[1]])
        return lambda: _copied(output, view)
    matrices = matrix_operands(case, operands)
    if matrices is not None:
        return lambda: np.matmul(*matrices, out=output)
    path = np.einsum_path(case.equation, *operands, optimize="greedy")[0]
    return lambda: np.einsum(case.equation, *operands, out=output, optimize=path)


def _copied(output: Array, view: Array) -> Array:
    np.copyto(output, view)
    return output


def matrix_operands(case: Case, operands: Sequence[Any]) -> tuple[Any, Any] | None:
    """Return the operands as `matmul` takes them, if the case is one product of two matrices."""
    if len(operands) != 2 or len(case.sizes) != 3 or any(len(term) != 2 for term in case.terms):
        return None
    (row, column), (summed,) = case.terms[2], set(case.sizes) - set(case.terms[2])
    views = []
    for operand, term, wanted in zip(operands, case.terms, (row + summed, summed + column)):
        if set(term) != set(wanted):
            return None
        views.append(operand if term == wanted else operand.T)
    return views[0], views[1]


def plain_product(case: Case) -> tuple[Array, Array, Array]:
    """Return row-major matrices whose product takes as much arithmetic as a contraction: the best case for a BLAS."""
    first, second, out = (set(term) for term in case.terms)
    rows, columns, summed = (
        math.prod(case.sizes[label] for label in labels) for labels in (first & out, second & out, first & second)
    )
    a, b = np.ones((rows, summed), case.dtype), np.ones((summed, columns), case.dtype)
    return a, b, np.zeros((rows, columns), case.dtype)


def _corrected(case: Case, product: Callable[[], Array], output: Array) -> Callable[[], Array]:
    """The product with what a tensor operation does before and after it."""
    start = output.copy()

    def once() -> Array:
        result = product()
        if case.accumulates:
            result += start
        return np.maximum(result, 0, out=result) if case.last_touch == "relu" else result

    return once


def _kernel(case: Case, operands: list[Array], output: Array) -> Prepared:
    """A stack of the same product, which `matmul` walks without returning to Python."""
    (a, b), repeats = operands, kernel_repeats(case.flops)
    stacked = [np.broadcast_to(array, (repeats, *array.shape)) for array in (b, a)]
    scratch = np.zeros_like(output)
    stack = np.lib.stride_tricks.as_strided(scratch, (repeats, *scratch.shape), (0, *scratch.strides))

    def once() -> Array:
        output[...] += np.matmul(b, a)
        return output

    return Prepared(once, lambda: np.matmul(*stacked, out=stack), repeats, note="overwrites instead of adding")
