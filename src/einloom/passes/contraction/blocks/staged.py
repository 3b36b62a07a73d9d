"""Blocks and tiles of the output that are computed in scratch: whether they may be, and how far they reach."""

from __future__ import annotations

import math

from einloom.ir.operation import DimType
from einloom.passes.contraction.blocks.rows import lie_apart
from einloom.passes.contraction.blocks.shared import SharedSteps
from einloom.passes.contraction.plan import BLOCKS, PRODUCTS, SUMS
from einloom.passes.model.footprint import LINE
from einloom.passes.model.side import Side
from einloom.passes.model.sizes import equal_part, nearest_multiple

__all__ = ["may_stage", "output_runs", "products_apart", "staged_budget", "tile_columns"]

TURNED_RUN = 256
"""Bytes of the output that a staged block writes in one piece, where inputs are read in long rows instead."""

FEWEST = 4
"""Columns of a tile that leaves: kernels of three or fewer take a tenth to twice as long for each."""


def may_stage(shared: SharedSteps) -> bool:
    """Whether what a plan stages is computed as a whole, from nothing; tiles want columns that follow each other."""
    sides, plan = shared.sides, shared.plan
    if not sides.operation.first_touch.initialises:
        return False
    if plan.staging is SUMS:
        if not plan.few_steps:
            return True
        return sides.is_turned and shared.adds_parts and lie_apart(sides)  # Else adding to lines takes longer.
    if (shared.parts > 1) is not shared.adds_products:
        return False
    if plan.staging is BLOCKS:
        return sides.prims.n is not None
    if plan.staging is PRODUCTS:
        return sides.prims.m is not None
    return _columns_follow(shared)


def _columns_follow(shared: SharedSteps) -> bool:
    """Whether L1 holds a tile of columns that follow each other in the output."""
    sides, m, n = shared.sides, shared.sides.prims.m, shared.sides.prims.n
    if m is None or n is None or sides.b is None or sides.b.prim != n or sides.a.prim != m:
        return False
    follow = sides.places[m] == 1 and sides.places[n] == sides.extents[m]
    return follow and sides.extents[m] * sides.targets.tile_n <= sides.targets.small


# ---- tiles that are staged alone ------------------------------------------------------------------------------------


def tile_columns(shared: SharedSteps, rows: int) -> int:
    """Return as many columns of a tile of `rows` as there is room for, and at least as many as hide latencies.

    About as many as fill whole lines: the ends of others are parts of lines, which leave by themselves.
    """
    sides = shared.sides
    run, near, extent = sides.tile_run // rows, _columns_near(shared, rows), sides.extents[sides.prims.n or ""]
    columns = equal_part(extent, run) if run >= near else min(equal_part(extent, near), near)
    whole = LINE // math.gcd(LINE, rows * sides.size)
    return min(nearest_multiple(columns, whole) or columns, extent)


def _columns_near(shared: SharedSteps, rows: int) -> int:
    """Return the columns of the microkernel, or as many fewer as L1 holds beside what they read, if these do.

    It holds two tiles, since the one before leaves while kernels compute. Where it has not even room for the fewest
    columns but one, rows come from L2, once for all columns.
    """
    summed, targets = shared.summed, shared.sides.targets
    near = (2 * targets.small - summed * rows) // (2 * rows + summed)
    return targets.tile_n if near < FEWEST - 1 else min(max(near, FEWEST), targets.tile_n)


# ---- staged blocks --------------------------------------------------------------------------------------------------


def output_runs(shared: SharedSteps) -> dict[str, int]:
    """Return how far a staged block reaches along the axes that are closest in the output, for runs of many lines."""
    steps: dict[str, int] = {}
    if shared.plan.staging not in (BLOCKS, SUMS):
        return steps
    sides = shared.sides
    run = TURNED_RUN // sides.size if shared.turns_output else sides.targets.run
    for axis in reversed(sides.written):
        if axis.role is DimType.K:
            continue
        length = math.prod(steps.values())
        steps[axis.name] = equal_part(axis.extent, max(run // length, 1))
        if steps[axis.name] < axis.extent:
            break
    return steps


def staged_budget(shared: SharedSteps) -> int:
    """Return how many elements a staged block may have: the more, the less often inputs of long sums are packed."""
    return shared.sides.targets.sums if shared.adds_parts else shared.sides.targets.staged


def products_apart(shared: SharedSteps, side: Side) -> int:
    """Return how many products a staged block has of which kernels and copies see one operand at a time."""
    if shared.plan.staging is not PRODUCTS or not shared.plan.long_runs or shared.counting is None:
        return 1
    return shared.common[shared.counting.name] if not shared.packs(side) or shared.is_alone(side) else 1
