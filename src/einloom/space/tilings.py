"""Which tile sizes are worth offering: divisors of a size first, powers of two where too few divide it.

>>> tile_sizes(1024, (32, 4))
(((2, 4, 8, 16, 32), (2, 4)), False)
>>> tile_sizes(127, (32,))
(((2, 4, 8, 16, 32),), True)
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod

from einloom.space.backbone import TiledAxis

__all__ = ["tile_sizes", "tilings"]

MAXIMUM_CHOICES = 16
"""Most sizes that one tile is offered (the paper, section 5.2, offers ten at most)."""


def tile_sizes(
    size: int, maxima: tuple[int, ...], tails: bool | None = None
) -> tuple[tuple[tuple[int, ...], ...], bool]:
    """Return the possible sizes of each tile level, outermost first, and whether some of them may leave a tail.

    Args:
        size: extent of the axis.
        maxima: the largest size of each level; levels that do not fit into `size` any more are left out.
        tails: offer powers of two beside the divisors, so that the last tile may stick out of the axis; None offers
            them where some level would have fewer than two divisors (and room for more).
    """
    exact = _levels(size, maxima, _divisors)
    full = _levels(size, maxima, _divisors_and_powers)
    poor = len(exact) < len(full) or any(len(few) < min(2, len(many)) for few, many in zip(exact, full))
    ragged = poor if tails is None else tails
    return (full if ragged else exact), ragged


def _levels(
    size: int, maxima: tuple[int, ...], choose: Callable[[int, int], tuple[int, ...]]
) -> tuple[tuple[int, ...], ...]:
    levels: list[tuple[int, ...]] = []
    for maximum in maxima:
        choices = choose(size, maximum)
        if choices and prod(tiles[0] for tiles in (*levels, choices)) <= size:
            levels.append(choices[:MAXIMUM_CHOICES])
    return tuple(levels)


def _divisors(size: int, maximum: int) -> tuple[int, ...]:
    return tuple(tile for tile in range(2, min(size, maximum) + 1) if size % tile == 0)


def _divisors_and_powers(size: int, maximum: int) -> tuple[int, ...]:
    powers = {2**power for power in range(1, min(size, maximum).bit_length())}
    return tuple(sorted(powers.union(_divisors(size, maximum))))


def tilings(axis: TiledAxis) -> tuple[int, ...]:
    """Return the products of one size of each level that fit into the axis, ascending: its tiling factors."""
    products = {prod(sizes) for sizes in product(*axis.tiles)}
    return tuple(sorted(p for p in products if p <= axis.size and (axis.ragged or axis.size % p == 0)))
