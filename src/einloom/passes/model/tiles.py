"""Targets for block sizes: the microkernel's tile and how much of each cache a block may take.

Sizes follow the analysis behind GotoBLAS: a panel of one operand stays in L1 while a block of the other streams past it
from L2. Here the vector operand has the block in L2: its vectors are loads that caches serve well, and each is used for
a whole panel of the other operand's elements.

How deep that block is decides what comes from beyond L2. With blocks of k x n the other operand is read N / n times,
and the output, which weighs twice as much or more since it is written as well, K / k times. The sum is least at k = 2 n
or a little more; L1 hardly matters, since L2 keeps up with both panels.
"""

from __future__ import annotations

from math import isqrt
from typing import NamedTuple

from einloom.dtypes import DType
from einloom.kernels.contraction.tiles import PACES
from einloom.kernels.verbs.products import vectors_of
from einloom.machine import Machine

__all__ = ["BlockTargets", "block_targets"]

SCRATCH_LIMIT = 4 * 2**20
"""Most scratch that one thread may use, in bytes."""

READ_RUN = 1024
"""Bytes of a tensor that a copy should read in one piece: memory answers single cache lines at a quarter of its speed.
"""

DEEP = 2.5
"""How many times as deep as wide a block of the vector operand is: see above."""

WRITE_RUN = 2048
"""Bytes of the output that a staged block should write in one piece: both ends of a run are parts of cache lines."""


LONG = 16
"""How many times as long as the end of a tile, where its sums are added to the output, its products should take."""


class BlockTargets(NamedTuple):
    """Sizes that suit the caches and registers of a machine.

    Attributes:
        lanes: elements of a vector register.
        line: elements of a cache line.
        tile_m, tile_n: elements along the vector axis, and columns, of the microkernel.
        k: indices of the reduced axes in one block: so many that a block of the vector operand is `DEEP` times as deep
            as wide.
        k_inside: the same where a panel (tile_m x k) stays in L1.
        long_sum: products of a tile beside which its end is short (`LONG`).
        shared: elements of a block that lies in L3: what a streamed one leaves of the scratch.
        streamed: elements of the vector operand's block (L2 holds it, the panels beside it and the output's lines).
        resident: elements of the other operand's packed block beside it.
        alone: the same where the vector operand is not packed.
        read: elements that a copy should read in one piece.
        small: operands of at most this many elements are read in place: they stay in L1.
        staged: elements of a staged block of the output, and of the vector operand's block beside it (L2).
        sums: the same where several blocks of the sum are added to it.
        kept: elements of an operand that L2 keeps beside all else.
        turned: elements of a staged block of nothing but the output, where rows of an input are to be long.
        run: elements of the output that a staged block should write in one piece.
    """

    lanes: int
    line: int
    tile_m: int
    tile_n: int
    k: int
    k_inside: int
    long_sum: int
    shared: int
    streamed: int
    resident: int
    alone: int
    read: int
    small: int
    staged: int
    sums: int
    kept: int
    turned: int
    run: int


def block_targets(
    machine: Machine, dtype: DType, m: int, most: int | None = None, tile: tuple[int, int] | None = None
) -> BlockTargets:
    """Return the targets for contractions whose vector axis has `m` indices; panels have at most `most` of any axis.

    `tile` is the microkernel's, where it is not made of the machine's vectors.
    """
    lanes = vectors_of(machine.vectors, dtype).bits // (8 * dtype.size)
    needed = max(-(-m // lanes), 1)
    vectors = -(
        -needed // -(-needed // machine.vectors.widest_tile)
    )  # Panels of equal width: four vectors are two and two.
    accumulators = vectors_of(machine.vectors, dtype).registers - (8 if machine.registers == 32 else 4)
    tile_m, tile_n = (vectors * lanes, accumulators // vectors) if tile is None else tile
    streamed = min(SCRATCH_LIMIT // 4, machine.l2 * 5 // 16) // dtype.size
    k = max(isqrt(int(DEEP * streamed)), 16)
    k_inside = max(machine.l1d * 5 // 8 // (dtype.size * tile_m), 16)
    if most is not None:
        tile_m, tile_n, k, k_inside = (min(size, most) for size in (tile_m, tile_n, k, k_inside))
    return BlockTargets(
        lanes=lanes,
        line=64 // dtype.size,
        tile_m=tile_m,
        tile_n=tile_n,
        k=k,
        k_inside=k_inside,
        long_sum=round(LONG * PACES[machine.vectors.family].register * machine.vectors.fmas_per_cycle),
        shared=SCRATCH_LIMIT // dtype.size - streamed,
        streamed=streamed,
        resident=min(SCRATCH_LIMIT // 16, machine.l2 // 12) // dtype.size,
        alone=min(SCRATCH_LIMIT // 4, machine.l2 // 4) // dtype.size,
        read=READ_RUN // dtype.size,
        small=machine.l1d // 2 // dtype.size,
        staged=min(SCRATCH_LIMIT // 4, machine.l2 // 4) // dtype.size,
        sums=min(SCRATCH_LIMIT // 4, machine.l2 // 2) // dtype.size,
        kept=machine.l2 * 2 // 3 // dtype.size,
        turned=min(SCRATCH_LIMIT // 3, machine.l2 * 2 // 3) // dtype.size,
        run=WRITE_RUN // dtype.size,
    )
