"""Compare bounds with times on this machine: along the way to random leaves of six problems, and at their best leaves.

    python benchmarks/bounds.py --leaves 84

For every problem: how many bounds on the paths exceed the least of so many runs by more than 1 %, the median of
a leaf's bound over its time, the same of the heuristic's leaf and of the whole space, and the terms that decide.
"""

from __future__ import annotations

import argparse
import statistics
from collections import Counter
from math import inf
from random import Random

from einloom import csp
from einloom.jit.host import host
from einloom.passes.fuse import fuse
from einloom.passes.pipeline import optimize_operation
from einloom.search.limits import measured_limits
from einloom.search.measure import Measurement
from einloom.search.problems import with_plain_names
from einloom.space.on_cpu.given import operation_of_equation
from einloom.space.on_cpu.rates import MARGIN, CpuRates
from einloom.space.on_cpu.space import CpuSpace
from einloom.targets.overhead import Overhead

PROBLEMS = (
    ("mk,kn->mn", (64, 64), (64, 64)),
    ("mk,kn->mn", (200, 300), (300, 250)),
    ("mk,kn->mn", (512, 512), (512, 512)),
    ("abc,cd->abd", (60, 70, 80), (80, 90)),
    ("mk,k->m", (1000, 1000), (1000,)),
    ("bmk,bkn->bmn", (16, 48, 64), (16, 64, 32)),
)
TOLERANCE = 1.01


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leaves", type=int, default=84, help="random leaves of each problem")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=20, help="of each leaf")
    arguments = parser.parse_args()
    limits = measured_limits(host())
    print(limits)
    shares: list[float] = []
    for equation, *shapes in PROBLEMS:
        shares += report(equation, shapes, limits.times(MARGIN), arguments)
    print(f"all: {len(shares)} leaves, median {statistics.median(shares):.3f}")


def report(equation: str, shapes: list[tuple[int, ...]], rates: CpuRates, arguments: argparse.Namespace) -> list[float]:
    """Print the line of one problem; return what share of its time each leaf's bound is."""
    operation = with_plain_names(operation_of_equation(equation, shapes, "float32"))
    heuristic = optimize_operation(operation, host())[1]
    space = CpuSpace(fuse(operation), host(), (heuristic,), rates=rates, lowered=Overhead)
    random, shares, beaten, terms = Random(arguments.seed), list[float](), Counter[str](), Counter[str]()
    with Measurement(operation, space, heuristic, seconds=0.01) as measurement:
        own = measurement.time(str(heuristic)).seconds
        for _ in range(arguments.leaves):
            state, path = space.problem.state(), list[tuple[int, int]]()
            csp.complete(state, random, space.slots(), path, seconds=20)
            text, seconds = str(space.schedule(state)), inf
            for _ in range(max(arguments.runs // 2, 1)):  # Each is two runs at least.
                seconds = min(seconds, measurement.time(text).seconds)
                if seconds > 0.02:
                    break
            terms[largest(bounds_on(space, path)[-1])] += 1
            shares.append(max(bounds_on(space, path)[-1].values()) / seconds)
            exceeded = {name for each in bounds_on(space, path) for name, t in each.items() if t > TOLERANCE * seconds}
            beaten.update(exceeded)
    best = space.leaf(heuristic).bound().seconds / own
    print(
        f"{equation} {shapes}: bounds exceeded {dict(beaten)}; leaf median {statistics.median(shares):.3f}, "
        f"heuristic {best:.3f}, root {space.root.bound().seconds / own:.3f}; by {dict(terms)}"
    )
    return shares


def bounds_on(space: CpuSpace, path: list[tuple[int, int]]) -> list[dict[str, float]]:
    """Return the terms of the bounds on the way to a leaf."""
    state = space.problem.state()
    found = [dict(space.model.bound(state).terms)]
    for slot, mask in path:
        state.restrict(slot, mask)
        found.append(dict(space.model.bound(state).terms))
    return found


def largest(terms: dict[str, float]) -> str:
    """Return the name of the largest term."""
    return max(terms, key=terms.__getitem__)


if __name__ == "__main__":
    main()
