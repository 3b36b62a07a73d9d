"""How many rows of the vector operand are read at once, where they are read as they lie in the tensor.

Processors follow a few rows at a time, and translation buffers hold the pages of some more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from einloom.ir.operation import Axis
from einloom.passes.contraction.blocks.sides import Sides
from einloom.passes.contraction.plan import Plan
from einloom.passes.model.sizes import equal_block
from einloom.passes.model.traffic import FOLLOWED

__all__ = ["lie_apart", "rows_in_place", "rows_of_turned"]

MANY_COLUMNS = 64
"""Columns from which on computing with rows hides reading them, however many are read at once (measured: with 32, 50
rows took 1.05 times as long as 25)."""

PAGE = 4096
"""Bytes of a page."""

PAGES = 144
"""Pages of rows that are read side by side at most: translation buffers hold them beside those of the output."""

NEAR_PAGES = 80
"""The same of plans of few steps, about what the first translation buffer holds: 72 rows, 36 at a time, took 1.02 to
1.06 times as long as at once, 84 took 0.9 to 1.0, 128 took 0.85."""


def rows_in_place(sides: Sides, taken: Sequence[Axis]) -> dict[str, int]:
    """Return few steps along the first axis that the primitive sums, where tiles come back to rows much later."""
    return _few_rows(taken[:1], FOLLOWED) if _comes_back(sides) else {}


def rows_of_turned(sides: Sides, plan: Plan, taken: Sequence[Axis]) -> dict[str, int]:
    """Return steps of what the primitive sums beside a block that is turned, where they are not all.

    Few where pages would be many.
    """
    pages = math.prod([-(-axis.extent // _together(sides, axis)) for axis in taken])
    if pages > PAGES:
        return _few_rows(taken, _rows_at_once(sides, plan))
    return _few_rows(taken, NEAR_PAGES) if plan.few_steps and pages > NEAR_PAGES else {}


def lie_apart(sides: Sides) -> bool:
    """Whether rows of the vector operand lie in pages of their own: nothing reads on from one to the next."""
    k = next((axis for axis in sides.reduced if axis.name == sides.prims.k), None)
    return k is not None and _together(sides, k) == 1


def _comes_back(sides: Sides) -> bool:
    """Whether tiles come back to rows of the vector operand, for their rest or for further columns, much later."""
    prims, targets = sides.prims, sides.targets
    m, n, k = (sides.extents.get(name or "", 1) for name in (prims.m, prims.n, prims.k))
    return (m > targets.tile_m or n > targets.tile_n) and k > 2 * FOLLOWED


def _rows_at_once(sides: Sides, plan: Plan) -> int:
    """How many rows of many are read at once: in L1, with many columns, so many that ends of tiles hardly show."""
    waits = sides.b is None or sides.b.elements < MANY_COLUMNS
    return FOLLOWED if waits or sides.is_turned or plan.long_runs else max(FOLLOWED, sides.targets.long_sum)


def _few_rows(taken: Sequence[Axis], rows: int) -> dict[str, int]:
    """Return steps of what the primitive sums: at most so many rows of the vector operand."""
    steps: dict[str, int] = {}
    for axis in taken:
        steps[axis.name] = equal_block(axis.extent, max(rows, 1))
        rows //= steps[axis.name]
    return steps


def _together(sides: Sides, axis: Axis) -> int:
    """How many rows of the vector operand share a page: processors follow them as one."""
    return max(PAGE // max(abs(sides.a.strides[axis.name]) * sides.size, 1), 1)
