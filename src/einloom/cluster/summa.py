"""One contraction distributed over a grid of ranks: SUMMA, and 2.5D for more than one layer.

Every rank multiplies panels: for some of the summed indices, the part of the first operand that its row needs with the
part of the second that its column needs. Whoever has a panel broadcasts it along the row or the column, without
waiting: the next panel is on its way while one is multiplied. Layers multiply panels of their own; their sums are added
along a binary tree.
"""

# pyright: standard
# mpi4py's types are unknown where it is not installed.

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any

import numpy as np

from einloom.api import einsum
from einloom.arrays.library import Array, incoming
from einloom.cluster.distribution import Distribution, Panel, divided
from einloom.cluster.on_mpi import agreed
from einloom.cluster.peers import check_peers, this_peer
from einloom.cluster.watch import watched
from einloom.errors import ArgumentError, ShapeError
from einloom.plan.slices import first_half

__all__ = ["compute_on_grid"]

LONG = 5e10
"""Floating-point operations of a rank that take about a second: then it is watched."""

PIECES = 4
"""Parts of a panel's product between which messages are helped along."""


def compute_on_grid(distribution: Distribution, blocks: list[Any], comm: Any) -> Array:
    """Return this rank's block of the result; every rank calls this with its blocks of the operands.

    Raises:
        ArgumentError: another number of ranks, or other distributions on some.
        ShapeError: a block has another shape than the distribution says.
        UnsupportedTarget: a rank would compute other bits.
    """
    check_peers({f"rank {i}": peer for i, peer in enumerate(comm.allgather(this_peer()))}, comm.bcast(this_peer()))
    arrays = agreed(comm, lambda: _checked(distribution, blocks, comm), "accept their blocks")
    types = comm.allgather((distribution, [array.dtype.str for array in arrays]))
    differ = [rank for rank, each in enumerate(types) if each != types[0]]
    if differ:
        raise ArgumentError(f"rank {differ[0]} has another distribution or other types than rank 0: {types[differ[0]]}")
    is_long = 2 * math.prod(distribution.sizes.values()) / comm.size > LONG
    with watched(comm, f"einsum {distribution.equation}") if is_long else nullcontext():
        return _Grid(distribution, arrays, comm).result()


def _checked(distribution: Distribution, blocks: list[Any], comm: Any) -> list[Array]:
    if comm.size != distribution.ranks:
        raise ArgumentError(f"the distribution is for {distribution.ranks} ranks, and there are {comm.size}")
    if len(blocks) != 2:
        raise ArgumentError(f"a distribution is of two operands, and {len(blocks)} blocks were given")
    arrays = [np.ascontiguousarray(incoming(block, f"block {i}").array) for i, block in enumerate(blocks)]
    common = np.result_type(*arrays)
    for operand, array in enumerate(arrays):
        wanted = tuple(part.stop - part.start for part in distribution.block(operand, comm.rank))
        if array.shape != wanted:
            raise ShapeError(
                f"block {operand} of rank {comm.rank} has shape {array.shape}, not {wanted}\n"
                f"  {distribution.equation}\n  Pass operand[distribution.block({operand}, {comm.rank})]."
            )
    return [array.astype(common, copy=False) for array in arrays]


class _Grid:
    """This rank in the grid: its blocks, its neighbours in its row, its column and its pile of layers."""

    def __init__(self, distribution: Distribution, blocks: list[Array], comm: Any) -> None:
        self.distribution, self.blocks = distribution, blocks
        self.layer, self.row, self.column = distribution.place(comm.rank)
        rows, columns = distribution.grid
        self.of_row = comm.Split(self.layer * rows + self.row, self.column)
        self.of_column = comm.Split(self.layer * columns + self.column, self.row)
        self.pile = comm.Split(self.row * columns + self.column, self.layer)
        first, second, result = distribution.terms
        m, _, k = distribution.labels
        self.axes = [first.index(k), second.index(k)]
        self.m_axis, self.m_result = first.index(m), result.index(m)

    def result(self) -> Array:
        """Return this rank's block of the result."""
        panels = self.distribution.panels(self.layer)
        total = np.zeros(self._shape(), self.blocks[0].dtype)
        coming = self._sent(panels[0]) if panels else None
        for number in range(len(panels)):
            assert coming is not None
            (parts, requests) = coming
            for request in requests:
                request.Wait()
            coming = self._sent(panels[number + 1]) if number + 1 < len(panels) else None
            self._multiply(parts, total, [] if coming is None else coming[1])
        for comm in (self.of_row, self.of_column):
            comm.Free()
        return self._added(total)

    def _shape(self) -> list[int]:
        """The shape of the result that all layers of this row and column have a part of."""
        distribution, rank = self.distribution, self.row * self.distribution.grid[1] + self.column
        m, _, _ = distribution.labels
        shape = [part.stop - part.start for part in distribution.block(2, rank)]
        whole = divided(distribution.sizes[m], distribution.grid[0])[self.row]
        shape[self.m_result] = whole.stop - whole.start
        return shape

    def _sent(self, panel: Panel) -> tuple[list[Array], list[Any]]:
        """Send or ask for the parts of a panel; return them, to be read when the requests are done."""
        owners, comms = (panel.column, panel.row), (self.of_row, self.of_column)
        parts, requests = list[Array](), list[Any]()
        for operand in range(2):
            comm, owner, axis = comms[operand], owners[operand], self.axes[operand]
            part = self._part(operand, panel, owner if comm.rank == owner else None)
            if comm.size > 1:
                part = np.ascontiguousarray(part) if comm.rank == owner else part
                requests.append(comm.Ibcast(_as_bytes(part), root=owner))
            assert part.shape[axis] == panel.stop - panel.start
            parts.append(part)
        return parts, requests

    def _part(self, operand: int, panel: Panel, owner: int | None) -> Array:
        """Return a panel's part of an operand: a view of the own block, or room for what comes."""
        block, axis = self.blocks[operand], self.axes[operand]
        if owner is None:
            shape = [*block.shape]
            shape[axis] = panel.stop - panel.start
            return np.empty(shape, block.dtype)
        summed = self.distribution.layer_range(self.layer)
        begin = divided(summed.stop - summed.start, self.distribution.grid[1 - operand])[owner].start
        places = [slice(None)] * block.ndim
        places[axis] = slice(panel.start - begin, panel.stop - begin)
        return block[tuple(places)]

    def _multiply(self, parts: list[Array], total: Array, requests: list[Any]) -> None:
        """Add the product of a panel, and help messages along meanwhile."""
        for piece in divided(total.shape[self.m_result], PIECES if requests else 1):
            first = parts[0][(slice(None),) * self.m_axis + (piece,)]
            part = total[(slice(None),) * self.m_result + (piece,)]
            if part.size:
                einsum(self.distribution.equation, first, parts[1], out=part, beta=1)
            for request in requests:
                request.Test()

    def _added(self, total: Array) -> Array:
        """Return this layer's part of the sums of all layers."""
        layers = self.pile.size
        parts = [
            np.ascontiguousarray(total[(slice(None),) * self.m_result + (piece,)])
            for piece in divided(total.shape[self.m_result], layers)
        ]
        if layers == 1:
            return parts[0]
        own = self.pile.rank
        found = [parts[own] if layer == own else np.empty_like(parts[own]) for layer in range(layers)]
        others = [layer for layer in range(layers) if layer != own]
        requests = [self.pile.Irecv(_as_bytes(found[layer]), source=layer) for layer in others]
        requests += [self.pile.Isend(_as_bytes(parts[layer]), dest=layer) for layer in others]
        for request in requests:
            request.Wait()
        self.pile.Free()
        return _folded(found)


def _as_bytes(array: Array) -> Array:
    """Return the memory of a contiguous array as MPI takes it of every type, also of those that it has no name for."""
    return array.reshape(-1).view(np.uint8)


def _folded(arrays: list[Array]) -> Array:
    """Add arrays along a binary tree that their number decides."""
    if len(arrays) == 1:
        return arrays[0]
    half = first_half(len(arrays))
    return np.add(_folded(arrays[:half]), _folded(arrays[half:]))
