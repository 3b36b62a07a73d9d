"""`numpy_ways`: how a NumPy user would write a case. `peers.numpy` keeps the fastest; here nothing is measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
import opt_einsum  # pyright: ignore[reportMissingTypeStubs]

from einloom.bench.cases import Case
from einloom.bench.data import Array

__all__ = ["Way", "numpy_ways"]

Way: TypeAlias = tuple[str, Callable[[], Array]]
"""A name, and a function that does the work and returns the result."""

PLAIN_FLOPS = 8
"""Arithmetic for each element that is read, up to which `einsum` without a path, one plain loop, is worth a trial."""


LARGE_FLOPS = 2 * 10**8
"""Arithmetic beyond which a way without BLAS is never the best, and takes from a second to minutes."""

BLAS = ("float32", "float64", "complex64", "complex128")
"""Types that NumPy multiplies by BLAS."""


def numpy_ways(case: Case, operands: Sequence[Array], output: Array) -> Iterator[Way]:
    """Yield the ways to write a case; what writes into `output` returns it."""
    if case.is_permutation:
        view = operands[0].transpose([case.terms[0].index(label) for label in case.terms[1]])
        yield "copyto", lambda: _copied(output, view)
        return
    yield from _einsums(case, operands, output)
    if any(len(set(term)) < len(term) for term in case.terms):
        return
    if len(operands) == 1:
        yield from _sums(case, operands[0], output)
    if len(operands) == 2 and not (set(case.terms[0]) ^ set(case.terms[1])) - set(case.terms[2]):
        yield from _products(case, operands, output)


def _einsums(case: Case, operands: Sequence[Array], output: Array) -> Iterator[Way]:
    wanted: Any = "greedy" if case.path is None else ["einsum_path", *case.path]
    path = np.einsum_path(case.lettered, *operands, optimize=wanted)[0]
    yield "einsum", lambda: np.asarray(np.einsum(case.lettered, *operands, optimize=path))
    if len(operands) > 2:
        yield "opt_einsum", _contracted(case, operands)
    if case.path is not None and find_spec("cotengra") is not None:
        yield "cotengra", _contracted_by_cotengra(case, operands)
    # With `out` it leaves BLAS for the last step, which helps where BLAS does not.
    if case.flops <= LARGE_FLOPS or case.dtype not in BLAS:
        yield "einsum with out", lambda: np.einsum(case.lettered, *operands, out=output, optimize=path)
    if case.flops <= PLAIN_FLOPS * sum(operand.size for operand in operands):
        yield "einsum without a path", lambda: np.einsum(case.lettered, *operands, out=output)


def _contracted(case: Case, operands: Sequence[Array]) -> Callable[[], Array]:
    expression: Any = opt_einsum.contract_expression(case.equation, *case.shapes[:-1], optimize=case.optimize)
    return lambda: expression(*operands)


def _contracted_by_cotengra(case: Case, operands: Sequence[Array]) -> Callable[[], Array]:
    """cotengra's own contraction along the path: its einsum is made of matrix products."""
    trees: Any = import_module("cotengra").ContractionTree
    *inputs, output = map(tuple, case.terms)
    contractor = trees.from_path(inputs, output, case.sizes, path=case.path).get_contractor()
    return lambda: contractor(*operands)


def _sums(case: Case, operand: Array, output: Array) -> Iterator[Way]:
    source, target = case.terms
    if "".join(label for label in source if label in target) == target:
        axes = tuple(axis for axis, label in enumerate(source) if label not in target)
        yield "sum", lambda: np.sum(operand, axis=axes, out=output)


def _products(case: Case, operands: Sequence[Array], output: Array) -> Iterator[Way]:
    first, second, out = case.terms
    summed = [label for label in first if label in second and label not in out]
    if not set(first) & set(second) & set(out):
        axes = tuple(first.index(label) for label in summed), tuple(second.index(label) for label in summed)
        left = "".join(label for label in first + second if label not in summed)
        order = [left.index(label) for label in out]
        yield "tensordot", lambda: _copied(output, np.tensordot(operands[0], operands[1], axes).transpose(order))
    for rows, columns in ((0, 1), (1, 0)):
        yield "matmul", _matmul(case, operands, output, rows, columns, summed)


def _matmul(
    case: Case, operands: Sequence[Array], output: Array, rows: int, columns: int, summed: Sequence[str]
) -> Callable[[], Array]:
    """A product of stacks of matrices: views where reshaping allows it, else copies at every call.

    `rows` and `columns` are the positions of the operands that give the result's rows and columns.
    """
    out, others = case.terms[2], (case.terms[rows], case.terms[columns])
    stacked = [label for label in out if label in others[0] and label in others[1]]
    kept = [[label for label in out if label in term and label not in stacked] for term in others]

    def matrices(array: Array, term: str, left: Sequence[str], right: Sequence[str]) -> Array:
        view = array.transpose([term.index(label) for label in (*stacked, *left, *right)])
        sizes = [math.prod(case.sizes[label] for label in group) for group in (left, right)]
        return view.reshape([*(case.sizes[label] for label in stacked), *sizes])

    def factors() -> tuple[Array, Array]:
        left = matrices(operands[rows], others[0], kept[0], summed)
        return left, matrices(operands[columns], others[1], summed, kept[1])

    def in_place() -> Array:
        np.matmul(*factors(), out=place)
        return output

    def copied() -> Array:
        np.copyto(target, np.matmul(*factors()).reshape(target.shape))
        return output

    place = matrices(output, out, *kept)
    target = output.transpose([out.index(label) for label in (*stacked, *kept[0], *kept[1])])
    return in_place if np.shares_memory(place, output) else copied


def _copied(output: Array, view: Array) -> Array:
    np.copyto(output, view)
    return output
