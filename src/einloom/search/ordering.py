"""`pruning_order`: the groups of a space's decisions, those first that let the bound cut the most.

The order of decisions shapes the tree and never its leaves (the paper, section 5.5). How much a group prunes is asked
at the root: some of its decisions are taken at random, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from einloom import csp
from einloom.space.model.bound import Bound
from einloom.space.partial import SearchSpace

__all__ = ["pruning_order"]

PROBES, DEPTH = 24, 6
"""Candidates of each group that are looked at, and decisions that lead to each of them."""


def pruning_order(space: SearchSpace, cut: float, seed: int = 0) -> tuple[str, ...]:
    """Return the groups of a space's order by the share of candidates that a cut leaves out.

    Equal ones stay as they are.

    Args:
        space: whose decisions.
        cut: seconds; what a bound shows to be no faster is out.
        seed: of the decisions that are drawn.
    """
    random = Random(seed)
    shares = {group: _share_cut(space, group, cut, random) for group in space.order}
    return tuple(sorted(space.order, key=lambda group: -shares[group]))


def _share_cut(space: SearchSpace, group: str, cut: float, random: Random) -> float:
    slots = [each.slot for each in space.problem.variables if each.choice == group]
    slots = [slot for slot in space.slots() if slot in set(slots)]
    bounds = [_bound_below(space, slots, cut, random) for _ in range(PROBES if slots else 0)]
    return sum(bound.seconds >= cut for bound in bounds) / PROBES


def _bound_below(space: SearchSpace, slots: Sequence[int], cut: float, random: Random) -> Bound:
    """Take decisions of a group at random, as far as they go, and return the bound of what they leave."""
    state = space.problem.state()
    for _ in range(DEPTH):
        slot = state.next_open(slots)
        if slot < 0:
            break
        state.push()
        if not state.restrict(slot, random.choice(csp.single_values(state.domains[slot]))):
            state.pop()
            break
        state.drop()
    return space.model.bound(state, cut)
