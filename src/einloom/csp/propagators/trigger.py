"""Triggers: when the objects of an extension begin to exist. (The activity constraints of a conditional CSP.)

A trigger fires when all its conditions are entailed, and is refuted when one of them is impossible. An extension
wakes when any of its triggers fires; it is gone when all of them are refuted, so that nothing needs to wait for its
objects any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from einloom.csp.compile.rows import TriggerRow
from einloom.csp.layout.names import Names
from einloom.csp.layout.slots import Layout
from einloom.csp.propagators.counter import literal_masks
from einloom.csp.propagators.propagator import Change, Explanation, extension_slots
from einloom.csp.propagators.store import ASLEEP, GONE, REFUTED, Store
from einloom.csp.propagators.watches import TRIGGER, Watches
from einloom.frozen import frozen

__all__ = ["Trigger", "Triggers", "make_triggers"]


@frozen
class Trigger:
    """A trigger for one tuple of objects.

    Attributes:
        literals: `(slot, mask)` conditions, all needed.
        need: extensions that its objects need.
        extension: number of the extension that it wakes.
    """

    number: int
    row: TriggerRow
    objects: tuple[int, ...]
    literals: tuple[tuple[int, int], ...]
    need: int
    extension: int

    def watch(self, watches: Watches) -> None:
        """Look again when a condition is decided, and when its objects wake."""
        wake = TRIGGER, self.number
        watches.start.append(wake)
        for slot, mask in self.literals:
            watches.literal_decided(slot, mask, wake)
        watches.extension(self.need, wake, at_loss=False)

    def explain(self, change: Change, names: Names) -> Explanation:
        """Say that the extension wakes."""
        said = f"extension {names.extensions[self.extension]!r} wakes  [{self.row.place}]"
        return said, (*(slot for slot, _ in self.literals), *extension_slots(self.need))


def make_triggers(layout: Layout) -> list[Trigger]:
    """Return the triggers of a problem that can fire."""
    members = layout.members
    found: list[Trigger] = []
    for number, objects, need, extension in members.fired:
        row = members.space.triggers[number]
        literals = literal_masks(layout, row.literals, objects)
        if literals is not None:
            found.append(Trigger(len(found), row, objects, literals, need, extension))
    return found


class Triggers:
    """The triggers of one state.

    Args:
        wake, lose: what else happens when an extension wakes or is gone.
    """

    def __init__(
        self,
        store: Store,
        triggers: Sequence[Trigger],
        extensions: int,
        wake: Callable[[Trigger], None],
        lose: Callable[[int], None],
    ) -> None:
        self.store = store
        self.numbers = store.numbers
        self.all = triggers
        self.wake = wake
        self.lose = lose
        self.of_extension = [0] * extensions
        for trigger in triggers:
            self.of_extension[trigger.extension] |= 1 << trigger.number

    def start(self) -> None:
        """Note the extensions that no trigger can ever wake."""
        for extension, triggers in enumerate(self.of_extension):
            if not triggers:
                self._lose(extension)

    def check(self, number: int) -> None:
        """Fire or refute a trigger, if its conditions say so."""
        trigger, numbers = self.all[number], self.numbers
        if numbers[REFUTED] >> number & 1:
            return
        domains = self.store.domains
        entailed = True
        for slot, mask in trigger.literals:
            mine = domains[slot]
            if not mine & mask:
                self._refute(number)
                return
            if mine & ~mask:
                entailed = False
        if entailed and numbers[ASLEEP] >> trigger.extension & 1 and not trigger.need & numbers[ASLEEP]:
            numbers[ASLEEP] &= ~(1 << trigger.extension)
            self.wake(trigger)

    def _refute(self, number: int) -> None:
        numbers = self.numbers
        numbers[REFUTED] |= 1 << number
        extension = self.all[number].extension
        bit = 1 << extension
        if self.of_extension[extension] & ~numbers[REFUTED] or not numbers[ASLEEP] & bit or numbers[GONE] & bit:
            return
        self._lose(extension)

    def _lose(self, extension: int) -> None:
        """Note that an extension can never wake; neither can what only its objects could trigger."""
        self.numbers[GONE] |= 1 << extension
        for trigger in self.all:
            if trigger.need >> extension & 1 and not self.numbers[REFUTED] >> trigger.number & 1:
                self._refute(trigger.number)
        self.lose(extension)
