"""`Steps`: how the sum over k of a tile is emitted, straight or as a loop. It emits nothing itself.

>>> Steps.of(5, fmas=9, together=1, body=24, can_overwrite=True)
Steps(unroll=5, trips=0, rest=5)
>>> Steps.of(65, fmas=12, together=1, body=24, can_overwrite=True)
Steps(unroll=2, trips=32, rest=1)
>>> Steps.of(64, fmas=24, together=1, body=52, can_overwrite=True, apart=(28000, 4))  # Not 56,000 bytes at a time.
Steps(unroll=4, trips=15, rest=4)
"""

from __future__ import annotations

from collections.abc import Sequence

from einloom.frozen import frozen

__all__ = ["Steps"]

STRAIGHT = 96
"""Most vector FMAs that are emitted without a loop over k."""

ASTRAY = range(33 * 1024, 97 * 1024)
"""Bytes by which a load should not move from one iteration to the next. Golden Cove fetches ahead for each load that
moves evenly, but keeps 16 bits of how far: lines that nobody wants take the place and the time of those that are. A
kernel that read such rows from memory took 1.4 times as long, one that read them from L2 1.1 times."""

WIDER = 4
"""Products that the body of a loop may take for that, whatever it holds."""


@frozen
class Steps:
    """`rest` products as straight code, then `trips` times `unroll` products.

    The products before the loop overwrite the accumulators, so that nothing has to clear them.
    """

    unroll: int
    trips: int
    rest: int

    @staticmethod
    def of(k: int, fmas: int, together: int, body: int, can_overwrite: bool, apart: Sequence[int] = ()) -> Steps:
        """Return the steps of a tile.

        Args:
            k: products.
            fmas: vector FMAs of one product.
            together: products that share a register or go to different accumulators, which the body keeps together.
            body: most vector FMAs that the body of a loop holds, unless one product has more.
            can_overwrite: whether nothing is in the accumulators before the first product.
            apart: bytes between what neighbouring products read, of each input for which they are known.
        """
        if k * fmas <= STRAIGHT:
            return Steps(k, 0, k)
        most = max(together, min(16, body // fmas, k) // together * together)
        least = max(together, max(most // 2, min(most, 2)) // together * together)
        unrolls = range(least, most + 1, together)
        if all(_goes_astray(unroll, apart) for unroll in unrolls):
            unrolls = range(together, max(most, WIDER * together) + 1, together)
        unroll = min(
            unrolls,
            key=lambda unroll: (_goes_astray(unroll, apart), k % unroll > 0, k % unroll / unroll, -unroll),
        )
        trips, rest = divmod(k, unroll)
        if rest == 0 and can_overwrite:
            trips, rest = trips - 1, unroll
        return Steps(unroll, trips, rest) if trips > 1 else Steps(k, 0, k)


def _goes_astray(unroll: int, apart: Sequence[int]) -> bool:
    """Whether some load of an iteration moves so far that a processor fetches something else ahead."""
    return any(abs(each) * unroll in ASTRAY for each in apart)
