"""The nest of matrix tiles, k counted in groups.

Tiles compute faster than the second-level cache is read: a panel of the vector operand stays in the first-level one,
which bounds k, while many rows of the other operand pass. These are packed where several panels meet them: tiles read
whole lines, of which rows that begin anywhere in one take two each. Copies wait for memory while nothing is computed,
so each operand is packed as rarely as can be: a block of the vector operand once with all of k, for as much of the
output as scratch has room for. Its panels follow each other in memory, which processors notice and fetch in time from
beyond L2:

    seq j:1600   pack the vector operand's block, all of k
      seq i:544    stage the output's block, if there are several of k
        seq l:544    pack the rows of the other operand
          seq j:32
            tiles of 32 x 32 sums
"""

from __future__ import annotations

import math

from einloom.group_products import GROUP
from einloom.ir.operation import DimType, Operation
from einloom.ir.schedule import OUTPUT, Digit, Prims, Schedule, ScheduledLoop, ScheduledPack
from einloom.machine import Machine
from einloom.passes.identify import vector_operand
from einloom.passes.model.sizes import balanced_block, round_up

__all__ = ["tiled_schedule"]

STEP = 16
"""Groups of k that tiles take at once."""

PANEL_SHARE = 0.8
"""The share of L1 that a panel of the vector operand takes."""

NEAR, ROWS_BESIDE, ROWS_ALONE = 0.6, 0.12, 0.28
"""Shares of L2: of a vector operand that stays there; of the rows of the other operand beside one, and of those that
panels from beyond L2 pass, which come the less often the more rows they meet.
"""

BLOCK, BLOCK_ONCE, STAGED, AGAIN = 4.0, 0.4, 2.0, 2
"""What a block of the vector operand may take, in multiples of L2: where other rows read it again; where all rows meet
it at once, which are packed for each block: it has at least so many times as many columns as they are. And what a
staged block of the output may take.
"""

PANELS = 3
"""Panels from which on the rows that meet them are packed."""


def tiled_schedule(
    counted: Operation, prims: Prims, tile: tuple[int, int], machine: Machine, in_place: bool, stages: bool
) -> Schedule:
    """Return the schedule of matrix tiles.

    Args:
        counted: the operation, k counted in groups.
        prims: the axes that the primitive takes.
        tile: sums along m and n that one microkernel holds.
        machine: the target.
        in_place: whether the operand that is not the vector operand may be read where it lies.
        stages: whether sums that are not complete may not stay in the output.
    """
    (width, height), vector = tile, vector_operand(counted, prims)
    extents = {axis.name: axis.extent for axis in counted.axes}
    columns, rows = (1 if name is None else extents[name] for name in (prims.m, prims.n))
    outer, reduced = _single_indices(counted, prims)
    k = extents[prims.k or ""]
    panel = _panel(k, machine, width) if rows > 2 * height else k
    sums = [*reduced, *_loop(prims.k, panel, k)]
    depth = k * math.prod(extents[loop.axis] for loop in reduced)
    share = ROWS_BESIDE if GROUP * depth * columns <= NEAR * machine.l2 else ROWS_ALONE
    down = _cut(rows, int(share * machine.l2) // (GROUP * panel), height)
    room = _columns(depth, down, down < rows, machine)
    if stages and sums:
        room = min(room, int(STAGED * machine.l2) // (GROUP * down))
    across = _cut(columns, room, width)
    loops = [*outer, *_loop(prims.m, across, columns)]
    packs = [_panels(counted, prims, vector, len(loops), width)]
    loops += _loop(prims.n, down, rows)
    if stages and sums:
        packs.append(_staged(counted, prims, len(loops), width))
    loops += sums
    if not in_place or across > (PANELS - 1) * width:
        packs.append(_rows(counted, prims, 1 - vector, len(loops)))
    return Schedule((*loops, *_loop(prims.m, width, across)), prims, tuple(packs))


def _columns(depth: int, down: int, again: bool, machine: Machine) -> int:
    """Return how many columns a block of the vector operand may have: `down` rows meet it, or others `again`."""
    most, once = (int(share * machine.l2) // (GROUP * depth) for share in (BLOCK, BLOCK_ONCE))
    return most if again else min(max(once, AGAIN * down), most)


def _panel(extent: int, machine: Machine, width: int) -> int:
    """Return how many groups of k a panel has that stays in L1."""
    most = int(PANEL_SHARE * machine.l1d) // (GROUP * width) // STEP * STEP
    return round_up(-(-extent // -(-extent // most)), STEP)


def _staged(counted: Operation, prims: Prims, depth: int, width: int) -> ScheduledPack:
    """Return the staging of the output, in panels of `width` columns."""
    m, axes = prims.m, [name for name in (prims.n, prims.m) if name is not None and counted.axis(name).extent > 1]
    panels = [Digit(m, width)] if m is not None and counted.axis(m).extent > width else []
    return ScheduledPack(OUTPUT, depth, (*panels, *map(Digit, axes)))


def _single_indices(counted: Operation, prims: Prims) -> tuple[list[ScheduledLoop], list[ScheduledLoop]]:
    """Return loops over the axes that the primitive lacks: those of the output, in its order, and reduced ones."""
    others = [axis for axis in counted.axes if axis.name not in prims.names and axis.extent > 1]
    ordered = counted.outermost_first(counted.output, others)
    kept = [ScheduledLoop(axis.name, 1) for axis in ordered if axis.role is not DimType.K]
    return kept, [ScheduledLoop(axis.name, 1) for axis in ordered if axis.role is DimType.K]


def _loop(name: str | None, step: int, extent: int) -> list[ScheduledLoop]:
    return [ScheduledLoop(name, step)] if name is not None and step < extent else []


def _cut(extent: int, target: int, multiple: int) -> int:
    """Return how far a block reaches along an axis that the primitive takes."""
    return max(min(balanced_block(extent, max(target, multiple), multiple), extent), 1)


def _panels(counted: Operation, prims: Prims, position: int, depth: int, width: int) -> ScheduledPack:
    """Return the pack of the vector operand: panels of `width` columns, with all of the reduced axes."""
    operand, m, k = counted.inputs[position], prims.m, prims.k or ""
    summed = [axis.name for axis in counted.axes if axis.role is DimType.K and axis.name != k and axis.extent > 1]
    digits = [Digit(name) for name in summed if counted.stride(operand, name)]
    extent = 1 if m is None else counted.axis(m).extent
    digits += [Digit(m, width)] if m is not None and extent > width else []
    digits += [Digit(k), *([Digit(m)] if m is not None and extent > 1 else [])]
    return ScheduledPack(position, depth, tuple(digits))


def _rows(counted: Operation, prims: Prims, position: int, depth: int) -> ScheduledPack:
    """Return the pack of the other operand: rows of k."""
    names = [name for name in (prims.batch, prims.n) if name is not None and counted.axis(name).extent > 1]
    digits = [Digit(name) for name in names if counted.stride(counted.inputs[position], name)]
    return ScheduledPack(position, depth, (*digits, Digit(prims.k or "")))
