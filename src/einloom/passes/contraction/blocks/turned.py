"""Blocks where what is copied is the output alone, turned on its way out: inputs are read in long rows as they lie."""

from __future__ import annotations

import math
from collections.abc import Mapping

from einloom.passes.contraction.blocks.rows import lie_apart
from einloom.passes.contraction.blocks.shared import SharedSteps
from einloom.passes.contraction.blocks.steps import steps_and_tile
from einloom.passes.model.side import SideBlock

__all__ = ["turned_blocks"]

FEW_PARTS = 32
"""Up to so many parts of a sum are added to staged blocks that fill most of L2: more find too little of them there."""

TURNED_GROWTH = 2
"""How many times as large as otherwise a staged block may be for the sake of long rows of an input."""

PANEL_TILES = 3
"""Tiles of rows that lie apart that kernels take at a time: L1 keeps them for all columns."""


def turned_blocks(
    shared: SharedSteps, rows: int, columns: int, runs: Mapping[str, int]
) -> tuple[SideBlock, SideBlock | None]:
    """Return as many columns as stay near beside a tile, and rows as long as a staged block of them has room for.

    Kernels take all of a row for each few columns; of rows in pages of their own they take a few tiles.

    Args:
        shared: how far blocks reach along other axes.
        rows, columns: those of a tile.
        runs: how far blocks reach along some axes at least.
    """
    sides, plan = shared.sides, shared.plan
    staged, b, apart = _staged(shared), None, lie_apart(sides)
    if sides.b is not None:
        least = rows * math.prod([runs.get(axis.name, 1) for axis in sides.a.axes if axis.name != sides.prims.m])
        near = sides.targets.alone // math.prod(shared.steps.values())
        steps, _ = steps_and_tile(shared, sides.b, columns, max(min(near, staged // least), 1), runs)
        b = SideBlock(sides.b, False, steps, columns, plan.panels)
        staged //= b.size
    if plan.long_runs and sides.a.prim is not None and (sides.is_turned or apart):
        runs, staged = _with_long_rows(shared, sides.a.prim, runs, staged)
    steps, _ = steps_and_tile(shared, sides.a, rows, max(staged, 1), runs)
    if b is None or b.size <= b.tile or not apart:
        return SideBlock(sides.a, False, steps, rows, in_panels=False), b
    panel = PANEL_TILES * rows
    if sides.a.prim is not None and steps[sides.a.prim] > panel:
        steps[sides.a.prim] -= steps[sides.a.prim] % panel
    return SideBlock(sides.a, False, steps, panel, in_panels=True), b


def _staged(shared: SharedSteps) -> int:
    """Return how many elements a staged block may have of each product of a batch."""
    targets, long_runs = shared.sides.targets, shared.plan.long_runs
    if shared.sides.is_turned:
        longest = targets.sums if shared.parts > FEW_PARTS else targets.turned
        staged = longest if long_runs else targets.staged
    elif not long_runs:  # It leaves while the next one is computed.
        staged = targets.small
    elif shared.parts == 1 and math.prod([axis.extent for axis in shared.sides.reduced]) <= targets.k:
        staged = targets.resident
    else:  # Behind longer sums stores hardly show.
        staged = targets.sums if shared.parts > FEW_PARTS else targets.turned
    return staged // math.prod(shared.common.values())


def _with_long_rows(
    shared: SharedSteps, prim: str, runs: Mapping[str, int], staged: int
) -> tuple[Mapping[str, int], int]:
    """Let a block reach so far that rows are read in long pieces, if it need not grow much.

    Where they lie in pages of their own, and where the copy turns the block: what cuts rows that follow each other
    reads each of their lines' neighbours later (measured: 2.2 times as long for rows of 84 floats, cut in two).

    Returns how far it reaches at least along axes, and how many rows of elements it may have.
    """
    a, read, longer = shared.sides.a, shared.sides.targets.read, dict(runs)
    row = longer[prim] = shared.sides.extents[prim]
    for axis in sorted(a.axes, key=lambda axis: abs(a.strides[axis.name]))[1:]:
        if row >= read or abs(a.strides[axis.name]) != row:
            break
        longer[axis.name] = max(min(-(-read // row), axis.extent), longer.get(axis.name, 1))
        row *= axis.extent
    taken = math.prod([longer.get(axis.name, 1) for axis in a.axes])
    return (longer, max(taken, staged)) if taken <= TURNED_GROWTH * staged else (runs, staged)
