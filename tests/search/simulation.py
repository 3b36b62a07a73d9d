"""Searches without a machine: a leaf takes its bound times a number from 1 to 2, a hash of its decisions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b

from einloom import csp
from einloom.machine import AVX512, Rates
from einloom.search.ranking import predicted_times
from einloom.search.search import Budget, Outcome, SearchRun, run_search
from einloom.space import cpu
from einloom.space.on_cpu.space import CpuSpace
from einloom.space.partial import SearchSpace

SLOW = replace(AVX512, l1d=1024, l2=3072, l3=4096, rates=Rates(2e11, 1e11, 2e9, 1.5e9, 1e9, 1e9))
"""A machine whose caches are small and slow: most schedules are much slower than the best."""


@dataclass(frozen=True)
class Simulated:
    """An evaluator."""

    space: SearchSpace

    def evaluate(self, state: csp.State, best: float) -> Outcome:
        """Return the time of a leaf."""
        return Outcome("ok", self.space.model.bound(state).seconds * (1 + hashed(state)))


class Predicted:
    """An evaluator by what the heuristic's cost model says, where most leaves' bounds are alike."""

    def __init__(self, space: CpuSpace) -> None:
        self.space, self.predicted = space, predicted_times(space)

    def evaluate(self, state: csp.State, best: float) -> Outcome:
        """Return the time of a leaf."""
        seconds = max(self.space.model.bound(state).seconds, self.predicted(state))
        return Outcome("ok", seconds * (1 + hashed(state)))


def hashed(state: csp.State) -> float:
    """Return a number from 0 to 1 that a leaf's decisions make."""
    return int.from_bytes(blake2b(state.snapshot(), digest_size=4).digest(), "little") / 2**32


@cache
def product_space() -> CpuSpace:
    """Return the space of a product on the slow machine."""
    return cpu("mk,kn->mn", (96, 80), (80, 112), dtype="float32", machine=SLOW)


@cache
def tiny_space() -> CpuSpace:
    """Return a space of 4,095 leaves."""
    return cpu("mk,k->m", (2, 2), (2,), dtype="float32", machine=SLOW)


def simulate(space: SearchSpace, strategy: str, evaluations: int, seed: int, bounds: bool = True) -> SearchRun:
    """Return a simulated search."""
    return run_search(space, Simulated(space), Budget(evaluations=evaluations), strategy, seed, bounds=bounds)
