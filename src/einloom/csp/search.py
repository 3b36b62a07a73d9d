"""The plainest searches over a problem: all leaves, a random descent, descents that learn where they failed.

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
from time import monotonic

from einloom.csp.engine.state import State
from einloom.csp.problem import Problem

__all__ = ["complete", "descend", "probe", "single_values", "solutions"]

Path = list[tuple[int, int]]
"""Decisions, one after the other: slots and masks."""


def single_values(mask: int) -> list[int]:
    """Return the single-value masks of a mask, lowest first.

    >>> single_values(0b101)
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
    for mask in single_values(state.domains[slot]):
        state.push()
        if state.restrict(slot, mask):
            yield from _below(state, order)
        state.pop()


def descend(state: State, random: Random, order: Sequence[int] | None = None, path: Path | None = None) -> bool:
    """Decide until nothing is open, each time a uniformly drawn value that propagation accepts.

    The first value of a random permutation that propagation accepts is uniform among those that it accepts, so the
    others need not be tried.

    Args:
        order: slots in the order in which to decide them; default: a uniformly drawn open slot each time.
        path: collects the decisions.

    Returns:
        True at a leaf; False at a dead end, where every value of a slot fails.
    """
    return _decide(state, random, (), order, [] if path is None else path) < 0


def complete(
    state: State,
    random: Random,
    order: Sequence[int] | None = None,
    path: Path | None = None,
    *,
    seconds: float = 2.0,
    probing: bool = False,
) -> bool:
    """Move to a leaf below a state: random descents, each of which first decides what made the ones before it fail.

    A slot without a value left is decided too late. Put first, it cannot be starved again; a few such slots suffice
    where a uniform order of decisions meets a dead end every third time.

    Args:
        order, path: as in `descend`.
        seconds: how long to try; at least one descent is made.
        probing: whether to take away before every descent what `probe` refutes.

    Returns:
        True at a leaf; False if there is none, or time is over. Then the state is where it was.
    """
    end = monotonic() + seconds
    early: list[int] = []
    taken: Path = []
    state.push()
    if probing and not probe(state):
        state.pop()
        return False
    while True:
        state.push()
        taken.clear()
        failed = _decide(state, random, early, order, taken)
        if failed < 0:
            state.drop()
            state.drop()
            if path is not None:
                path += taken
            return True
        state.pop()
        if monotonic() > end:
            state.pop()
            return False
        early = [failed, *(slot for slot in early if slot != failed)]


def probe(state: State, slots: Sequence[int] | None = None) -> bool:
    """Take away every single value that propagation refutes, until none is: singleton consistency.

    Args:
        slots: what to probe; default: all that is open.

    Returns:
        False if nothing is left of a slot.
    """
    pruned = True
    while pruned:
        pruned = False
        for slot in state.open() if slots is None else slots:
            for mask in single_values(state.domains[slot]):
                state.push()
                possible = state.restrict(slot, mask)
                state.pop()
                if not possible:
                    pruned = True
                    if not state.restrict(slot, ~mask):
                        return False
    return True


def _decide(state: State, random: Random, early: Sequence[int], order: Sequence[int] | None, path: Path) -> int:
    """Decide `early` slots first, then the others, until nothing is open (-1) or all values of a slot fail (it)."""
    while True:
        slot = state.next_open(early)
        if slot < 0:
            slot = _next(state, random, order)
        if slot < 0:
            return -1
        choices = single_values(state.domains[slot])
        random.shuffle(choices)
        for mask in choices:
            state.push()
            if state.restrict(slot, mask):
                state.drop()
                path.append((slot, mask))
                break
            state.pop()
        else:
            return slot


def _next(state: State, random: Random, order: Sequence[int] | None) -> int:
    if order is not None:
        return state.next_open(order)
    slots = state.open()
    return random.choice(slots) if slots else -1
