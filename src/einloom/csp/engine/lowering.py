"""Triggers of one problem and the lowerings that they wake; `Waking` runs them for one state.

A trigger fires when all its conditions are entailed, and is refuted when one of them is impossible. A lowering
wakes when any of its triggers fires; it is gone when all of them are refuted, so that nothing needs to wait for its
objects any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from einloom.csp.compile.rows import TriggerRow
from einloom.csp.engine.counters import ASLEEP, GONE, REFUTED, literal_masks

if TYPE_CHECKING:
    from einloom.csp.engine.layout import Layout
    from einloom.csp.engine.state import State

__all__ = ["Trigger", "Waking", "make_triggers"]


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger for one tuple of objects.

    Attributes:
        literals: `(slot, mask)` conditions, all needed.
        need: lowerings that its objects need.
        lowering: number of the lowering that it wakes.
    """

    number: int
    row: TriggerRow
    objects: tuple[int, ...]
    literals: tuple[tuple[int, int], ...]
    need: int
    lowering: int


def make_triggers(layout: Layout) -> list[Trigger]:
    """Return the triggers of a problem that can fire."""
    members = layout.members
    found: list[Trigger] = []
    for number, objects, need, lowering in members.fired:
        row = members.space.triggers[number]
        literals = literal_masks(layout, row.literals, objects)
        if literals is not None:
            found.append(Trigger(len(found), row, objects, literals, need, lowering))
    return found


class Waking:
    """The triggers of one state."""

    __slots__ = ("numbers", "of_lowering", "problem", "state", "triggers")

    def __init__(self, state: State, triggers: list[Trigger]) -> None:
        self.state = state
        self.problem = state.problem
        self.numbers = state.numbers
        self.triggers = triggers
        self.of_lowering = [0] * len(state.problem.layout.members.lowerings)
        for trigger in triggers:
            self.of_lowering[trigger.lowering] |= 1 << trigger.number

    def start(self) -> None:
        """Look at all triggers, and note the lowerings that no trigger can ever wake."""
        for lowering, triggers in enumerate(self.of_lowering):
            if not triggers:
                self._lose(lowering)
        for trigger in self.triggers:
            self.check(trigger.number)

    def check(self, number: int) -> None:
        """Fire or refute a trigger, if its conditions say so."""
        trigger, numbers = self.triggers[number], self.numbers
        if numbers[REFUTED] >> number & 1:
            return
        domains = self.state.domains
        entailed = True
        for slot, mask in trigger.literals:
            mine = domains[slot]
            if not mine & mask:
                self._refute(number)
                return
            if mine & ~mask:
                entailed = False
        if entailed and numbers[ASLEEP] >> trigger.lowering & 1 and not trigger.need & numbers[ASLEEP]:
            self._wake(trigger)

    def _refute(self, number: int) -> None:
        numbers = self.numbers
        numbers[REFUTED] |= 1 << number
        lowering = self.triggers[number].lowering
        bit = 1 << lowering
        if self.of_lowering[lowering] & ~numbers[REFUTED] or not numbers[ASLEEP] & bit or numbers[GONE] & bit:
            return
        self._lose(lowering)

    def _lose(self, lowering: int) -> None:
        """Note that a lowering can never wake."""
        self.numbers[GONE] |= 1 << lowering
        for trigger in self.triggers:
            if trigger.need >> lowering & 1 and not self.numbers[REFUTED] >> trigger.number & 1:
                self._refute(trigger.number)
        self._revisit(lowering, self.problem.waking[lowering].terms)

    def _revisit(self, lowering: int, terms: list[int]) -> None:
        """Have counters and quotients look again at what depends on a lowering."""
        state, waking = self.state, self.problem.waking[lowering]
        for term in terms:
            state.counting.touch(term)
        state.counting.pending.update(dict.fromkeys(waking.counters))
        for quotient in waking.quotients:
            state.electing.everyone(quotient)

    def _wake(self, trigger: Trigger) -> None:
        state, lowering = self.state, trigger.lowering
        bit = 1 << lowering
        self.numbers[ASLEEP] &= ~bit
        state.trail.append((-1 - lowering, 0, trigger))
        waking = self.problem.waking[lowering]
        asleep = self.numbers[ASLEEP]
        self._join(waking.members, asleep)
        for need in self._needs(bit, asleep):
            state.activate(need)
        self._revisit(lowering, waking.bare)
        for function, number, need in waking.lines:
            if not need & asleep:
                state.handlers[function](number)
        for number in waking.triggers:
            self.check(number)

    def _join(self, members: list[tuple[int, int, int]], asleep: int) -> None:
        """Add the members that are awake now to the rows of their sets."""
        rows = self.state.rows
        for row, bit, need in members:
            if not need & asleep:
                rows[row] |= bit

    def wake_all(self, lowerings: int) -> None:
        """Wake lowerings in a state whose domains know of them already."""
        numbers, state = self.numbers, self.state
        for lowering in range(lowerings.bit_length()):
            bit = 1 << lowering
            if not lowerings & bit:
                continue
            numbers[ASLEEP] &= ~bit
            waking = self.problem.waking[lowering]
            self._join(waking.members, numbers[ASLEEP])
            for need in self._needs(bit, numbers[ASLEEP]):
                state.disjoined.update(self.problem.ground(need).loud_disjunctions)
            self._revisit(lowering, waking.bare)
            for number in waking.triggers:
                self.check(number)

    def _needs(self, bit: int, asleep: int) -> list[int]:
        """Return the masks of awake lowerings with `bit` that some constraint may need exactly."""
        every = (1 << len(self.of_lowering)) - 1
        others = [1 << i for i in range(len(self.of_lowering)) if every & ~asleep & ~bit & (1 << i)]
        return [bit + sum(part) for size in range(self.problem.most_needs) for part in combinations(others, size)]
