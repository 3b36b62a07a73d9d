"""How long the blocks of an axis are: loops cut it in steps that need not divide what they cut.

>>> cut((100,), 48)
(48, 4)
>>> cut(cut((100,), 48), 20)
(20, 8, 4)
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["cut"]


def cut(lengths: Iterable[int], step: int) -> tuple[int, ...]:
    """Return the lengths of blocks, the longest first, that ranges of `lengths` are cut into by steps of `step`."""
    found = {min(length, step) for length in lengths} | {length % step for length in lengths if length % step}
    return tuple(sorted(found, reverse=True))
