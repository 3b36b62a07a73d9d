"""The inner loop: assignments, the queue of changed slots, and the order in which propagators run.

It is one function that binds a state's lists to local names, because this loop is where a search spends its time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from einloom.csp.engine.counters import ASLEEP
from einloom.csp.engine.watching import CHECK, DISJOIN, TOUCH

if TYPE_CHECKING:
    from einloom.csp.engine.state import State

__all__ = ["Dead", "bind"]


DERIVING = frozenset({TOUCH, CHECK, DISJOIN})


class Dead(Exception):
    """A constraint cannot hold. Caught by `State`; users see False or a `DeadEnd`."""


def bind(state: State) -> tuple[Callable[[int, int, Any], None], Callable[[], None], Callable[[], None]]:
    """Return `assign(slot, mask, reason)`, `run()` and `settle()` for a state."""
    problem = state.problem
    domains, rows, numbers, dirty, handlers = state.domains, state.rows, state.numbers, state.dirty, state.handlers
    places, watching = problem.rows.places, problem.watching
    pairs, triples, wide = watching.pairs, watching.triples, watching.wide
    emptied, changed, relations_of = watching.emptied, watching.changed, watching.relations
    append = state.trail.append
    disjoined, disjunctions, counting, electing = state.disjoined, watching.disjunctions, state.counting, state.electing

    def assign(slot: int, mask: int, reason: Any) -> None:
        """Set a slot to a smaller mask, keep the rows in step and queue the slot."""
        old = domains[slot]
        append((slot, old, reason))
        domains[slot] = mask
        if not mask:
            state.failure = reason
            raise Dead
        place = places[slot]
        if place is not None:
            steps, a, bit_a, b, bit_b = place
            for forward, backward in steps[old ^ mask]:
                rows[forward + a] ^= bit_b
                rows[backward + b] ^= bit_a
        if slot not in dirty:
            dirty[slot] = old

    relates = [relation.bind(domains, rows, assign) for relation in problem.relations]

    def run() -> None:
        """Propagate until nothing changes; the slower propagators wait until all slots are quiet."""
        while True:
            if not dirty:
                if disjoined:
                    disjunction = disjunctions[disjoined.popitem()[0]]
                    possible = 0
                    for slot, mask in disjunction.values:
                        if domains[slot] & mask:
                            possible += 1
                            if possible > 1:
                                break
                    else:
                        disjunction.propagate(state)
                elif counting.pending:
                    counting.propagate(counting.pending.popitem()[0])
                elif electing.pairs:
                    electing.spread()
                elif electing.pending:
                    electing.propagate(*electing.pending.popitem())
                else:
                    return
                continue
            slot, old = dirty.popitem()
            new = domains[slot]
            for relation in relations_of[slot]:
                relates[relation](slot, new)
            asleep = numbers[ASLEEP]
            for entry in pairs[slot]:
                table, a, b, need = entry
                if not need & asleep:
                    found = table[domains[a], domains[b]]
                    if found:
                        mask_a, mask_b = found
                        if mask_a != domains[a]:
                            assign(a, mask_a, entry)
                        if mask_b != domains[b]:
                            assign(b, mask_b, entry)
            for entry in triples[slot]:
                table, a, b, c, need = entry
                if not need & asleep:
                    found = table[domains[a], domains[b], domains[c]]
                    if found:
                        mask_a, mask_b, mask_c = found
                        if mask_a != domains[a]:
                            assign(a, mask_a, entry)
                        if mask_b != domains[b]:
                            assign(b, mask_b, entry)
                        if mask_c != domains[c]:
                            assign(c, mask_c, entry)
            for entry in wide[slot]:
                if not entry[-1] & asleep:
                    propagate_wide(entry)
            for mask, watches in emptied[slot].items():
                if not new & mask and old & mask:
                    for handler, argument in watches:
                        handlers[handler](argument)
            for handler, argument in changed[slot]:
                handlers[handler](argument)

    def propagate_wide(entry: tuple[Any, ...]) -> None:
        slots = entry[1:-1]
        for slot, mask in zip(slots, entry[0][tuple([domains[slot] for slot in slots])]):
            if mask != domains[slot]:
                assign(slot, mask, entry)

    def settle() -> None:
        """Bring what is derived from the domains up to date, for domains that are a fixpoint already."""
        while dirty or disjoined or counting.pending:
            if dirty:
                slot, old = dirty.popitem()
                new = domains[slot]
                watches = [
                    each for mask, some in emptied[slot].items() if not new & mask and old & mask for each in some
                ]
                for handler, argument in (*watches, *changed[slot]):
                    if handler in DERIVING:
                        handlers[handler](argument)
            elif disjoined:
                disjunctions[disjoined.popitem()[0]].propagate(state)
            else:
                counting.propagate(counting.pending.popitem()[0])
        electing.pending.clear()
        electing.pairs.clear()

    return assign, run, settle
