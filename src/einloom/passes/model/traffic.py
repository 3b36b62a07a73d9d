"""What a schedule moves between the caches: lines and the pieces they come in, buffer by buffer.

The loops are walked from the inside out. Of every buffer and every cache it is asked: when the loop comes round
again, is what the last iteration touched still there? It is if all that one iteration touches has room. So

    fetched(buffer, loop) = fetched inside * (trips, where the cache forgets; else how much further the loop reaches)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from einloom.passes.model.buffers import CROWDED, share_forgotten
from einloom.passes.model.copied import copied_run, turned_run
from einloom.passes.model.flow import Flow
from einloom.passes.model.footprint import LINE, PAGE, Footprint
from einloom.passes.model.walk import Use

__all__ = ["FOLLOWED", "STREAMS", "Traffic", "traffic_of", "warm_traffic_of"]

OPEN = 48
"""Pieces next to each other that are written, each going on where it ended: as many pages as processors follow."""

TURNED = 4 * LINE
"""Bytes of the shortest transposed runs that are charged as passing the caches. Of shorter ones most lines may be cut,
and are read first, as those of ordinary stores are: they are charged as these."""

STREAMS = 16
"""Pieces next to each other that are read ahead, each beyond its end; also of what is written."""

FOLLOWED = 32
"""Rows that processors follow at once, each from tile to tile."""


class Traffic(NamedTuple):
    """Lines of one buffer that come from (or go) beyond each cache.

    Attributes:
        name: the operand, or `scratch of` it.
        lines: beyond L1, L2 and L3, in all.
        pieces: runs of lines for each line beyond L2, in the order in which they are touched.
        near: the same of lines from L2, where kernels read; 0 where nothing waits for them.
        writes: whether they are written as well as read.
        copies: whether a copy into or out of scratch moves them, not a kernel.
        asked: whether kernels have asked for them before they are copied or read.
        by_element: whether kernels read them element by element where they lie.
        streams: whether they pass the caches.
        again: the share of the written lines beyond L2 that have been written before.
    """

    name: str
    lines: tuple[float, ...]
    pieces: float
    near: float
    writes: bool = False
    copies: bool = False
    asked: bool = False
    by_element: bool = False
    streams: bool = False
    again: float = 0.0


def traffic_of(flow: Flow, kept: Sequence[float] = (0.0, 0.0, 0.0)) -> list[Traffic]:
    """Return what every buffer moves in a call for which the caches have `kept` a share of the tensors each."""
    found = [_tensor_traffic(flow, position, use, kept) for position, use in enumerate(flow.tensors)]
    for position, use in flow.scratch.items():
        gone = _overflows(flow, position, use)
        found.append(_scratch_traffic(flow, position, use, gone))
        if position in flow.held:
            found[position] = found[position]._replace(lines=(0.0, 0.0, 0.0), pieces=0.0)
        elif position != flow.output:
            found.append(_copied(flow, position, use, gone))
    return found


def warm_traffic_of(flow: Flow) -> list[Traffic]:
    """Return what every buffer moves in a call that finds what caches can hold of the tensors there."""
    return traffic_of(flow, flow.buffers.kept)


def _tensor_traffic(flow: Flow, position: int, use: Use, kept: Sequence[float]) -> Traffic:
    lines = use.fetched(flow.walk, flow.forgetting.lines_of(use), use.lines)
    packed, writes = position in flow.scratch, position == flow.output
    streams = packed and writes and _streams(flow)
    at = near = use.at[_streamed(flow, use) if streams else _touched(flow, position, use, writes)]
    if not writes and _is_crowded(flow, position):  # Each tile reads all anew, but what processors follow from L2 only.
        near = use.at[flow.tile]
        at = at if near.pieces <= FOLLOWED else near
    small = packed and flow.scratch[position].at[use.last].room <= flow.machine.l1d / 2
    copies = packed and not (writes and small)  # A small block leaves while the next one is computed.
    copies = copies or (flow.moves and not writes)
    pieces = at.pieces / at.lines
    by_element = position in flow.elements
    if by_element:  # A tile reads its rows side by side: each begins for itself, also where they join.
        pieces = max(pieces, min(use.at[-1].pieces / use.at[flow.tile].lines, 1.0))
    if flow.moves and not writes:
        pieces = _read_pieces(flow, use)
    if packed and not writes:  # A piece is waited for whether or not its ends are still there.
        pieces = min(flow.walk.runs[use.last] * at.pieces / max(lines[1], 1.0), 1.0)
    again = max(1 - use.lines[0] / lines[1], 0.0) if writes and lines[1] else 0.0
    lines = tuple([each - share * use.lines[0] for each, share in zip(lines, kept)])
    hidden = by_element and flow.vectors > 1 and flow.buffers.hides_elements
    near_pieces = 0.0 if hidden else near.pieces / near.lines
    kinds = writes, copies, position == flow.asked, by_element, streams, again
    return Traffic(flow.buffers.names[position], lines, pieces, near_pieces, *kinds)


def _streams(flow: Flow) -> bool:
    """Whether a staged block is charged as passing the caches: runs of lines; turned long ones of a large tensor."""
    size = flow.buffers.sizes[flow.output]
    if (run := copied_run(flow, flow.output)) > 1:
        return run * size >= LINE
    return flow.buffers.bytes[flow.output] > flow.machine.l2 and turned_run(flow) * size >= TURNED


def _goes_on(flow: Flow, position: int) -> bool:
    """Whether tiles read an input where it lies, each right behind what the last one has read."""
    prims, by_element = flow.schedule.prims, position in flow.elements
    along = flow.buffers.places.get((prims.n if by_element else prims.m) or "")
    return not (flow.moves or position in flow.packs) and flow.buffers.tensors[position].is_contiguous(along)


def _is_crowded(flow: Flow, position: int) -> bool:
    """Whether L1 cannot hold the vectors that one tile reads where they lie, since they fall into few sets.

    Of elements there are too few to wait for.
    """
    if flow.moves or position in flow.packs or position in flow.elements:
        return False
    tile = flow.tensors[position].at[flow.tile]
    return tile.room > max(flow.machine.l1d, CROWDED * LINE * tile.lines)


def _streamed(flow: Flow, use: Use) -> int:
    """Return the depth at which a tensor is streamed in pieces: one run goes on right behind the last one.

    Where caches have held what is written, its lines have to leave them first: all ends are waited for.
    """
    depth = use.last
    while depth and not flow.buffers.kept[-1] and use.at[depth].pieces == use.at[depth - 1].pieces == 1:
        depth -= 1
    return depth


def _touched(flow: Flow, position: int, use: Use, writes: bool) -> int:
    """Return the depth at which a tensor is touched in pieces: what it holds is there at once.

    Stores of one tile after the other go on along the output, and so may loads of elements; other loads wait for
    what a step needs.
    """
    depth = max(min(use.last, flow.tile) - writes, 0)
    goes_on, by_page = writes or _goes_on(flow, position), position not in flow.elements
    while goes_on and depth and _open(use.at[depth], use.at[depth - 1], by_page) <= OPEN:
        depth -= 1
    return depth


def _read_pieces(flow: Flow, use: Use) -> float:
    """Return the runs for each line that a permutation reads: as far as blocks go on where the last one ended.

    Processors read ahead beyond the end of a piece, and find it there if pieces are few; or if L2 still has what
    they read beyond its end when the next block begins. They do so in pages that they follow all the time, block
    after block, and some of them once behind pieces that are long enough to be noticed.
    """
    at, depth = use.at, min(use.last, flow.block)
    inner = at[depth]
    runs = inner.pieces / inner.lines
    follows = inner.pieces <= OPEN
    if not follows and inner.lines < flow.buffers.noticed * inner.pieces:
        return runs
    gone = flow.forgetting.lines_of(use)[1].shares
    for inside in range(depth, 0, -1):
        outer = at[inside - 1]
        lost = 0.0 if inner.pieces <= STREAMS else gone[inside]
        runs = lost * runs + (1 - lost) * outer.pieces / outer.lines
        if not follows or outer.pieces > inner.pieces:
            break
    return runs


def _scratch_traffic(flow: Flow, position: int, use: Use, overflows: list[float]) -> Traffic:
    """What kernels fetch of a packed block: what the copy has just written is still where it fits.

    A staged block nobody has written before: it is fetched once.
    """
    block, runs = use.at[use.first], flow.walk.runs[use.first]
    staged = position == flow.output
    lines: list[float] = []
    for gone, fetched in zip(overflows, use.fetched(flow.walk, flow.forgetting.lines_of(use), use.lines)):
        again = runs * max(fetched - block.lines * (1 - gone), 0.0)
        lines.append(max(again, block.lines) if staged else again)
    tile = use.at[min(flow.tile, use.last)]
    near = tile.pieces / tile.lines if _has_common_vectors(flow) and not staged else 0.0
    first = block.lines * max(runs * overflows[1], 1.0)  # The first part of each block's sum is added to nothing.
    added = max(1 - first / lines[1], 0.0) if staged and lines[1] else 0.0
    return Traffic(f"scratch of {flow.buffers.names[position]}", tuple(lines), 0.0, near, staged, again=added)


def _has_common_vectors(flow: Flow) -> bool:
    """Whether vectors run along an axis of both inputs, so that tiles read a part of each packed row."""
    m = flow.buffers.places.get(flow.schedule.prims.m or "")
    return m is not None and all(tensor.along(m) for tensor in flow.buffers.tensors)


def _copied(flow: Flow, position: int, use: Use, overflows: list[float]) -> Traffic:
    """What copies into a packed block move of it: a cache that no longer has the last block fetches its lines.

    L1 turns over with every panel; the others keep what is used until the end, if they can hold it.
    """
    block, again = use.at[use.first], flow.walk.runs[use.first] - 1
    gone = [flow.forgetting.lines[0].shares[use.first], *overflows[1:]]
    lines = tuple([block.lines * (1 + again * each) for each in gone])
    return Traffic(f"copies of {flow.buffers.names[position]}", lines, 0.0, 0.0, writes=True, copies=True)


def _overflows(flow: Flow, position: int, use: Use) -> list[float]:
    """Return the share of a packed block that each cache cannot hold beside what is touched until it is used again.

    That is the tensor's block; of a staged one, which goes to where passes the caches, all that computes it.
    """
    if flow.moves:
        return [gone.shares[use.first] for gone in flow.forgetting.lines_of(use)]
    room = flow.forgetting.bytes[use.first]
    if position != flow.output:
        room = use.at[use.first].room + flow.tensors[position].at[use.first].room
    return [share_forgotten(room, cache) for cache in flow.buffers.caches]


def _open(inner: Footprint, outer: Footprint, by_page: bool) -> float:
    """Return at how many places a block goes on that lies in a larger one; `by_page` at one in each page at most."""
    inside = min(inner.pieces, outer.pieces + outer.lines * LINE / PAGE) if by_page else inner.pieces
    return max(inside, outer.pieces)
