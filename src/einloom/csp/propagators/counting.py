"""`Counting`: keeps the counters of one state, and narrows domains to their limits.

Ranges are kept up to date by differences: a term that changes adds what it gained to the range of its counter (or
divides its old factor out), so an update costs the same for four terms as for four hundred. Limits are enforced later,
once all slots are quiet, one counter at a time: bounds consistency always, and exact reachability of admitted results
where the sums are few.
"""

from __future__ import annotations

from typing import Any

from einloom.csp.propagators.counter import ADMITTED, CAP, FLOOR, HIGH, INFINITE, LOW, Bound, Counter, Counters, Term
from einloom.csp.propagators.store import ASLEEP, GONE, Store

__all__ = ["Counting"]

MOST_RESULTS = 1024
"""Beyond so many results a counter is propagated by its bounds only."""


class Counting:
    """The counters of one state.

    Attributes:
        pending: counters whose range or limits have changed since they were last propagated.
    """

    def __init__(self, store: Store, counters: Counters, disjunctions: dict[int, None]) -> None:
        """Bind the counters to a store; `disjunctions` is the queue of those that read counters."""
        self.store = store
        self.domains = store.domains
        self.numbers = store.numbers
        self.all = counters.all
        self.terms = counters.terms
        self.domain_of = counters.layout.domain_of
        self.disjunctions = disjunctions
        self.pending: dict[int, None] = {}

    def schedule(self, number: int) -> None:
        """Propagate a counter later."""
        self.pending[number] = None

    def reset(self) -> None:
        """Compute all ranges from the domains; limits stay."""
        for counter in self.all:
            self.numbers[counter.at + LOW] = counter.base
            self.numbers[counter.at + HIGH] = INFINITE if counter.half else counter.base
        for term in self.terms:
            self.numbers[term.at] = self.numbers[term.at + 1] = term.identity
        for term in self.terms:
            self.update_term(term.number)
        self.pending.clear()

    def increment(self, term: Term) -> tuple[Any, Any]:
        """Return the least and the greatest increment of a term whose conditions hold."""
        if term.slot >= 0:
            mask = self.domains[term.slot]
            return self.domain_of[term.slot].extremes(mask) if mask else (0, 0)
        if term.child >= 0:
            at = self.all[term.child].at
            return self.numbers[at + LOW], min(self.numbers[at + HIGH], self.numbers[at + CAP])
        return term.constant, term.constant

    def update_term(self, number: int) -> None:
        """Update a term after a change of what it reads."""
        term, numbers = self.terms[number], self.numbers
        at = term.at
        domains, sure = self.domains, not term.need & numbers[ASLEEP]
        for slot, mask in term.literals:
            mine = domains[slot]
            if not mine & mask:
                low = high = term.identity
                break
            if mine & ~mask:
                sure = False
        else:
            if not sure and term.need & numbers[ASLEEP] & numbers[GONE]:
                low = high = term.identity
            else:
                low, high = self.increment(term)
                if not sure:
                    low = term.identity
        old_low, old_high = numbers[at], numbers[at + 1]
        if low == old_low and high == old_high:
            if low != high and self._presses(term, low, high):
                self.pending[term.counter] = None
            return
        numbers[at], numbers[at + 1] = low, high
        counter = self.all[term.counter]
        base = counter.at
        if low != old_low:
            if term.identity:
                numbers[base] = numbers[base] // old_low * low
            else:
                numbers[base] += low - old_low
        if not counter.half:
            self._update_high(counter, old_high, high)
        elif low == old_low and not self._presses(term, low, high):
            return  # The least is what it was, and nobody keeps the greatest: no limit is nearer.
        self.pending[term.counter] = None

    def _presses(self, term: Term, low: Any, high: Any) -> bool:
        """Whether a limit forbids a term its greatest contribution, so that a condition met decides the others."""
        numbers, at = self.numbers, self.all[term.counter].at
        total = numbers[at + LOW] // low * high if term.identity else numbers[at + LOW] - low + high
        return total > numbers[at + CAP] or numbers[at + ADMITTED] is not None

    def _update_high(self, counter: Counter, old: Any, new: Any) -> None:
        numbers, at = self.numbers, counter.at + HIGH
        if INFINITE in (old, new, numbers[at]):
            total: Any = counter.base
            for term in counter.terms:
                value = numbers[term.at + 1]
                total = total * value if counter.identity else total + value
            numbers[at] = total
        elif counter.identity:
            numbers[at] = numbers[at] // old * new
        else:
            numbers[at] += new - old

    def limit(self, number: int, index: int, value: Any) -> None:
        """Tighten the cap or the floor of a counter."""
        at = self.all[number].at + index
        old = self.numbers[at]
        if (value < old) if index == CAP else (value > old):
            self.numbers[at] = value
            self.pending[number] = None

    def propagate(self) -> None:
        """Check one pending counter against its limits, tell who reads it, and narrow what would break a limit."""
        counter, numbers = self.all[self.pending.popitem()[0]], self.numbers
        at = counter.at
        if counter.need & numbers[ASLEEP]:
            return
        for parent in counter.parents:
            self.update_term(parent)
        for bound, disjunctions in counter.readers.items():
            if bound.value is None or not bound.possible(self.store):
                self.disjunctions.update(dict.fromkeys(disjunctions))
        if numbers[at + LOW] > numbers[at + CAP] or numbers[at + HIGH] < numbers[at + FLOOR]:
            self.store.fail(counter)
        if numbers[at + HIGH] > numbers[at + CAP]:
            self._keep_under(counter)
        if numbers[at + LOW] < numbers[at + FLOOR]:
            self._keep_over(counter)
        if numbers[at + ADMITTED] is not None:
            self._keep_exact(counter)

    def enforce(self, bound: Bound, reason: Any) -> None:
        """Make a bound hold: limit the counter, and narrow the integer choice to values that its range allows."""
        number, operator = bound.counter.number, bound.operator
        low, high = bound.counter.range(self.numbers)
        if bound.domain is not None:
            results = self.results(bound.counter) if operator == "==" else None
            keep = 0
            for i, value in enumerate(bound.domain.values):
                if bound.meets(low, high, int(value)) and (results is None or value in results):
                    keep |= 1 << i
            self.store.narrow(bound.slot, keep, reason)
        values = bound.values(self.store)
        if operator in ("==", "<=", "<"):
            self.limit(number, CAP, max(values) - (operator == "<"))
        if operator in ("==", ">=", ">"):
            self.limit(number, FLOOR, min(values) + (operator == ">"))
        if operator == "==":
            self._admit(number, frozenset(values))

    def _admit(self, number: int, values: frozenset[int]) -> None:
        """Allow only some results."""
        at = self.all[number].at + ADMITTED
        old = self.numbers[at]
        new = values if old is None else old & values
        if new != old:
            self.numbers[at] = new
            self.pending[number] = None

    def _keep_under(self, counter: Counter) -> None:
        numbers = self.numbers
        low, cap = numbers[counter.at + LOW], numbers[counter.at + CAP]
        for term in counter.terms:
            least, most = numbers[term.at], numbers[term.at + 1]
            if least == most:
                continue
            limit = cap // (low // least) if counter.identity else cap - low + least
            if most > limit:
                self._at_most(term, limit)

    def _at_most(self, term: Term, limit: Any) -> None:
        if term.need & self.numbers[ASLEEP]:
            return
        least, most = self.increment(term)
        if least > limit:
            self.store.falsify_last(term.literals, self.all[term.counter])
        elif most > limit and self.store.all_true(term.literals):
            self._narrow(term, 0, limit)

    def _narrow(self, term: Term, least: Any, most: Any) -> None:
        """Keep the increment of a term that surely counts inside a range."""
        counter = self.all[term.counter]
        if term.slot >= 0:
            values = self.domain_of[term.slot].values
            keep = sum(1 << i for i, value in enumerate(values) if least <= int(value) <= most)
            self.store.narrow(term.slot, keep, counter)
        elif term.child >= 0:
            self.limit(term.child, CAP, most)
            self.limit(term.child, FLOOR, least)
        elif not least <= term.constant <= most:
            self.store.fail(counter)

    def _keep_over(self, counter: Counter) -> None:
        numbers = self.numbers
        high, floor = numbers[counter.at + HIGH], numbers[counter.at + FLOOR]
        if high == INFINITE:
            return
        for term in counter.terms:
            least, most = numbers[term.at], numbers[term.at + 1]
            if least == most:
                continue
            limit = -(-floor // (high // most)) if counter.identity else most - high + floor
            if least < limit and limit > counter.identity:
                self._at_least(term, limit)

    def _at_least(self, term: Term, limit: Any) -> None:
        if term.need & self.numbers[ASLEEP]:
            return
        for slot, mask in term.literals:
            self.store.narrow(slot, mask, self.all[term.counter])
        self._narrow(term, limit, INFINITE)

    def results(self, counter: Counter) -> set[int] | None:
        """Return all results that a counter can have, as far as its terms are independent; None if there are many."""
        reached = {counter.base}
        for term in counter.terms:
            values = self._values(term)
            if values is None:
                return None
            reached = _combine(counter.identity, reached, values)
            if len(reached) > MOST_RESULTS:
                return None
        return reached

    def _values(self, term: Term) -> set[int] | None:
        """Return all contributions of a term; None if they are a range."""
        if term.child >= 0:
            return None
        least, most = self.numbers[term.at], self.numbers[term.at + 1]
        identity = term.identity
        if least == most == identity:
            return {identity}
        values = {term.constant}
        if term.slot >= 0:
            values = {int(value) for value in self.domain_of[term.slot].select(self.domains[term.slot])}
        sure = not term.need & self.numbers[ASLEEP] and self.store.all_true(term.literals)
        return values if sure else values | {identity}

    def _keep_exact(self, counter: Counter) -> None:
        """Keep only contributions with which an admitted result can be reached."""
        numbers = self.numbers
        before = [{counter.base}]
        choices: list[set[int]] = []
        for term in counter.terms:
            values = self._values(term)
            if values is None or len(before[-1]) > MOST_RESULTS:
                return
            choices.append(values)
            before.append(_combine(counter.identity, before[-1], values))
        cap, floor = numbers[counter.at + CAP], numbers[counter.at + FLOOR]
        after = {value for value in numbers[counter.at + ADMITTED] & before[-1] if floor <= value <= cap}
        if not after:
            self.store.fail(counter)
        for term, values, reached in zip(reversed(counter.terms), reversed(choices), before[-2::-1]):
            after, kept = _supported(counter.identity, reached, values, after)
            if kept != values:
                self._keep_values(term, kept)

    def _keep_values(self, term: Term, kept: set[int]) -> None:
        if term.need & self.numbers[ASLEEP]:
            return
        counter = self.all[term.counter]
        if term.slot >= 0:
            values = self.domain_of[term.slot].values
            keep = sum(1 << i for i, value in enumerate(values) if int(value) in kept)
        else:
            keep = int(term.constant in kept)
        if not keep & (self.domains[term.slot] if term.slot >= 0 else 1):
            self.store.falsify_last(term.literals, self.all[term.counter])
            return
        if counter.identity not in kept:
            for slot, mask in term.literals:
                self.store.narrow(slot, mask, counter)
        if term.slot >= 0 and self.store.all_true(term.literals):
            self.store.narrow(term.slot, keep, counter)


def _combine(product: int, reached: set[int], values: set[int]) -> set[int]:
    if product:
        return {a * b for a in reached for b in values}
    return {a + b for a in reached for b in values}


def _supported(product: int, reached: set[int], values: set[int], after: set[int]) -> tuple[set[int], set[int]]:
    """Return which of `reached` and which of `values` lead into `after`."""
    pairs = [(a, b) for a in reached for b in values if (a * b if product else a + b) in after]
    return {a for a, _ in pairs}, {b for _, b in pairs}
