"""`LoopSpec`: a logical loop, declared once: where it begins and ends, its step, and the sizes of its blocks."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index

from einloom.errors import ScheduleError
from einloom.frozen import frozen

__all__ = ["LARGEST", "LoopSpec"]

LARGEST = 2**62
"""Indices and sizes are below this."""


@frozen
class LoopSpec:
    """A logical loop over `start, start + step, …` below `bound`.

    >>> LoopSpec(0, 64, 2, (16, 8))
    LoopSpec(start=0, bound=64, step=2, block_sizes=(16, 8))

    Attributes:
        start: first index.
        bound: the first index behind the loop; at or below `start` there is no iteration.
        step: distance of two indices that a body sees.
        block_sizes: steps of the outer levels of the loop where a string names it several times, outermost first. They
            need not divide each other or the bound; those that a string does not need are ignored.

    Raises:
        ScheduleError: a number that is no integer, a step or size below 1, or one beyond 2**62.
    """

    start: int
    bound: int
    step: int = 1
    block_sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("start", "bound", "step"):
            object.__setattr__(self, name, _integer(name, getattr(self, name)))
        object.__setattr__(self, "block_sizes", _integers(self.block_sizes))
        for name, size in (("step", self.step), *(("a block size", size) for size in self.block_sizes)):
            if size < 1:
                raise ScheduleError(f"{name} is {size}\n  Loops go upwards: give 1 or more.")

    @property
    def extent(self) -> int:
        """How many indices lie between start and bound."""
        return max(self.bound - self.start, 0)


def _integers(sizes: Sequence[object]) -> tuple[int, ...]:
    try:
        each = tuple(sizes)
    except TypeError:
        raise ScheduleError(f"block_sizes is {sizes!r:.80}\n  Give a tuple of sizes, outermost first.") from None
    return tuple(_integer("a block size", size) for size in each)


def _integer(name: str, value: object) -> int:
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or abs(number) >= LARGEST:
        raise ScheduleError(f"{name} is {value!r:.80}\n  Give an integer below 2**62.")
    return number
