"""Which steps a loop over an axis may have: few enough to search, with those that suit vectors, tiles and caches.

Steps need not divide the extent. Those that an expert or a known schedule names join them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from einloom.ir.operation import Axis, DimType
from einloom.passes.model.sizes import equal_part, round_up
from einloom.passes.model.tiles import BlockTargets

__all__ = ["MOST_SIZES", "steps_of"]

MOST_SIZES = 16
"""Steps that an axis has by itself, apart from named ones."""


def steps_of(axis: Axis, targets: BlockTargets, named: Iterable[int] = ()) -> tuple[int, ...]:
    """Return the steps of loops over an axis, in rising order: 1, the extent, and what lies between.

    >>> from einloom.dtypes import FLOAT32
    >>> from einloom.machine import AVX512
    >>> from einloom.passes.model.tiles import block_targets
    >>> steps_of(Axis("k", 6, DimType.K), block_targets(AVX512, FLOAT32, 96), named=[5])
    (1, 2, 3, 4, 5, 6)
    """
    extent = axis.extent
    chosen = {1, extent, *(step for step in named if step <= extent)}
    most = len(chosen) + MOST_SIZES
    for step in _suggested(axis, targets):
        if len(chosen) >= most:
            break
        if 0 < step < extent:
            chosen.add(step)
    return tuple(sorted(chosen))


def _suggested(axis: Axis, targets: BlockTargets) -> Iterator[int]:
    """Yield steps, the most useful first."""
    extent, lanes = axis.extent, targets.lanes
    tiles = (targets.k, targets.k // 2) if axis.role is DimType.K else (targets.tile_m, lanes, targets.tile_n)
    yield from tiles
    if axis.role is not DimType.K:
        yield from (round_up(part, lanes) for part in (extent // 2, extent // 4))
    yield from (equal_part(extent, target) for target in (extent // 2, extent // 4, 256, 64, 16, 4) if target)
    power = 64
    while power > 1:
        yield power
        power //= 2
    yield from (step for step in range(2, 64) if extent % step == 0)
    yield from (part for parts in range(2, 9) if (part := -(-extent // parts)))
