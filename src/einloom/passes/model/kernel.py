"""Cycles of the primitives, from what their inner loops issue.

A tile of v vectors times c columns takes v * c multiply-adds a step, two a cycle, and loads v vectors and c elements,
two a cycle; a tile of too few accumulators waits for the latency of one. Its end adds C and stores it. The constants
are those by which kernels choose their tiles (`kernels/contraction/tiles.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

__all__ = ["CALL", "Tiling", "copy_cycles", "tiling_of"]

FMAS = LOADS = 2
"""Multiply-adds and loads that start in a cycle."""

LATENCY = 5
"""Cycles from one multiply-add to the next one on the same register."""

TILE = 18
"""Cycles of a tile besides its products: fill and drain, addresses, a mispredicted branch."""

CALL = 12
"""Cycles of a call in a nest: moving pointers, the loop's branch, entering and leaving."""

SETS = 4
"""Copies of a small tile's accumulators over which a sum is distributed, at most."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """How a primitive cuts a block: tiles of `m` times `n` sums; the cycles of all with everything in L1."""

    m: int
    n: int
    cycles: float


@lru_cache(4096)
def tiling_of(m: int, n: int, k: int, lanes: int, registers: int, strided: bool = False) -> Tiling:
    """Return the tiles of a contraction of m x n sums of k products each that take the fewest cycles.

    Args:
        m, n, k: the sizes; m is vectorised.
        lanes: elements of a vector.
        registers: vector registers.
        strided: whether the vector operand must be gathered, element by element.
    """
    vectors = -(-m // lanes)
    found = []
    for rows in range(1, min(vectors, 6 if registers == 32 else 3) + 1):
        columns = min((registers - (2 if registers == 32 else 1) - rows) // rows, n)
        if columns < 1:
            break
        columns = -(-n // -(-n // columns))
        tiles = [(h, w, d * a) for h, d in _parts(vectors, rows) for w, a in _parts(n, columns)]
        cycles = sum(count * _tile(h, w, k, lanes, registers, strided) for h, w, count in tiles)
        found.append(Tiling(rows * lanes, columns, cycles))
    return min(found, key=lambda tiling: tiling.cycles)


def _tile(rows: int, columns: int, k: int, lanes: int, registers: int, strided: bool) -> float:
    sums = rows * columns
    sets = max(min(SETS, (registers - rows - 2) // sums), 1)
    loads = (rows * (lanes if strided else 1) + columns) / LOADS
    step = max(sums / FMAS, loads, LATENCY / sets)
    return step * k + sums * (1 + (sets - 1) / FMAS) + TILE


def _parts(size: int, step: int) -> list[tuple[int, int]]:
    whole, rest = divmod(size, step)
    return [(length, count) for length, count in ((step, whole), (rest, 1)) if length and count]


def copy_cycles(elements: float, run: int, lanes: int) -> float:
    """Return the cycles of a copy in L1.

    Args:
        elements: all of them.
        run: how many of them follow each other in both places; 1: vectors are transposed in registers.
        lanes: elements of a vector.
    """
    if run == 1:
        return elements / lanes * TRANSPOSED
    return elements / run * (-(-run // lanes) + RUN)


TRANSPOSED = 4.0
"""Cycles of a vector that is transposed on the way."""

RUN = 2.0
"""Cycles of a run besides its vectors."""
