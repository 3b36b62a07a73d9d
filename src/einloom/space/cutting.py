"""What cuts leave of a tree: the whole tree and what is left are measured by the same random descents.

Weights of descents have heavy tails. Two estimates with descents of their own differ by what each has met; here luck
counts on both sides, and one set of descents serves any cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from einloom.frozen import frozen
from einloom.space.partial import SearchSpace
from einloom.space.sampling import RESAMPLES, generator_of
from einloom.space.tree import Tree

__all__ = ["Descent", "descents", "nodes_left", "share_left"]


@frozen
class Descent:
    """A random descent (Knuth 1975): what it stands for.

    Attributes:
        nodes: after 0, 1, 2, … decisions, how many nodes of that depth.
        bounds: the largest bound on the way to each of the first of them.
        leaves: how many leaves; 0 if it ended dead, or was not followed so far.
    """

    nodes: tuple[float, ...]
    bounds: tuple[float, ...]
    leaves: float

    def is_left(self, cut: float, depth: int) -> bool:
        """Whether a cut of the first `depth` levels leaves it."""
        return self.bounds[min(depth, len(self.bounds) - 1)] < cut


def descents(
    space: SearchSpace, samples: int, seed: int = 0, levels: int = 10, order: Sequence[str] | None = None,
    *, whole: bool = True,
) -> list[Descent]:  # fmt: skip
    """Return random descents of a space's tree with the bounds that they meet.

    Args:
        space: whose decisions.
        samples: how many; the same seed gives the same ones.
        levels: decisions after which bounds are asked.
        order: names of choices, in the order in which to take decisions; None is the space's own order.
        whole: go on to leaves, not just through the levels.
    """
    tree = Tree(space, space.slots(order))
    return [_descend(tree, Random(f"{seed} {number}"), levels, whole) for number in range(samples)]


def _descend(tree: Tree, random: Random, levels: int, whole: bool) -> Descent:
    state = tree.space.problem.state()
    nodes, bounds = [1.0], [tree.space.model.bound(state).seconds]
    while (slot := state.next_open(tree.slots)) >= 0:
        if not whole and len(nodes) > levels:
            return Descent(tuple(nodes), tuple(bounds), 0.0)
        children = tree.children(state, slot, len(nodes) - 1)
        if not children:
            return Descent(tuple(nodes), tuple(bounds), 0.0)
        state.become(random.choice(children))
        nodes.append(nodes[-1] * len(children))
        if len(nodes) <= levels + 1:
            bounds.append(max(bounds[-1], tree.space.model.bound(state).seconds))
    return Descent(tuple(nodes), tuple(bounds), nodes[-1])


def nodes_left(found: Sequence[Descent], depth: int, cut: float = float("inf")) -> float:
    """Return about how many nodes a cut of all levels down to a depth leaves there."""
    left = (each.nodes[depth] for each in found if len(each.nodes) > depth and each.is_left(cut, depth))
    return sum(left) / len(found)


def share_left(found: Sequence[Descent], levels: int, cut: float, seed: int = 0) -> tuple[float, tuple[float, float]]:
    """Return the share of the leaves that a cut of the first levels leaves, and its 95 % interval (a bootstrap)."""
    leaves = np.array([each.leaves for each in found])
    left = leaves * np.array([each.is_left(cut, levels) for each in found])
    draws = generator_of(seed).integers(len(found), size=(RESAMPLES, len(found)))
    shares = np.sort(left[draws].sum(axis=1) / np.maximum(leaves[draws].sum(axis=1), 1e-300))
    outside = round(0.025 * RESAMPLES)
    return float(left.sum() / max(leaves.sum(), 1e-300)), (float(shares[outside]), float(shares[-1 - outside]))
