"""Grouped operands: neighbours along the primitive's k side by side, as instructions want them that sum their products.

In a packed block the digits of k count groups, and a last group that k ends inside of is filled up with zeros. An
operand that lies so already, contiguous along k, may be read in place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from einloom.errors import ScheduleError
from einloom.ir.blocks import cut
from einloom.ir.copies import ROWS, Level, block_of, copy_loops, copy_runs, levels_of
from einloom.ir.fused import Part
from einloom.ir.layout import PackedLayout
from einloom.ir.nest import Access, Block, Call, Loop, Node, Pack
from einloom.ir.operation import Primitive
from einloom.ir.schedule import OUTPUT, ExecType, ScheduledPack

__all__ = ["grouped_copy", "grouped_in_place", "in_groups"]


def in_groups(spans: dict[str, int], pack: ScheduledPack, k: str | None, operand: str) -> dict[str, int]:
    """Return the extents of a packed block with k counted in groups.

    Raises:
        ScheduleError: the primitive takes no k, or the block has none.
    """
    if k is None or k not in spans or pack.operand == OUTPUT:
        raise ScheduleError(f"pack of {operand} in groups of {pack.grouped}: the primitive takes no k of it")
    if sum(digit.axis == k for digit in pack.layout) != 1:
        raise ScheduleError(f"pack of {operand} in groups of {pack.grouped}: its layout has one digit of {k}")
    return spans | {k: -(-spans[k] // pack.group)}


def grouped_in_place(strides: tuple[int, ...], lengths: tuple[int, ...], group: int, operand: str) -> tuple[int, ...]:
    """Return the strides of an operand that is read in place: along k from one group to the next.

    Raises:
        ScheduleError: its elements do not lie in groups.
    """
    m, n, k, batch = strides
    if k != 1 or any(length % group for length in lengths) or any(stride % group for stride in (m, n, batch)):
        raise ScheduleError(
            f"{operand} does not lie in groups of {group} along k: strides {strides}, {lengths[0]} indices\n  Pack it."
        )
    return m, n, group, batch


def grouped_copy(
    pack: ScheduledPack,
    layout: PackedLayout,
    lengths: Mapping[str, tuple[int, ...]],
    strides: Mapping[str, int],
    parts: Mapping[str, tuple[Part, ...]],
    k: str,
    scratch: str,
) -> Pack:
    """Return the copy of a tensor into a packed block of groups: loops around a primitive that takes all of k.

    Args:
        pack: what is copied.
        layout: of the packed block, in groups.
        lengths: how long the packed blocks of each axis are, in elements, the longest first.
        strides, parts: of the tensor, as for `levels_of`.
        k: the axis of the groups.
        scratch: name of the packed block's buffer.

    Raises:
        ScheduleError: k is walked as one of several parts there.
    """
    group, tensor = pack.group, f"in{pack.operand}"
    if k in parts:
        raise ScheduleError(f"pack of {tensor} in groups of {pack.grouped}: {k} is no single axis there")
    counted = {**lengths, k: tuple(-(-length // group) for length in lengths[k])}
    levels = levels_of(layout, counted, strides, parts)
    groups = next(level for level in levels if level.axis == k)
    others = [level for level in levels if level is not groups]
    runs = copy_runs(others)[:1]
    loops = [others[index] for index in copy_loops(others, runs[0] if runs else ())]
    few, *rest = cut(lengths[k], _rows_at_once(loops, lengths[k], strides[k], group))
    if runs:
        first, across = others[runs[0][0]], block_of(others, runs[0])
        outside, inside = first.outside, first.inside * group
    else:
        across, outside, inside = Block(None, 1), 0, 0
    accesses = Access(tensor, (outside, strides[k])), Access(scratch, (inside, groups.inside * group))
    along = Block(k, few, tuple(rest))
    body: tuple[Node, ...] = (Call(Primitive.IDENTITY, (across, along), accesses, group=group),)
    for number, level in enumerate(loops):
        body = (replace(level, inside=level.inside * group).loop(str(number), tensor, scratch, body),)
    longest, *shorter = lengths[k]
    if few < longest:
        moves = ((tensor, few * strides[k]), (scratch, few * groups.inside))
        body = (Loop(f"{tensor}.{k}", k, ExecType.SEQ, few, longest, tuple(shorter), moves, body),)
    return Pack(scratch, tensor, body)


def _rows_at_once(loops: Sequence[Level], lengths: tuple[int, ...], stride: int, group: int) -> int:
    """Return how much of k is copied for all panels before the next of it: a few rows where those lie far apart.

    Panel after panel would come back to every row for a line of it (see `few_rows_at_once`).
    """
    apart = any(abs(level.outside) < abs(stride) for level in loops)
    return ROWS * group if apart else max(lengths)
