"""Compare strategies without a machine: a leaf takes its bound times a number from 1 to 2, a hash of its decisions.

    python benchmarks/ablation.py --evaluations 200 --seeds 10

For every space and strategy, with and without the cut: the median over the seeds of the best time, as a multiple of
what random descents without the cut find, and the largest of these best times over the smallest.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b

from einloom import csp
from einloom.machine import AVX512, Rates
from einloom.search.search import Budget, Outcome, run_search
from einloom.space import cpu, gpu
from einloom.space.partial import SearchSpace

SLOW = replace(AVX512, l1d=1024, l2=3072, l3=4096, rates=Rates(2e11, 1e11, 2e9, 1.5e9, 1e9, 1e9))
"""A machine whose caches are small and slow: most schedules are much slower than the best."""

WAYS = (("random", False), ("random", True), ("tag", False), ("tag", True), ("uct", True), ("local", True))
"""Strategies, and whether the bound cuts."""


@dataclass(frozen=True)
class Simulated:
    """An evaluator."""

    space: SearchSpace

    def evaluate(self, state: csp.State, best: float) -> Outcome:
        """Return the time of a leaf."""
        number = int.from_bytes(blake2b(state.snapshot(), digest_size=4).digest(), "little")
        return Outcome("ok", self.space.model.bound(state).seconds * (1 + number / 2**32))


def spaces() -> Iterator[SearchSpace]:
    """Yield four kernels on the paper's GPU, and three contractions on a CPU."""
    yield gpu("axpy", n=2**20)
    yield gpu("mv", m=512, n=512)
    yield gpu("matmul", m=256, n=256, k=32)
    yield gpu("matmul", m=256, n=256, k=256, stride_a=32)
    yield cpu("mk,kn->mn", (96, 80), (80, 112), dtype="float32", machine=SLOW)
    yield cpu("abc,cd->abd", (12, 14, 16), (16, 18), dtype="float32", machine=SLOW)
    yield cpu("acd,db->abc", (8, 9, 20), (20, 24), dtype="float32", machine=SLOW)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluations", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--spaces", default="0,1,2,3,4,5,6", help="which of them")
    parser.add_argument(
        "--ways", default="0,1,2,3,4,5", help="which strategies; the first one is what others are shares of"
    )
    arguments = parser.parse_args()
    arguments.ways = [WAYS[int(place)] for place in arguments.ways.split(",")]
    chosen = [int(place) for place in arguments.spaces.split(",")]
    titles = [f"{strategy}{' + cut' if cut else ''}" for strategy, cut in arguments.ways]
    print("| space | " + " | ".join(titles) + " |\n" + "| --- " * (len(titles) + 1) + "|")
    for place, space in enumerate(spaces()):
        if place in chosen:
            print(f"| {space.name} | {' | '.join(line(space, arguments))} |", flush=True)


def line(space: SearchSpace, arguments: argparse.Namespace) -> list[str]:
    """Return what each strategy finds, and how much its searches differ."""
    found: list[str] = []
    reference = 0.0
    for strategy, cut in arguments.ways:
        budget, times = Budget(evaluations=arguments.evaluations), list[float]()
        for seed in range(arguments.seeds):
            times.append(run_search(space, Simulated(space), budget, strategy, seed, bounds=cut).explorer.best)
        reference = reference or statistics.median(times)
        found.append(f"{statistics.median(times) / reference:.2f} ({max(times) / min(times):.2f})")
    return found


if __name__ == "__main__":
    main()
