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

Where a panel with all of k is more than scratch holds, the vector operand is packed inside the loops over k.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from einloom.group_products import GROUP
from einloom.ir.operation import DimType, Operation
from einloom.ir.schedule import OUTPUT, Digit, Prims, Schedule, ScheduledLoop, ScheduledPack
from einloom.machine import Machine
from einloom.passes.identify import vector_operand
from einloom.passes.model.sizes import balanced_block, round_up
from einloom.passes.model.tiles import SCRATCH_LIMIT

__all__ = ["tiled_schedule"]

STEP = 16
"""Groups of k that tiles take at once."""

PANEL_SHARE = 0.8
"""The share of L1 that a panel of the vector operand takes."""

VECTOR_SHARE = 0.6
"""The share of L2 that a vector operand may take to stay there."""

ROWS_BESIDE, ROWS_ALONE, STAGED = 0.06, 0.14, 0.27
"""Shares of scratch: of the rows of the other operand beside a vector operand that stays in L2, of those that panels
from beyond L2 pass, which come the less often the more rows they meet, and of a staged block of the output.
"""

BLOCK, BLOCK_ONCE, AGAIN = 0.57, 0.2, 2
"""What a block of the vector operand may take of scratch: where other rows read it again; where all rows meet it at
once, which are packed for each block: it has at least so many times as many columns as they are.
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
    k, batch = extents[prims.k or ""], extents.get(prims.batch or "", 1)
    depth = k * batch * math.prod(extents[loop.axis] for loop in reduced)
    whole = GROUP * depth * width <= _room(BLOCK, machine)
    panel = k if whole and rows <= 2 * height else _panel(k, machine, width)
    sums = [*reduced, *_loop(prims.k, panel, k)]
    share = ROWS_BESIDE if GROUP * depth * columns <= VECTOR_SHARE * machine.l2 else ROWS_ALONE
    down = _cut(rows, _room(share, machine) // (GROUP * panel), height)
    room = _columns(depth if whole else panel * batch, down, down < rows, machine)
    if stages and sums:
        room = min(room, _room(STAGED, machine) // (GROUP * down))
    across = _cut(columns, room, width)
    loops = [*outer, *_loop(prims.m, across, columns)]
    packs = [_panels(counted, prims, vector, len(loops), width, reduced)] if whole else []
    loops += _loop(prims.n, down, rows)
    if stages and sums:
        packs.append(_staged(counted, prims, len(loops), width))
    loops += sums
    if not whole:
        packs.append(_panels(counted, prims, vector, len(loops), width, ()))
    if not in_place or across > (PANELS - 1) * width:
        packs.append(_rows(counted, prims, 1 - vector, len(loops)))
    return Schedule((*loops, *_loop(prims.m, width, across)), prims, tuple(packs))


def _columns(depth: int, down: int, again: bool, machine: Machine) -> int:
    """Return how many columns a block of the vector operand may have: `down` rows meet it, or others `again`."""
    most, once = (_room(share, machine) // (GROUP * depth) for share in (BLOCK, BLOCK_ONCE))
    return most if again else min(max(once, AGAIN * down), most)


def _room(share: float, machine: Machine) -> int:
    """Return the bytes of a share of scratch, which is twice L2 at most."""
    return int(share * min(2 * machine.l2, SCRATCH_LIMIT))


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


def _panels(
    counted: Operation, prims: Prims, position: int, depth: int, width: int, reduced: Sequence[ScheduledLoop]
) -> ScheduledPack:
    """Return the pack of the vector operand: panels of `width` columns, with all of what `reduced` loops over."""
    operand, m, k = counted.inputs[position], prims.m, prims.k or ""
    within = {prims.batch, *(loop.axis for loop in reduced)}
    summed = [axis.name for axis in counted.axes if axis.name in within and axis.extent > 1]
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
