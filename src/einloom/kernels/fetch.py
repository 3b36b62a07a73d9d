"""`Fetch`: how the vectors of an operand come out of memory. It follows from the stride along the vectors."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["BROADCAST", "STRIDED", "VECTOR", "Fetch"]


class Fetch(StrEnum):
    """Whole vectors, one element for all lanes, or element by element."""

    VECTOR = "vector"
    BROADCAST = "broadcast"
    STRIDED = "strided"

    @staticmethod
    def along(stride: int | str, unit: int) -> Fetch:
        """Return how lanes that lie `stride` apart are fetched, neighbours being `unit` apart.

        >>> Fetch.along(4, 4).value, Fetch.along(0, 4).value, Fetch.along("ld_a", 4).value
        ('vector', 'broadcast', 'strided')
        """
        return VECTOR if stride == unit else BROADCAST if stride == 0 else STRIDED


VECTOR, BROADCAST, STRIDED = Fetch
"""The members as names of this module, for the loops that emit: Python 3.11 takes 0.2 µs to find one in its class."""
