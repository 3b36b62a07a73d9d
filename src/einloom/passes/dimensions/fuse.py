"""Dimension fusion: small dimensions take in others that lie behind them."""

from __future__ import annotations

from dataclasses import replace

from einloom.ir.operation import Operation
from einloom.ir.schedule import Prims, Schedule
from einloom.passes.dimensions.dimension import Dimension, from_dimensions, listed, to_dimensions
from einloom.passes.fuse import JOINT
from einloom.passes.values import Context, Pass, State

__all__ = ["FUSE_DIMENSIONS", "fuse_dimensions"]


def fuse_dimensions(dimensions: list[Dimension], least: int) -> list[Dimension]:
    """Return the dimensions where each of fewer than `least` indices took in all that it can.

    X takes in Y of its type and execution type if stride(Y) = |X| * stride(X) holds in every operand.

    before: c1:8 c0:4       (in0 c1=1 c0=8, out c1=1 c0=8; least 16)
    after:  c0*c1:32
    """
    left = list(dimensions)
    position = 0
    while position < len(left):
        if left[position].size < least:
            grown, taken = _grown(left[position], left)
            left[position] = grown
            left = [dimension for dimension in left if dimension not in taken]
            position = left.index(grown)
        position += 1
    return left


def _grown(inner: Dimension, others: list[Dimension]) -> tuple[Dimension, list[Dimension]]:
    """The dimension with all that it can take in, one after the other in the order of the list, and these."""
    taken: list[Dimension] = []
    for other in others:
        if _fits(other, inner):
            inner = replace(inner, name=f"{other.name}{JOINT}{inner.name}", size=inner.size * other.size)
            taken.append(other)
    return inner, taken


def _fits(outer: Dimension, inner: Dimension) -> bool:
    same = outer.role is inner.role and outer.kind is inner.kind
    return same and outer.name != inner.name and all(a == inner.size * b for a, b in zip(outer.strides, inner.strides))


def _apply(operation: Operation, schedule: Schedule, context: Context) -> State:
    least = context.options.min_kernel_size or 1
    dimensions = fuse_dimensions(to_dimensions(operation, schedule), least)
    return from_dimensions(operation, dimensions, Prims())


def _explain(before: State, after: State, context: Context) -> str:
    least = context.options.min_kernel_size
    return f"{listed(to_dimensions(*after))}: " + (
        f"small is below {least}" if least else "no smallest size is asked for"
    )


FUSE_DIMENSIONS = Pass("fuse", _apply, _explain)
