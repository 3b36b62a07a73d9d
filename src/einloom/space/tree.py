"""`Tree`: the tree of a space's decisions in some order, without the branches that a bound cuts."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from einloom import csp
from einloom.errors import ScheduleError
from einloom.frozen import frozen

if TYPE_CHECKING:
    from einloom.space.partial import SearchSpace

__all__ = ["Tree"]


@frozen
class Tree:
    """A decision tree.

    Attributes:
        space: whose decisions.
        slots: the decisions in their order.
        cut: seconds; a node whose bound is as large has nothing below it that is faster, and is left out.
        cut_levels: decisions after which nothing is cut any more (the paper, section 5.4, cuts the first ten levels).
    """

    space: SearchSpace
    slots: Sequence[int]
    cut: float = inf
    cut_levels: int = 10

    def __post_init__(self) -> None:
        """Refuse cuts that mean nothing."""
        if not self.cut > 0 or self.cut_levels < 0:
            raise ScheduleError(
                f"cut = {self.cut} and cut_levels = {self.cut_levels}\n  Give seconds above 0, and levels from 0 on."
            )

    def children(self, state: csp.State, slot: int, depth: int) -> list[csp.Moment]:
        """Return what the state becomes by each value of a decision that propagation and the bound leave.

        Args:
            state: the node; it stays as it is.
            slot: the decision.
            depth: decisions before this one.
        """
        found: list[csp.Moment] = []
        for mask in csp.single_values(state.domains[slot]):
            state.push()
            if state.restrict(slot, mask) and self.keeps(state, depth + 1):
                found.append(state.moment())
            state.pop()
        return found

    def keeps(self, state: csp.State, depth: int) -> bool:
        """Whether the bound lets a node live after `depth` decisions."""
        if self.cut == inf or depth > self.cut_levels:
            return True
        return self.space.model.bound(state, self.cut).seconds < self.cut
