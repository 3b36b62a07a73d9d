"""Cycles of the primitives: those by which kernels choose their tiles, and those of copies.

`kernels/contraction/tiles.py` counts what a tile issues, `bands.py` cuts a product into tiles; a contraction costs here
what it reckons with there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from einloom.kernels.contraction import bands
from einloom.kernels.contraction.tiles import PLAIN, Fragment, Neighbours, decisive, plain_demands
from einloom.machine import VectorISA

__all__ = ["CALL", "MOVE", "Tiling", "copy_cycles", "tilings_of", "transposed_cycles"]

CALL, MOVE = 20, 12
"""Cycles of a call in a nest, of a product and of what only moves: pointers, the loop's branch, entering and leaving.

Most of that goes on while the products of the tile before are computed.
"""


class Tiling(NamedTuple):
    """How a primitive cuts a block: the first tile has `m` times `n` sums; the cycles of all with everything in L1."""

    m: int
    n: int
    cycles: float


@lru_cache(64)
def tilings_of(
    isa: VectorISA, size: int, fragments: tuple[Fragment, ...] = PLAIN, neighbours: Neighbours = None
) -> Callable[[int, int, int], Tiling]:
    """Return what says which tiles take the fewest cycles, of a contraction of m x n sums of k products each.

    Args:
        isa: the vector ISA; m is vectorised.
        size: of an element in bytes.
        fragments: how kernels fetch the inputs.
        neighbours: of what they broadcast.
    """
    lanes, demand = isa.bits // 8 // size, plain_demands(isa, size, fragments, neighbours)

    @lru_cache(1024)
    def about(m: int, n: int, steps: int) -> bands.Tiling:
        return bands.tiling_of(demand(m, n, steps))

    @lru_cache(1024)
    def tiling(m: int, n: int, k: int) -> Tiling:
        tiles = about(m, n, decisive(k))
        first = tiles.bands[0]
        return Tiling(first.vectors * lanes, first.columns, tiles.step * k + tiles.end)

    return tiling


def copy_cycles(elements: float, run: int, lanes: int) -> float:
    """Return the cycles of a copy in L1.

    Args:
        elements: all of them.
        run: how many of them follow each other in both places; 1: vectors are transposed in registers.
        lanes: elements of a vector.
    """
    if run == 1:
        return elements / lanes * exchanges(lanes)
    return elements / run * (-(-run // lanes) + RUN)


def transposed_cycles(elements: float, rows: int, columns: int, lanes: int, few: bool = False) -> float:
    """Return the cycles of a copy in L1 that transposes matrices of `rows` x `columns` in registers.

    In square blocks, or `few` rows or columns that follow each other vector by vector.
    """
    matrices = elements / (rows * columns)
    if few:
        return matrices * min(rows, columns) * -(-max(rows, columns) // lanes) * exchanges(lanes)
    blocks = matrices * -(-rows // lanes) * -(-columns // lanes)
    filled = min(rows, columns, lanes) / lanes
    return blocks * lanes * exchanges(lanes) * (EMPTY + (1 - EMPTY) * filled)


def exchanges(lanes: int) -> int:
    """Return the cycles of a vector that is transposed on the way: it takes part in so many exchanges with others."""
    return max(lanes.bit_length() - 1, 1)


EMPTY = 0.5
"""The share of a block's cycles that the smallest one takes as well."""

RUN = 2.0
"""Cycles of a run besides its vectors."""
