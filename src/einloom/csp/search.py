"""The two plainest searches over a problem: all its leaves, and one random descent.

>>> from einloom.csp import Instance, parse_space
>>> space = parse_space("set A: end  choice enum f($a in A): value X: value Y: end")
>>> instance = Instance(space)
>>> instance.add("A", "a")
>>> instance.add("A", "b")
>>> sum(1 for leaf in solutions(instance.freeze()))
4
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from einloom.csp.engine.state import State
from einloom.csp.problem import Problem

__all__ = ["descend", "solutions", "values"]


def values(mask: int) -> list[int]:
    """Return the single-value masks of a mask, lowest first.

    >>> values(0b101)
    [1, 4]
    """
    found: list[int] = []
    while mask:
        low = mask & -mask
        found.append(low)
        mask ^= low
    return found


def solutions(problem: Problem, order: Sequence[int] | None = None) -> Iterator[State]:
    """Yield one state, moved to every leaf in turn, by depth-first search.

    Args:
        order: slots in the order in which to decide them; default: slot order.

    Raises:
        DeadEnd: the constraints alone leave no implementation.
    """
    yield from _below(problem.state(), problem.exposed if order is None else order)


def _below(state: State, order: Sequence[int]) -> Iterator[State]:
    slot = state.next_open(order)
    if slot < 0:
        yield state
        return
    for mask in values(state.domains[slot]):
        state.push()
        if state.restrict(slot, mask):
            yield from _below(state, order)
        state.pop()


def descend(state: State, random: Random, order: Sequence[int] | None = None) -> bool:
    """Decide until nothing is open, each time a uniformly drawn value that propagation accepts.

    Args:
        order: slots in the order in which to decide them; default: a uniformly drawn open slot each time.

    Returns:
        True at a leaf; False at a dead end, where every value of a slot fails.
    """
    while True:
        slot = _next(state, random, order)
        if slot < 0:
            return True
        choices = values(state.domains[slot])
        random.shuffle(choices)
        for mask in choices:
            state.push()
            if state.restrict(slot, mask):
                state.drop()
                break
            state.pop()
        else:
            return False


def _next(state: State, random: Random, order: Sequence[int] | None) -> int:
    if order is not None:
        return state.next_open(order)
    slots = state.open()
    return random.choice(slots) if slots else -1
