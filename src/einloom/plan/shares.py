"""`shared_runs`: which slices of a contraction each of several threads computes, and which sums they leave to be added.

A thread takes slices in their order, so it holds as many unfinished sums as the tree of sums is deep. Where its share
begins or ends inside a place, it leaves the sums of the largest nodes of the tree that are its own.

>>> from einloom.plan.problem import make_problem
>>> from einloom.plan.slices import Cut, Slicing
>>> problem = make_problem("ab,b->a", [(4, 6), (6,)], [None] * 2, "float32")
>>> for runs in shared_runs(Slicing(problem, ((0, 1),), (Cut("b", 6, 1),)), 2):
...     print(*((run.start, run.stop) for run in runs))
(0, 2) (2, 3)
(3, 4) (4, 6)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from einloom.frozen import frozen
from einloom.plan.slices import Slicing, first_half
from einloom.plan.units import Unit

__all__ = ["Run", "shared_runs"]

GRAIN = 16
"""Where threads' shares begin may move by this part of a share, to a larger node of the tree."""


@frozen
class Run:
    """Slices of one place of which all are there that are below a node of its tree; or those of several whole places.

    Attributes:
        start, stop: numbers of slices.
        count: leaves of the node.
        sums: number of the tensor that they are added up in, from 1; 0: they are parts of the result by themselves.
    """

    start: int
    stop: int
    count: int
    sums: int = 0


def shared_runs(slicing: Slicing, threads: int, unit: Unit | None = None) -> list[list[Run]]:
    """Return the runs of slices that each thread computes; sums of parts of a place have numbers instead of addresses.

    Numbers begin at 1, in the order of the slices.

    Args:
        slicing: what is cut.
        threads: how many share the slices.
        unit: those that are computed; None: all.
    """
    leaves, (first, count) = slicing.leaves, (0, len(slicing)) if unit is None else (unit.start, unit.count)
    grain = 1 << max(count // (GRAIN * threads), 1).bit_length() - 1
    ends = [*(min(-(-count * share // (threads * grain)) * grain, count) for share in range(threads)), count]
    number, shares = 0, list[list[Run]]()
    for low, high in pairwise(ends):
        runs = list[Run]()
        for run in _runs_between(first + low, first + high, leaves):
            number += run.sums
            runs.append(Run(run.start, run.stop, run.count, number if run.sums else 0))
        shares.append(runs)
    return shares


def _runs_between(low: int, high: int, leaves: int) -> Iterator[Run]:
    """Yield runs of the slices from `low` to `high`; those of parts of a place have 1 for their sums."""
    while low < high:
        place, leaf = divmod(low, leaves)
        whole = 0 if leaf else (high - low) // leaves * leaves
        if whole:
            yield Run(low, low + whole, leaves)
        else:
            first = place * leaves
            whole = min(high, first + leaves) - low
            for begin, count in _nodes(first, leaves, low, low + whole):
                yield Run(begin, begin + count, count, 1)
        low += whole


def _nodes(first: int, count: int, low: int, high: int) -> Iterator[tuple[int, int]]:
    """Yield the largest nodes below a node of the tree of sums whose leaves are all in a range."""
    if low <= first and first + count <= high:
        yield first, count
    elif low < first + count and first < high:
        half = first_half(count)
        yield from _nodes(first, half, low, high)
        yield from _nodes(first + half, count - half, low, high)
