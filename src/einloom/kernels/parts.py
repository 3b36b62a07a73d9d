"""`parts`: a range cut into equal pieces and what is left."""

from __future__ import annotations

__all__ = ["parts"]


def parts(size: int, step: int) -> list[tuple[int, int]]:
    """Return (length, count) of the parts of a range cut at multiples of `step`: whole ones, then the rest.

    >>> parts(64, 6)
    [(6, 10), (4, 1)]
    """
    whole, rest = divmod(size, step)
    return [(length, count) for length, count in ((step, whole), (rest, 1)) if length and count]
