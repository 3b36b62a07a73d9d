"""`Beside`: what a kernel does line by line while it computes, a line or a few after every so many steps of k.

A burst would fill the processor's buffers and stop everything else. So lines are spread over the products.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic

from einloom.kernels.verbs.frame import Frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import V

__all__ = ["LINE", "WORD", "Beside"]

LINE = 64
"""Bytes of a cache line."""

WORD = 8
"""Bytes of an address, and of other variables that are kept between calls."""


class Beside(ABC, Generic[R, V, A]):
    """The code that takes lines.

    Args:
        lines: of a call.
        sums: over k, of all tiles of the kernel together.
    """

    kept: tuple[str, ...]
    """Variables in registers that are kept between calls, in this order."""

    state: str
    """The variable that says where."""

    def __init__(self, lines: int, sums: int) -> None:
        self.lines = -(-lines // max(sums, 1))
        """In each sum over k."""

    def pace(self, trips: int) -> tuple[int, int]:
        """Return how many of the trips of a loop over k take lines, and how many each."""
        lines = -(-self.lines // trips)
        return min(-(-self.lines // lines), trips), lines

    def start(self, frame: Frame[R, A]) -> None:
        """Go on where the last call stopped."""
        for word, name in enumerate(self.kept):
            frame.km.load(frame.read(name), frame.read(self.state), word * WORD)

    def stop(self, frame: Frame[R, A]) -> None:
        """Let the next call go on from here."""
        for word, name in enumerate(self.kept):
            frame.km.store(frame.read(self.state), word * WORD, frame.read(name))

    def step(self, frame: Frame[R, A], step: int, count: int, lines: int, free: Sequence[V] = ()) -> None:
        """Take the part of so many lines that belongs to one of `count` steps of straight code.

        Nothing is in the `free` registers.
        """
        for _ in range(step * lines // count, (step + 1) * lines // count):
            self._take(frame, free)

    @abstractmethod
    def _take(self, frame: Frame[R, A], free: Sequence[V]) -> None:
        """Take a line."""
