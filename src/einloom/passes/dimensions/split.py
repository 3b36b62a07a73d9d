"""Dimension splitting: what exceeds a kernel becomes two dimensions.

The inner one is as long as a kernel may be, and for m and n a multiple of what kernels like: 16, 12, 8 or 2 indices of
m, 4 or 2 of n. A size without such a divisor stays whole.
"""

from __future__ import annotations

from dataclasses import replace

from einloom.ir.operation import DimType, Operation
from einloom.ir.schedule import ExecType, Prims, Schedule
from einloom.passes.dimensions.dimension import Dimension, from_dimensions, listed, to_dimensions
from einloom.passes.values import Context, Pass, State

__all__ = ["SPLIT_DIMENSIONS", "best_split", "split_dimensions"]

DIVISORS = {DimType.M: (16, 12, 8, 2), DimType.N: (4, 2)}
"""What the inner part is a multiple of, the best first; elsewhere any size does."""


def split_dimensions(dimensions: list[Dimension], most: int, least: int | None = None) -> list[Dimension]:
    """Return the dimensions where none that can be split has more than `most` indices.

    Outer parts are sequential and stand at the end of the list, where they may be split again.

    before: m0:1600              (most 1024)
    after:  m0:800 m0.1:2
    """
    left = list(dimensions)
    for position, dimension in enumerate(left):  # The list grows while it is walked.
        outer, inner = best_split(dimension.size, dimension.role, most, least)
        if dimension.size > most and outer > 1:
            left[position] = replace(dimension, size=inner)
            strides = tuple(stride * inner for stride in dimension.strides)
            left.append(Dimension(f"{dimension.name}.1", dimension.role, ExecType.SEQ, outer, strides))
    return left


def best_split(size: int, role: DimType, most: int, least: int | None = None) -> tuple[int, int]:
    """Return the sizes of the outer and the inner part; (1, size) where there is no split.

    >>> best_split(1600, DimType.M, 1024), best_split(1600, DimType.M, 1024, 16), best_split(1600, DimType.M, 48, 16)
    ((2, 800), (20, 80), (50, 32))
    """
    for divisor in DIVISORS.get(role, (1,)):
        for inner in range(most // divisor * divisor, 0, -divisor):
            outer = size // inner
            if size % inner == 0 and min(outer, inner) >= max(least or 1, 2):
                return outer, inner
    return 1, size


def _apply(operation: Operation, schedule: Schedule, context: Context) -> State:
    most = context.options.max_kernel_size
    if most is None:
        return operation, schedule
    dimensions = split_dimensions(to_dimensions(operation, schedule), most, context.options.min_kernel_size)
    return from_dimensions(operation, dimensions, Prims())


def _explain(before: State, after: State, context: Context) -> str:
    most = context.options.max_kernel_size
    if most is None:
        return "no: no largest kernel is asked for"
    return f"{listed(to_dimensions(*after))}: kernels take at most {most} indices of a dimension"


SPLIT_DIMENSIONS = Pass("split", _apply, _explain)
