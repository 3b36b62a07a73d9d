"""How large is a space? Exactly, by Knuth's random descents, or by Chen's heuristic sampling.

Knuth (1975): a random descent that meets branching factors b1, b2, … estimates b1 b2 … leaves. Chen (1992) keeps one
representative for each stratum of similar subtrees, with the number it stands for. The paper's strata (section 5.3) are
the depth and the number of open decisions; here they are the depth and the logarithm of the product of the open
domains: fewer strata, and on these spaces estimates that vary less.

Estimates are unbiased and their tails are heavy: read the interval, not the number alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import log2, sqrt
from random import Random
from typing import Any

from einloom import csp
from einloom.errors import ScheduleError
from einloom.space.candidate import Space
from einloom.space.descent import children, descend, masks
from einloom.space.progress import progress_bar

__all__ = ["Estimate", "dead_end_ratio", "estimate", "nodes_at_depth"]

CONFIDENCE = 1.96
"""Standard errors on either side of a mean that make a 95 % interval."""

STRATA = 96
"""Nodes of one depth are alike if the logarithms (base 2) of the products of their open domains differ by less than
this part of the root's: more strata make a sweep longer and its estimate steadier."""

DEFAULT_SAMPLES = {"knuth": 1000, "chen": 12}


@dataclass(frozen=True, slots=True)
class Estimate:
    """The size of a space.

    Attributes:
        method: `"exact"`, `"knuth"` or `"chen"`.
        samples: descents (Knuth) or sweeps (Chen); 1 for an exact count.
        size: leaves of the decision tree: implementations.
        interval: the 95 % confidence interval of `size`.
        dead_ends: probability that a uniform random descent meets a node without valid children; None if unknown.
        dead_ends_half: half the 95 % interval of `dead_ends`.
        nodes_per_depth: nodes after 0, 1, 2, … decisions, estimated like `size`.
    """

    method: str
    samples: int
    size: float
    interval: tuple[float, float]
    dead_ends: float | None
    nodes_per_depth: tuple[float, ...]
    dead_ends_half: float = 0.0

    def __str__(self) -> str:
        half = (self.interval[1] - self.interval[0]) / 2
        dead = "" if self.dead_ends is None else f", {100 * self.dead_ends:.2g} % dead ends"
        return f"{self.size:.3g} ± {half:.2g} implementations ({self.method}, {self.samples} samples{dead})"


def estimate(
    space: Space,
    method: str = "chen",
    samples: int | None = None,
    seed: int = 0,
    *,
    order: Sequence[str] | None = None,
    progress: bool = False,
) -> Estimate:
    """Return the size of a space with its 95 % confidence interval.

    Args:
        space: what to measure.
        method: `"exact"` (visits every leaf), `"knuth"` or `"chen"`.
        samples: independent estimates to average; a Chen sample costs hundreds of Knuth samples and varies far less.
        seed: the same seed gives the same result.
        order: names of choices, in the order in which to take decisions; None is the space's own order.
        progress: show a progress bar.

    Raises:
        ScheduleError: that is no space, there is no such method, or the number of samples is not positive.
    """
    _check_space(space)
    if method == "exact":
        return _exact(space, space.slots(order))
    if method not in _SAMPLERS:
        raise ScheduleError(f"there is no estimator called {method!r}\n  known: exact, {', '.join(_SAMPLERS)}")
    count = DEFAULT_SAMPLES[method] if samples is None else _positive("samples", samples)
    return _average(space, method, count, seed, order, progress)


def dead_end_ratio(space: Space, samples: int = 1000, seed: int = 0, *, progress: bool = False) -> tuple[float, float]:
    """Return the share of uniform random descents that end without a leaf, and half its 95 % interval."""
    _check_space(space)
    random, slots, failures = Random(seed), space.slots(None), 0
    _positive("samples", samples)
    with progress_bar(progress, "descents", samples) as advance:
        for _ in range(samples):
            failures += not descend(space.problem.state(), slots, random)
            advance()
    return failures / samples, _half_of_ratio(failures / samples, samples)


def _check_space(space: Any) -> None:
    if not isinstance(space, Space):
        raise ScheduleError(f"{space!r} is no space\n  Give what el.space.gpu returns.")


def _positive(name: str, number: Any) -> int:
    """Return a number that must be at least 1."""
    if not isinstance(number, int) or number < 1:
        raise ScheduleError(f"{name} = {number!r}\n  Give a whole number of at least 1.")
    return number


def _half_of_ratio(ratio: float, samples: int) -> float:
    """Return half the 95 % interval (Wilson's) of a share of samples."""
    square = CONFIDENCE**2 / samples
    return CONFIDENCE * sqrt(ratio * (1 - ratio) / samples + square / (4 * samples)) / (1 + square)


@dataclass(slots=True)
class _Tally:
    """What one walk counts: leaves, nodes at each depth, and the probability of meeting a dead end."""

    leaves: float = 0.0
    dead: float = 0.0
    depths: dict[int, float] = field(default_factory=lambda: defaultdict(float))

    def depth_counts(self) -> list[float]:
        """Return the nodes after 0, 1, 2, … decisions."""
        return [self.depths[depth] for depth in range(max(self.depths, default=-1) + 1)]


def nodes_at_depth(space: Space, depth: int, *, order: Sequence[str] | None = None) -> int:
    """Return how many nodes the decision tree has after `depth` decisions, by visiting all of them."""
    _check_space(space)
    tally = _Tally()
    _visit(space.problem.state(), space.slots(order), 0, 1.0, tally, _positive("depth", depth))
    return int(tally.depths[depth])


def _exact(space: Space, slots: Sequence[int]) -> Estimate:
    """Visit the whole tree."""
    tally = _Tally()
    _visit(space.problem.state(), slots, 0, 1.0, tally, None)
    return Estimate("exact", 1, tally.leaves, (tally.leaves, tally.leaves), tally.dead, tuple(tally.depth_counts()))


def _visit(
    state: csp.State, slots: Sequence[int], depth: int, probability: float, tally: _Tally, limit: int | None
) -> None:
    tally.depths[depth] += 1
    if depth == limit:
        return
    slot = state.next_open(slots)
    if slot < 0:
        tally.leaves += 1
        return
    valid = children(state, slot)
    if not valid:
        tally.dead += probability
    for mask in valid:
        state.push()
        state.restrict(slot, mask)
        _visit(state, slots, depth + 1, probability / len(valid), tally, limit)
        state.pop()


def _knuth(state: csp.State, slots: Sequence[int], random: Random) -> _Tally:
    """One random descent; each node weighs the product of the branching factors above it."""
    tally, weight, depth = _Tally(), 1.0, 0
    tally.depths[0] = 1.0
    while (slot := state.next_open(slots)) >= 0:
        valid = children(state, slot)
        if not valid:
            tally.dead = 1.0
            return tally
        weight, depth = weight * len(valid), depth + 1
        tally.depths[depth] = weight
        state.push()
        state.restrict(slot, random.choice(valid))
    tally.leaves = weight
    return tally


@dataclass(slots=True)
class _Stratum:
    """Similar subtrees: how many nodes, and one of them as the engine's saved state with its trail."""

    weight: float
    saved: tuple[Any, list[Any]]


def _chen(state: csp.State, slots: Sequence[int], random: Random) -> _Tally:
    """One sweep over the strata, from the root down; each is represented by one of its nodes, drawn by weight."""
    tally, depth, width = _Tally(), 0, max(_open_bits(state) / STRATA, 1.0)
    level = {0: _Stratum(1.0, (state.save(), state.trail.copy()))}
    while level:
        below: dict[int, _Stratum] = {}
        tally.depths[depth] = sum(stratum.weight for stratum in level.values())
        for stratum in level.values():
            saved, state.trail[:] = stratum.saved
            state.restore(saved)
            slot = state.next_open(slots)
            if slot < 0:
                tally.leaves += stratum.weight
                continue
            for mask in masks(state.domains[slot]):
                state.push()
                if state.restrict(slot, mask):
                    alike = below.setdefault(round(_open_bits(state) / width), _Stratum(0.0, ((), [])))
                    _represent(alike, state, stratum.weight, random)
                state.pop()
        level, depth = below, depth + 1
    return tally


def _represent(stratum: _Stratum, state: csp.State, weight: float, random: Random) -> None:
    """Add a node to its stratum: it becomes the representative with the probability of its share of the weight."""
    stratum.weight += weight
    if random.random() * stratum.weight < weight:
        stratum.saved = (state.save(), state.trail.copy())


def _open_bits(state: csp.State) -> float:
    """Return the logarithm (base 2) of the product of the open domains."""
    domains = state.domains
    return sum(log2(domains[slot].bit_count()) for slot in state.open())


_SAMPLERS: dict[str, Callable[[csp.State, Sequence[int], Random], _Tally]] = {"knuth": _knuth, "chen": _chen}


def _average(
    space: Space, method: str, samples: int, seed: int, order: Sequence[str] | None, progress: bool
) -> Estimate:
    random, slots = Random(seed), space.slots(order)
    tallies: list[_Tally] = []
    with progress_bar(progress, f"{method} on {space.name}", samples) as advance:
        for _ in range(samples):
            tallies.append(_SAMPLERS[method](space.problem.state(), slots, random))
            advance()
    sizes = [tally.leaves for tally in tallies]
    mean = sum(sizes) / samples
    variance = sum((size - mean) ** 2 for size in sizes) / max(samples - 1, 1)
    half = CONFIDENCE * sqrt(variance / samples) if samples > 1 else mean
    interval = (max(mean - half, 0.0), mean + half)
    if method != "knuth":
        return Estimate(method, samples, mean, interval, None, _mean_depths(tallies))
    dead = sum(tally.dead for tally in tallies) / samples
    return Estimate(method, samples, mean, interval, dead, _mean_depths(tallies), _half_of_ratio(dead, samples))


def _mean_depths(tallies: Sequence[_Tally]) -> tuple[float, ...]:
    counts = [tally.depth_counts() for tally in tallies]
    depths = range(max(map(len, counts)))
    return tuple(sum(count[depth] for count in counts if depth < len(count)) / len(counts) for depth in depths)
