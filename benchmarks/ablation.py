"""Compare strategies without a machine: a leaf takes a computed time, times a number from 1 to 2, a hash of it.

On the GPU that is its bound, which charges exactly what the model knows. On the processor, where most leaves' bounds
are alike, it is what the heuristic's cost model says, and the bound at least.

    python benchmarks/ablation.py --evaluations 200 --seeds 10 --processes 2

For every space and strategy, with and without the cut: the median over the seeds of the best time, as a multiple of
what random descents without the cut find, and the largest of these best times over the smallest. Searches run side by
side; their results depend on nothing but the seed. A line per space is printed as soon as all of its searches ended.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from functools import cache
from hashlib import blake2b

from einloom import csp
from einloom.machine import AVX512
from einloom.search.ranking import predicted_times
from einloom.search.search import Budget, Outcome, run_search
from einloom.space import cpu, gpu
from einloom.space.on_cpu.space import CpuSpace
from einloom.space.partial import SearchSpace

WAYS = (("random", False), ("random", True), ("tag", False), ("tag", True), ("uct", True), ("local", True))
"""Strategies, and whether the bound cuts."""

SPACES: dict[str, Callable[[], SearchSpace]] = {
    "axpy 2^20": lambda: gpu("axpy", n=2**20),
    "mv 512 x 512": lambda: gpu("mv", m=512, n=512),
    "matmul 256 x 256 x 32": lambda: gpu("matmul", m=256, n=256, k=32),
    "matmul 256 x 256 x 256, strided by 32": lambda: gpu("matmul", m=256, n=256, k=256, stride_a=32),
    "mk,kn->mn": lambda: cpu("mk,kn->mn", (96, 80), (80, 112), dtype="float32", machine=AVX512),
    "abc,cd->abd": lambda: cpu("abc,cd->abd", (12, 14, 16), (16, 18), dtype="float32", machine=AVX512),
    "acd,db->abc": lambda: cpu("acd,db->abc", (8, 9, 20), (20, 24), dtype="float32", machine=AVX512),
}
"""Four kernels on the paper's GPU, and three contractions on a processor."""


class Simulated:
    """An evaluator of a space's leaves."""

    def __init__(self, space: SearchSpace) -> None:
        self.space = space
        self.predicted = predicted_times(space) if isinstance(space, CpuSpace) else None

    def evaluate(self, state: csp.State, best: float) -> Outcome:
        """Return the time of a leaf."""
        seconds = self.space.model.bound(state).seconds
        if self.predicted is not None:
            seconds = max(seconds, self.predicted(state))
        number = int.from_bytes(blake2b(state.snapshot(), digest_size=4).digest(), "little")
        return Outcome("ok", seconds * (1 + number / 2**32))


@cache
def space_of(name: str) -> SearchSpace:
    """Return a space, the same one every time."""
    return SPACES[name]()


def best_time(name: str, strategy: str, cut: bool, evaluations: int, seed: int) -> float:
    """Return the best time that one search finds."""
    space = space_of(name)
    run = run_search(space, Simulated(space), Budget(evaluations=evaluations), strategy, seed, bounds=cut)
    return run.explorer.best


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluations", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--spaces", default="0,1,2,3,4,5,6", help="which of them")
    parser.add_argument(
        "--ways", default="0,1,2,3,4,5", help="which strategies; the first one is what others are shares of"
    )
    parser.add_argument("--processes", type=int, help="searches that run at the same time (default: one a core)")
    arguments = parser.parse_args()
    ways = [WAYS[int(place)] for place in arguments.ways.split(",")]
    names = [list(SPACES)[int(place)] for place in arguments.spaces.split(",")]
    titles = [f"{strategy}{' + cut' if cut else ''}" for strategy, cut in ways]
    print("| space | " + " | ".join(titles) + " |\n" + "| --- " * (len(titles) + 1) + "|", flush=True)
    with ProcessPoolExecutor(arguments.processes) as pool:
        searches = {
            name: [
                [pool.submit(best_time, name, *way, arguments.evaluations, seed) for seed in range(arguments.seeds)]
                for way in ways
            ]
            for name in names
        }
        for name, found in searches.items():
            print(f"| {name} | {' | '.join(cells(found))} |", flush=True)


def cells(searches: Sequence[Sequence[Future[float]]]) -> list[str]:
    """Return what each strategy finds beside the first one, and how much its searches differ."""
    times = [[each.result() for each in way] for way in searches]
    medians = [statistics.median(way) for way in times]
    return [f"{mine / medians[0]:.2f} ({max(way) / min(way):.2f})" for mine, way in zip(medians, times)]


if __name__ == "__main__":
    main()
