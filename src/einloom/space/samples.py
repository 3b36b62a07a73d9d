"""Independent samples of a decision tree, drawn here or by several processes: the same ones either way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_all_start_methods, get_context
from random import Random

from einloom import csp
from einloom.space.tree import Tree
from einloom.space.walks import Tally

__all__ = ["Sampler", "draw"]

Sampler = Callable[[csp.State, Tree, Random], Tally]


def draw(sampler: Sampler, tree: Tree, samples: int, seed: str, processes: int) -> Iterator[Tally]:
    """Yield what walks of a tree count, in the order of their numbers, each of which has random numbers of its own.

    Args:
        sampler: walks once.
        tree: what is walked.
        samples: how many walks.
        seed: the same one gives the same samples, whatever the number of processes.
        processes: how many work. Trees hold functions that cannot be sent, so that these are forks of this process;
            where a system has no forks, the samples are drawn here.
    """
    count = min(processes, samples)
    if count == 1 or "fork" not in get_all_start_methods():
        for number in range(samples):
            yield _walk(sampler, tree, f"{seed} {number}")
        return
    with ProcessPoolExecutor(count, get_context("fork"), _begin, (sampler, tree)) as pool:
        yield from pool.map(_walk_here, [f"{seed} {number}" for number in range(samples)])


def _walk(sampler: Sampler, tree: Tree, seed: str) -> Tally:
    return sampler(tree.space.problem.state(), tree, Random(seed))


_given: list[tuple[Sampler, Tree]] = []
"""What a process was begun for."""


def _begin(sampler: Sampler, tree: Tree) -> None:
    _given[:] = [(sampler, tree)]


def _walk_here(seed: str) -> Tally:
    sampler, tree = _given[0]
    return _walk(sampler, tree, seed)
