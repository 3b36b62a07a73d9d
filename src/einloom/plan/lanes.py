"""`in_lanes`: independent subtrees of a contraction side by side, a thread each, where that is predicted to be faster.

Steps for all threads are cut inside, which small ones do not bear, and each has to start the team. Subtrees cost one
start for all of them. They are found as Geist and Ng map sparse factorisations to processors (Task scheduling for
parallel sparse Cholesky factorization, 1989): the subtree with most to do is cut into its root, which is left to all
threads, and the subtrees below it; the rest is dealt out, that with most to do first. Of all such cuts the best counts.

>>> from einloom.plan.problem import make_problem
>>> from einloom.plan.steps import plan_problem
>>> problem = make_problem("ab,bc,cd,de->ae", [(200, 200)] * 4, [None] * 4, "float32")
>>> in_lanes(plan_problem(problem, None, ((0, 1), (0, 1), (0, 1))), 2, 2**20).lanes
(1, 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from einloom.config import LEAST_WORK
from einloom.frozen import frozen
from einloom.ir.operation import DimType, Operation
from einloom.plan.order import in_order
from einloom.plan.steps import Plan, Step

__all__ = ["in_lanes"]

FLOPS, BYTES = 100e9, 20e9
"""Rates of a usual core: what counts is how the costs of steps compare."""

CALL = 0.2e-6
TEAM = 4e-6
"""Seconds to enter a step, and to start a team and wait for the last of its threads."""

SHARED = 0.9
"""What threads that share a step achieve, as a part of what they could."""

PIECES = 8
"""Subtrees for each thread: more hardly even out better."""

BETTER = 0.95
"""What lanes are predicted to take at most, as a share of what they replace: else it is not worth their memory."""


def in_lanes(plan: Plan, threads: int, spare: int) -> Plan:
    """Return the plan with lanes if they are predicted to be faster, and the arena grows by no more than `spare` bytes.

    The arena may also grow to what the two largest tensors take.
    """
    if threads < 2 or len(plan.steps) < 3:
        return plan
    dealt = _dealt(_Tree(plan), threads)
    if dealt is None:
        return plan
    apart = [sorted(lane) for lane in dealt if lane]
    first = [number for lane in apart for number in lane]
    rest = [number for number in range(len(plan.steps)) if number not in set(first)]
    moved = replace(in_order(plan, [*first, *rest]), lanes=tuple(map(len, apart)))
    largest = sum(sorted(step.bytes for step in plan.steps[:-1])[-2:])
    return moved if moved.arena.size <= max(plan.arena.size + spare, largest) else plan


class _Tree:
    """The steps of a plan as a tree, with the seconds that they take."""

    def __init__(self, plan: Plan) -> None:
        given = plan.given
        self.below = [
            sorted({i - given for i in step.inputs if given <= i < given + n}) for n, step in enumerate(plan.steps)
        ]
        self.root = len(plan.steps) - 1
        self.costs = [_Cost.of(step) for step in plan.steps]
        self.whole = [cost.alone for cost in self.costs]
        for number, below in enumerate(self.below):
            self.whole[number] += sum(self.whole[each] for each in below)

    def steps_of(self, number: int) -> list[int]:
        """Return the steps of a subtree."""
        found = [number]
        for step in found:  # It grows meanwhile.
            found += self.below[step]
        return found


@frozen
class _Cost:
    """What a step takes on one thread, in seconds, and how many may share it."""

    alone: float
    most: int

    @classmethod
    def of(cls, step: Step) -> _Cost:
        operation = step.operation
        seconds = max(operation.flops / FLOPS, operation.bytes / BYTES) + CALL
        return cls(seconds, _most_threads(operation))

    def together(self, threads: int) -> float:
        """Return what the step takes on so many threads."""
        count = min(threads, self.most)
        return self.alone if count < 2 else self.alone / (SHARED * count) + TEAM


def _most_threads(operation: Operation) -> int:
    """Return among how many threads a step can be shared: sums are not, and each thread must get enough work."""
    kept = [axis.extent for axis in operation.axes if axis.role is not DimType.K]
    return min(max(operation.flops, operation.bytes) // LEAST_WORK, max(kept, default=1))


def _dealt(tree: _Tree, threads: int) -> list[list[int]] | None:
    """Return the steps of each lane, for the cut of the tree that is predicted to be fastest; None: there is none."""
    best, lanes = BETTER * sum(cost.together(threads) for cost in tree.costs), None
    subtrees, above = [tree.root], 0.0
    while 0 < len(subtrees) < PIECES * threads:
        heaviest = max(subtrees, key=lambda number: tree.whole[number])
        if not tree.below[heaviest]:
            break
        subtrees.remove(heaviest)
        subtrees += tree.below[heaviest]
        above += tree.costs[heaviest].together(threads)
        shares = _shares(tree, subtrees, threads)
        seconds = above + TEAM + max(sum(tree.whole[number] for number in share) for share in shares)
        if seconds < best:
            best, lanes = seconds, shares
    if lanes is None:
        return None
    return [[step for number in share for step in tree.steps_of(number)] for share in lanes]


def _shares(tree: _Tree, subtrees: Sequence[int], threads: int) -> list[list[int]]:
    """Deal subtrees out, that with most to do first, each to the thread that has least."""
    shares: list[list[int]] = [[] for _ in range(threads)]
    taken = [0.0] * threads
    for number in sorted(subtrees, key=lambda number: (-tree.whole[number], number)):
        least = taken.index(min(taken))
        shares[least].append(number)
        taken[least] += tree.whole[number]
    return shares
