"""What a body may ask about the threads that run it: the four helpers of PARLOOPER, as functions of a nest.

>>> from einloom.ir.loop_text import parse_loop_string
>>> from einloom.loops.spec import LoopSpec
>>> specs = (LoopSpec(0, 6), LoopSpec(0, 8, 1, (4, 2)), LoopSpec(0, 8, 1, (4,)))
>>> nest = LoopNest.of(parse_loop_string("bC{R:5}B{C:4}cbA{L:3}"), specs)
>>> parallel_type(nest, "b"), parallel_degree(nest, "b"), parallel_index(nest, "c", thread=13)
(<ParallelType.THREAD_COLUMNS: 3>, 4, 3)
"""

from __future__ import annotations

from enum import IntEnum

from einloom.errors import ScheduleError
from einloom.ir.sharing import Dimension, Grid
from einloom.loops.nest import LoopNest

__all__ = ["ParallelType", "parallel_degree", "parallel_index", "parallel_type"]


class ParallelType(IntEnum):
    """How a logical loop is parallel, with PARLOOPER's numbers."""

    NO_PARALLEL = 0
    COLLAPSE = 1
    THREAD_ROWS = 2
    THREAD_COLUMNS = 3
    THREAD_LAYERS = 4


_OF_DIMENSION = {
    Dimension.ROWS: ParallelType.THREAD_ROWS,
    Dimension.COLUMNS: ParallelType.THREAD_COLUMNS,
    Dimension.LAYERS: ParallelType.THREAD_LAYERS,
}


def parallel_type(nest: LoopNest, letter: str) -> ParallelType:
    """Return how a loop is parallel."""
    loop = nest.level(letter)
    if loop.ways is not None:
        return _OF_DIMENSION[loop.ways.dimension]
    return ParallelType.COLLAPSE if loop.collapsed else ParallelType.NO_PARALLEL


def parallel_degree(nest: LoopNest, letter: str) -> int:
    """Return how many ways a grid shares a loop: 1 if it does not.

    Raises:
        ScheduleError: the nest has no grid of threads.
    """
    ways = nest.level(letter).ways
    if nest.grid is None:
        raise ScheduleError(
            f"the parallel degree of loop {letter}, but {nest.string} has no grid of threads\n"
            "  Share loops by {R:n}, {C:n} or {L:n}."
        )
    return 1 if ways is None else ways.count


def parallel_index(nest: LoopNest, letter: str, thread: int) -> int:
    """Return which team of a loop's dimension a thread belongs to, its number for collapse, -1 without parallelism."""
    loop = nest.level(letter)
    if loop.ways is not None:
        return (nest.grid or Grid()).index(thread, loop.ways.dimension)
    return thread if loop.collapsed else -1
