"""`Steps`: how the sum over k of a tile is emitted, straight or as a loop. It emits nothing itself.

>>> Steps.of(5, fmas=9, together=1, body=24, can_overwrite=True)
Steps(unroll=5, trips=0, rest=5)
>>> Steps.of(65, fmas=12, together=1, body=24, can_overwrite=True)
Steps(unroll=2, trips=32, rest=1)
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Steps"]

STRAIGHT = 96
"""Most vector FMAs that are emitted without a loop over k."""


@dataclass(frozen=True, slots=True)
class Steps:
    """`rest` products as straight code, then `trips` times `unroll` products.

    The products before the loop overwrite the accumulators, so that nothing has to clear them.
    """

    unroll: int
    trips: int
    rest: int

    @staticmethod
    def of(k: int, fmas: int, together: int, body: int, can_overwrite: bool) -> Steps:
        """Return the steps of a tile.

        Args:
            k: products.
            fmas: vector FMAs of one product.
            together: products that share a register or go to different accumulators, which the body keeps together.
            body: most vector FMAs that the body of a loop holds, unless one product has more.
            can_overwrite: whether nothing is in the accumulators before the first product.
        """
        if k * fmas <= STRAIGHT:
            return Steps(k, 0, k)
        most = max(together, min(16, body // fmas, k) // together * together)
        least = max(together, max(most // 2, min(most, 2)) // together * together)
        unroll = min(
            range(least, most + 1, together), key=lambda unroll: (k % unroll > 0, k % unroll / unroll, -unroll)
        )
        trips, rest = divmod(k, unroll)
        if rest == 0 and can_overwrite:
            trips, rest = trips - 1, unroll
        return Steps(unroll, trips, rest) if trips > 1 else Steps(k, 0, k)
