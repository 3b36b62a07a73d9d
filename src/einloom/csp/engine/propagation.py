"""The inner loop: the queue of changed slots, and the order in which propagators run.

Cheap ones first: everything that a changed slot wakes runs before the first disjunction, disjunctions before counters,
counters before quotients. All are monotone, so the order changes the time and never the fixpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from einloom.csp.propagators.store import ASLEEP, Store
from einloom.csp.propagators.watches import COUNTER, DISJUNCTION, TERM, TRIGGER, Watches

__all__ = ["DERIVED", "bind_run", "bind_settle"]

DERIVED = frozenset({TERM, COUNTER, TRIGGER, DISJUNCTION})
"""Wakes that keep numbers up to date which no snapshot holds: ranges and limits of counters, refuted triggers."""

Call = Callable[[Any], None]
Slow = Sequence[tuple[dict[int, Any], Callable[[], None]]]


def bind_run(store: Store, watches: Watches, calls: Sequence[Call], slow: Slow) -> Callable[[], None]:
    """Return `run()`, which propagates until nothing changes.

    It is one function with local names, and the tables of two and three slots are written out in it: this loop is
    where a search spends its time, and a call or a tuple built from a loop would double the cost of a look-up.

    Args:
        calls: what each number of a wake calls.
        slow: `(pending, propagate)` of what waits until all slots are quiet, in order.
    """
    domains, numbers, queue, assign = store.domains, store.numbers, store.queue, store.assign
    pairs, triples, wide = watches.pairs, watches.triples, watches.wide
    falsified, changed = watches.falsified, watches.changed

    def run() -> None:
        while True:
            if not queue:
                for pending, propagate in slow:
                    if pending:
                        propagate()
                        break
                else:
                    return
                continue
            slot, old = queue.popitem()
            new = domains[slot]
            for number, argument in changed[slot]:
                calls[number](argument)
            asleep = numbers[ASLEEP]
            for table, a, b, need, reason in pairs[slot]:
                if not need & asleep:
                    found = table[domains[a], domains[b]]
                    if found:
                        mask_a, mask_b = found
                        if mask_a != domains[a]:
                            assign(a, mask_a, reason)
                        if mask_b != domains[b]:
                            assign(b, mask_b, reason)
            for table, a, b, c, need, reason in triples[slot]:
                if not need & asleep:
                    found = table[domains[a], domains[b], domains[c]]
                    if found:
                        mask_a, mask_b, mask_c = found
                        if mask_a != domains[a]:
                            assign(a, mask_a, reason)
                        if mask_b != domains[b]:
                            assign(b, mask_b, reason)
                        if mask_c != domains[c]:
                            assign(c, mask_c, reason)
            for entry in wide[slot]:
                if not entry[-2] & asleep:
                    store.propagate_table(entry)
            for mask, wakes in falsified[slot].items():
                if not new & mask and old & mask:
                    for number, argument in wakes:
                        calls[number](argument)

    return run


def bind_settle(store: Store, watches: Watches, calls: Sequence[Call], slow: Slow) -> Callable[[], None]:
    """Return `settle()`, which brings numbers up to date for domains that are a fixpoint already."""
    domains, queue = store.domains, store.queue
    falsified, changed = watches.falsified, watches.changed

    def settle() -> None:
        while True:
            while queue:
                slot, old = queue.popitem()
                lost = old & ~domains[slot]
                for mask, wakes in falsified[slot].items():
                    if not domains[slot] & mask and lost & mask:
                        wake(wakes)
                wake(changed[slot])
            for pending, propagate in slow:
                if pending:
                    propagate()
                    break
            else:
                return

    def wake(wakes: Sequence[tuple[int, Any]]) -> None:
        for number, argument in wakes:
            if number in DERIVED:
                calls[number](argument)

    return settle
