"""`Watches`: who is woken by what. Filled once for a problem, shared by its states.

A wake is `(number, argument)`: the state calls its function of that number. There are five events:

    a literal becomes false    a slot has lost the last value of a mask. As in SAT solvers, most propagators wait for
                               nothing else; a literal that becomes true is its complement that becomes false
    a slot changes             for propagators that reason about single values
    an extension wakes, goes   its objects exist now, or never will
    the start                  once, at the root

Tables wake at every change of a slot, and are nine tenths of all wakes: they lie in lists of their own, by arity, from
which the inner loop runs them without a call.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

__all__ = ["COUNTER", "DISJUNCTION", "FUNCTIONS", "MEMBER", "PAIR", "QUOTIENT", "TERM", "TRIGGER", "Wake", "Watches"]

TERM, COUNTER, MEMBER, PAIR, QUOTIENT, TRIGGER, DISJUNCTION, FUNCTIONS = range(8)
"""Numbers of wakes. From `FUNCTIONS` on: the functions of paths and lines, in the order of `Watches.reserve`."""

Wake = tuple[int, Any]


class Watches:
    """The watch lists of a problem.

    Attributes:
        falsified: for each slot and mask, the wakes of those that wait for the last value of the mask to go.
        changed: for each slot, the wakes at every change.
        pairs, triples, wide: for each slot, the entries `(table, slot, .., need, reason)` of tables over 2, 3, more.
        awake, gone: wakes for each extension.
        start: wakes at the root.
        functions: the next free number of a wake.
    """

    def __init__(self, full: Sequence[int], extensions: int) -> None:
        self.full = full
        self.falsified: list[dict[int, list[Wake]]] = [{} for _ in full]
        self.changed: list[list[Wake]] = [[] for _ in full]
        self.pairs: list[list[tuple[Any, ...]]] = [[] for _ in full]
        self.triples: list[list[tuple[Any, ...]]] = [[] for _ in full]
        self.wide: list[list[tuple[Any, ...]]] = [[] for _ in full]
        self.awake: list[dict[Wake, None]] = [{} for _ in range(extensions)]
        self.gone: list[dict[Wake, None]] = [{} for _ in range(extensions)]
        self.start: list[Wake] = []
        self.functions = FUNCTIONS

    def reserve(self, count: int) -> int:
        """Return the first of some numbers of wakes that no other constraint uses."""
        self.functions += count
        return self.functions - count

    def literal_false(self, slot: int, mask: int, wake: Wake) -> None:
        """Wake when a slot has no value of a mask any more."""
        self.falsified[slot].setdefault(mask, []).append(wake)

    def literal_decided(self, slot: int, mask: int, wake: Wake) -> None:
        """Wake when a literal has become false, or true."""
        full = self.full[slot]
        for each in {mask, full & ~mask} - {0, full}:
            self.literal_false(slot, each, wake)

    def disjunction(self, number: int, literals: Iterable[tuple[int, int]], slots: Iterable[int]) -> None:
        """Queue a disjunction when one of its literals becomes false, and whenever one of some slots changes.

        Hundreds of disjunctions share a literal: one wake with all their numbers queues them in one call.
        """
        lists = [self.falsified[slot].setdefault(mask, []) for slot, mask in literals]
        lists += [self.changed[slot] for slot in slots]
        for wakes in lists:
            for wake, numbers in wakes:
                if wake == DISJUNCTION:
                    numbers[number] = None
                    break
            else:
                wakes.append((DISJUNCTION, {number: None}))

    def extension(self, need: int, wake: Wake, *, at_wake: bool = True, at_loss: bool = True) -> None:
        """Wake when an extension of `need` wakes, and when it is gone."""
        for lists, wanted in ((self.awake, at_wake), (self.gone, at_loss)):
            for number, wakes in enumerate(lists):
                if wanted and need >> number & 1:
                    wakes[wake] = None

    def table(self, entry: tuple[Any, ...]) -> None:
        """Run a table at every change of its slots."""
        slots: tuple[int, ...] = entry[1:-2]
        lists = self.pairs if len(slots) == 2 else self.triples if len(slots) == 3 else self.wide
        for slot in slots:
            lists[slot].append(entry)

    def forget(self, domains: Sequence[int], entailed: Collection[int], idle: Collection[int]) -> None:
        """Drop the watches that cannot matter any more in domains that no candidate exceeds.

        Args:
            entailed: disjunctions that hold.
            idle: terms that never count.
        """
        for lists in (self.pairs, self.triples, self.wide):
            for entries in lists:
                entries[:] = [
                    each for each in entries if not each[0].is_entailed([domains[slot] for slot in each[1:-2]])
                ]
        for slot, watches in enumerate(self.falsified):
            for mask in list(watches):
                watches[mask] = _without(watches[mask], entailed, idle)
                if not watches[mask] or not domains[slot] & mask or not domains[slot] & ~mask:
                    del watches[mask]
        for wakes in self.changed:
            wakes[:] = _without(wakes, entailed, idle)


def _without(wakes: list[Wake], entailed: Collection[int], idle: Collection[int]) -> list[Wake]:
    found: list[Wake] = []
    for number, argument in wakes:
        if number == DISJUNCTION:
            argument = {each: None for each in argument if each not in entailed}
        if (number != DISJUNCTION or argument) and (number != TERM or argument not in idle):
            found.append((number, argument))
    return found
