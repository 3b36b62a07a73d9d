"""Walks of a decision tree that count: all of it, Knuth's random descents, and Chen's sweeps over strata.

Knuth (1975): a random descent that meets branching factors b1, b2, … estimates b1 b2 … leaves. Chen (1992) keeps one
representative for each stratum of similar subtrees, with the number it stands for. The paper's strata (section 5.3) are
the depth and the number of open decisions; here they are the depth and the logarithm of the product of the open
domains: fewer strata, and on these spaces estimates that vary less.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from math import log2
from random import Random

from einloom import csp
from einloom.space.tree import Tree

__all__ = ["Tally", "chen", "knuth", "visit"]

STRATA = 96
"""Nodes of one depth are alike if the logarithms (base 2) of the products of their open domains differ by less than
this part of the root's: more strata make a sweep longer and its estimate steadier."""


@dataclass(slots=True)
class Tally:
    """What one walk counts: leaves, nodes at each depth, and the probability of meeting a dead end."""

    leaves: float = 0.0
    dead: float = 0.0
    depths: dict[int, float] = field(default_factory=lambda: defaultdict(float))

    def depth_counts(self) -> list[float]:
        """Return the nodes after 0, 1, 2, … decisions."""
        return [self.depths[depth] for depth in range(max(self.depths, default=-1) + 1)]


def visit(state: csp.State, tree: Tree, depth: int, probability: float, tally: Tally, limit: int | None) -> None:
    """Count a node and all below it, down to a depth.

    Args:
        state: the node; it stays as it is.
        tree: the order of decisions and the cut.
        depth: decisions above the node.
        probability: that a uniform random descent comes here.
        tally: what counts.
        limit: the depth to stop at, None for the leaves.
    """
    tally.depths[depth] += 1
    if depth == limit:
        return
    slot = state.next_open(tree.slots)
    if slot < 0:
        tally.leaves += 1
        return
    valid = tree.children(state, slot, depth)
    if not valid:
        tally.dead += probability
        return
    here = state.moment()
    for child in valid:
        state.become(child)
        visit(state, tree, depth + 1, probability / len(valid), tally, limit)
    state.become(here)


def knuth(state: csp.State, tree: Tree, random: Random) -> Tally:
    """One random descent; each node weighs the product of the branching factors above it."""
    tally, weight, depth = Tally(), 1.0, 0
    tally.depths[0] = 1.0
    while (slot := state.next_open(tree.slots)) >= 0:
        valid = tree.children(state, slot, depth)
        if not valid:
            tally.dead = 1.0
            return tally
        weight, depth = weight * len(valid), depth + 1
        tally.depths[depth] = weight
        state.become(random.choice(valid))
    tally.leaves = weight
    return tally


@dataclass(slots=True)
class _Stratum:
    """Similar subtrees: how many nodes, and one of them."""

    weight: float
    node: csp.Moment | None = None


def chen(state: csp.State, tree: Tree, random: Random) -> Tally:
    """One sweep over the strata, from the root down; each is represented by one of its nodes, drawn by weight."""
    tally, depth, width = Tally(), 0, max(_open_bits(state) / STRATA, 1.0)
    level = {0: _Stratum(1.0, state.moment())}
    while level:
        below: dict[int, _Stratum] = {}
        tally.depths[depth] = sum(stratum.weight for stratum in level.values())
        for stratum in level.values():
            assert stratum.node is not None
            state.become(stratum.node)
            slot = state.next_open(tree.slots)
            if slot < 0:
                tally.leaves += stratum.weight
                continue
            for mask in csp.single_values(state.domains[slot]):
                state.push()
                if state.restrict(slot, mask) and tree.keeps(state, depth + 1):
                    alike = below.setdefault(round(_open_bits(state) / width), _Stratum(0.0))
                    _represent(alike, state, stratum.weight, random)
                state.pop()
        level, depth = below, depth + 1
    return tally


def _represent(stratum: _Stratum, state: csp.State, weight: float, random: Random) -> None:
    """Add a node to its stratum: it becomes the representative with the probability of its share of the weight."""
    stratum.weight += weight
    if random.random() * stratum.weight < weight:
        stratum.node = state.moment()


def _open_bits(state: csp.State) -> float:
    """Return the logarithm (base 2) of the product of the open domains."""
    domains = state.domains
    return sum(log2(domains[slot].bit_count()) for slot in state.open())
