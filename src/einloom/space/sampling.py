"""How large is a space? Exactly, by Knuth's random descents, or by Chen's heuristic sampling.

Estimates are unbiased and their tails are heavy: read the interval, not the number alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from operator import index
from random import Random
from typing import Any

import numpy as np

from einloom import csp
from einloom.errors import ScheduleError
from einloom.frozen import frozen
from einloom.space.partial import SearchSpace
from einloom.space.progress import progress_bar
from einloom.space.samples import Sampler, draw
from einloom.space.tree import Tree
from einloom.space.walks import Tally, chen, knuth, visit

__all__ = ["Estimate", "bootstrap", "dead_end_ratio", "estimate", "generator_of", "nodes_at_depth"]

CONFIDENCE = 1.96
"""Standard errors on either side of a ratio that make a 95 % interval."""

RESAMPLES = 1000
"""Means that an interval is taken from."""

DESCENTS = 100
"""Random descents that count dead ends where sweeps measure the size."""

DEFAULT_SAMPLES = {"knuth": 1000, "chen": 12}


@frozen
class Estimate:
    """The size of a space.

    Attributes:
        method: `"exact"`, `"knuth"` or `"chen"`.
        samples: descents (Knuth) or sweeps (Chen); 1 for an exact count.
        size: leaves of the decision tree: implementations.
        interval: the 95 % interval of `size`: percentiles of means of resamples (a bootstrap), since tails are heavy.
            Up to inf where there is a single sample.
        dead_ends: probability that a uniform random descent meets a node without valid children; what a cut leaves out
            is not valid.
        dead_ends_half: half the 95 % interval of `dead_ends`.
        nodes_per_depth: nodes after 0, 1, 2, … decisions, estimated like `size`.
    """

    method: str
    samples: int
    size: float
    interval: tuple[float, float]
    dead_ends: float
    nodes_per_depth: tuple[float, ...]
    dead_ends_half: float = 0.0

    def __str__(self) -> str:
        dead = f"{100 * self.dead_ends:.2g} % dead ends"
        return f"{self.size:.3g}{self.factors} implementations ({self.method}, {self.samples} samples, {dead})"

    @property
    def factors(self) -> str:
        """The interval as factors of the size, as in ` x 0.8 to 1.3`; nothing where it is exact."""
        low, high = self.interval
        return "" if low == high else f" x {low / self.size:.2g} to {high / self.size:.2g}"


def estimate(
    space: SearchSpace,
    method: str = "chen",
    samples: int | None = None,
    seed: int = 0,
    *,
    order: Sequence[str] | None = None,
    cut: float = inf,
    cut_levels: int = 10,
    processes: int = 1,
    progress: bool = False,
) -> Estimate:
    """Return the size of a space with its 95 % confidence interval.

    Args:
        space: what to measure.
        method: `"exact"` (visits every leaf), `"knuth"` or `"chen"`.
        samples: independent estimates to average; a Chen sample costs hundreds of Knuth samples and varies far less.
        seed: the same seed gives the same result.
        order: names of choices, in the order in which to take decisions; None is the space's own order.
        cut: seconds; leave out what a bound shows to be no faster (the paper, section 5.4).
        cut_levels: decisions after which nothing is cut any more.
        processes: how many draw samples; the result is the same. An exact count takes one.
        progress: show a progress bar.

    Raises:
        ScheduleError: that is no space, there is no such method, the number of samples or of processes is not positive,
            the seed is no whole number, or there is a cut and the device has no rates.
    """
    _check_space(space)
    seed = _seed(seed)
    tree = Tree(space, space.slots(order), cut, cut_levels)
    if method == "exact":
        return _exact(tree)
    if method not in _SAMPLERS:
        raise ScheduleError(f"there is no estimator called {method!r}\n  known: exact, {', '.join(_SAMPLERS)}")
    count = DEFAULT_SAMPLES[method] if samples is None else _positive("samples", samples)
    return _average(tree, method, count, seed, _positive("processes", processes), progress)


def dead_end_ratio(
    space: SearchSpace, samples: int = 1000, seed: int = 0, *, progress: bool = False
) -> tuple[float, float]:
    """Return the share of uniform random descents that end without a leaf, and half its 95 % interval."""
    _check_space(space)
    random, slots, failures = Random(_seed(seed)), space.slots(None), 0
    _positive("samples", samples)
    with progress_bar(progress, "descents", samples) as advance:
        for _ in range(samples):
            failures += not csp.descend(space.problem.state(), random, slots)
            advance()
    return failures / samples, _half_of_ratio(failures / samples, samples)


def _check_space(space: Any) -> None:
    if not isinstance(space, SearchSpace):
        raise ScheduleError(f"{space!r} is no space\n  Give what el.space.gpu returns.")


def _positive(name: str, number: Any) -> int:
    """Return a number that must be at least 1."""
    if not isinstance(number, int) or number < 1:
        raise ScheduleError(f"{name} = {number!r}\n  Give a whole number of at least 1.")
    return number


def _seed(given: Any) -> int:
    """Return a seed, which is looked at before hours of work need it."""
    try:
        return index(given)
    except TypeError:
        raise ScheduleError(f"seed = {given!r:.80}\n  Give a whole number.") from None


def _half_of_ratio(ratio: float, samples: int) -> float:
    """Return half the 95 % interval (Wilson's) of a share of samples."""
    square = CONFIDENCE**2 / samples
    return CONFIDENCE * sqrt(ratio * (1 - ratio) / samples + square / (4 * samples)) / (1 + square)


def nodes_at_depth(space: SearchSpace, depth: int, *, order: Sequence[str] | None = None, cut: float = inf) -> int:
    """Return how many nodes the decision tree has after `depth` decisions, by visiting all of them.

    Args:
        space: whose decisions.
        depth: how many are taken.
        order: names of choices, in the order in which to take decisions; None is the space's own order.
        cut: seconds; nodes whose bound is as large, and all below them, are left out.
    """
    _check_space(space)
    tally = Tally()
    tree = Tree(space, space.slots(order), cut, _positive("depth", depth))
    visit(space.problem.state(), tree, 0, 1.0, tally, depth)
    return int(tally.depths[depth])


def _exact(tree: Tree) -> Estimate:
    """Visit the whole tree."""
    tally = Tally()
    visit(tree.space.problem.state(), tree, 0, 1.0, tally, None)
    size = tally.leaves
    return Estimate("exact", 1, size, (size, size), tally.dead, tuple(tally.depth_counts()))


_SAMPLERS: dict[str, Sampler] = {"knuth": knuth, "chen": chen}


def _average(tree: Tree, method: str, samples: int, seed: int, processes: int, progress: bool) -> Estimate:
    tallies: list[Tally] = []
    with progress_bar(progress, f"{method} on {tree.space.name}", samples) as advance:
        for tally in draw(_SAMPLERS[method], tree, samples, str(seed), processes):
            tallies.append(tally)
            advance()
    sizes = [tally.leaves for tally in tallies]
    descents = tallies if method == "knuth" else list(draw(knuth, tree, DESCENTS, f"{seed} dead ends", processes))
    dead = sum(tally.dead for tally in descents) / len(descents)
    half = _half_of_ratio(dead, len(descents))
    return Estimate(method, samples, sum(sizes) / samples, bootstrap(sizes, seed), dead, _mean_depths(tallies), half)


def bootstrap(sizes: Sequence[float], seed: int = 0) -> tuple[float, float]:
    """Return the 95 % percentile interval of the mean: of the means of as many draws, with repetition, again and again.

    >>> bootstrap([3.0, 3.0, 3.0])
    (3.0, 3.0)
    """
    if len(sizes) < 2:
        return 0.0, inf
    generator, given = generator_of(seed), np.array(sizes)
    means = sorted(float(generator.choice(given, len(given)).mean()) for _ in range(RESAMPLES))
    outside = round(0.025 * RESAMPLES)
    return means[outside], means[-1 - outside]


def generator_of(seed: int) -> np.random.Generator:
    """Return NumPy's random numbers of a seed, which may be negative as Python's."""
    return np.random.default_rng(seed % 2**64)


def _mean_depths(tallies: Sequence[Tally]) -> tuple[float, ...]:
    counts = [tally.depth_counts() for tally in tallies]
    depths = range(max(map(len, counts)))
    return tuple(sum(count[depth] for count in counts if depth < len(count)) / len(counts) for depth in depths)
