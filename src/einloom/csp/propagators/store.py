"""`Store`: the domains of one state, what propagators derive from them, and the trail. All that changes lies here.

Domains only ever shrink. Undo copies the three flat lists back: in Python four `list.copy` cost less than a walk back
along the trail. The trail is kept to explain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from einloom.csp.layout.bitrows import Place

__all__ = ["ASLEEP", "FIRST", "GONE", "LIMITS", "REFUTED", "Conflict", "Lists", "Moment", "Saved", "Store", "Trail"]

ASLEEP, REFUTED, GONE, LIMITS, FIRST = range(5)
"""Where the numbers of the whole state lie: masks of the extensions that sleep, of the triggers that are refuted and
of the extensions that are gone; limits set from outside, as sorted `(counter, low, high)`. Those of counters follow."""

Lists = tuple[list[int], list[int], list[Any]]
Trail = list[tuple[int, int, Any]]
Saved = tuple[list[int], list[int], list[Any], int]
Moment = tuple[Saved, Trail]


class Conflict(Exception):
    """A constraint cannot hold. Caught by `State`; users see False or a `DeadEnd`."""


class Store:
    """What the propagators of one state read and change.

    Attributes:
        domains: one mask for each slot.
        rows: the domains as rows of bits, and who is in which set; see `BitRows`.
        numbers: the state's masks, then ranges and limits of counters; see `Counters`.
        trail: `(slot, old mask, reason)` of every change since the problem was made.
        queue: the slots that have changed and whose watchers have not run, with the masks that those last saw.
        failure: the reason of a conflict; None if there was none.
        assign: `assign(slot, mask, reason)` sets a slot to a smaller mask.
    """

    def __init__(self, lists: Lists, trail: Trail, places: Sequence[Place | None]) -> None:
        domains, rows, numbers = lists
        self.domains, self.rows, self.numbers = domains.copy(), rows.copy(), numbers.copy()
        self.trail: Trail = trail.copy()
        self.queue: dict[int, int] = {}
        self.failure: Any = None
        self.assign = self._bind_assign(places)
        self._saved: list[Saved] = []

    def _bind_assign(self, places: Sequence[Place | None]) -> Callable[[int, int, Any], None]:
        """Return `assign` with its lists as local names: it runs for every change."""
        domains, rows, queue, append = self.domains, self.rows, self.queue, self.trail.append

        def assign(slot: int, mask: int, reason: Any) -> None:
            old = domains[slot]
            append((slot, old, reason))
            domains[slot] = mask
            if not mask:
                self.fail(reason)
            place = places[slot]
            if place is not None:
                steps, a, bit_a, b, bit_b = place
                for forward, backward in steps[old ^ mask]:
                    rows[forward + a] ^= bit_b
                    rows[backward + b] ^= bit_a
            if slot not in queue:
                queue[slot] = old

        return assign

    def narrow(self, slot: int, mask: int, reason: Any) -> None:
        """Keep only the values of `mask` in a slot."""
        old = self.domains[slot]
        new = old & mask
        if new != old:
            self.assign(slot, new, reason)

    def propagate_table(self, entry: tuple[Any, ...]) -> None:
        """Run a table over any number of slots; the entry is that of a `TableConstraint`."""
        slots: tuple[int, ...] = entry[1:-2]
        for slot, mask in zip(slots, entry[0][tuple([self.domains[slot] for slot in slots])]):
            if mask != self.domains[slot]:
                self.assign(slot, mask, entry[-1])

    def fail(self, reason: Any) -> NoReturn:
        """Give up: a constraint cannot hold."""
        self.failure = reason
        raise Conflict

    @property
    def asleep(self) -> int:
        """Bit mask of the extensions that have not fired."""
        return self.numbers[ASLEEP]

    def all_true(self, literals: Sequence[tuple[int, int]]) -> bool:
        """Whether all literals are true."""
        domains = self.domains
        return all(not domains[slot] & ~mask for slot, mask in literals)

    def falsify_last(self, literals: Sequence[tuple[int, int]], reason: Any) -> None:
        """Make one of some literals false: the one that is not true yet, if there is only one."""
        left = [(slot, mask) for slot, mask in literals if self.domains[slot] & ~mask]
        if not left:
            self.fail(reason)
        if len(left) == 1:
            slot, mask = left[0]
            self.narrow(slot, ~mask, reason)

    def push(self) -> None:
        """Remember this state, for `pop`."""
        self._saved.append(self.save())

    def pop(self) -> None:
        """Return to the state of the last `push` that has not been popped."""
        self.restore(self._saved.pop())

    def drop(self) -> None:
        """Forget the last `push` without going back."""
        self._saved.pop()

    def save(self) -> Saved:
        """Return a copy of this state for `restore`: fast, but larger than a snapshot."""
        return self.domains.copy(), self.rows.copy(), self.numbers.copy(), len(self.trail)

    def restore(self, saved: Saved) -> None:
        """Return to a state that `save` gave. Its trail must be a part of this state's."""
        self.domains[:], self.rows[:], self.numbers[:], length = saved
        del self.trail[length:]
        self.failure = None

    def moment(self) -> Moment:
        """Return a copy of this state for `become`, whatever happens to its trail meanwhile."""
        return self.save(), self.trail.copy()

    def become(self, moment: Moment) -> None:
        """Become the state that `moment` gave: what was propagated on the way there is not propagated again."""
        saved, self.trail[:] = moment
        self.restore(saved)
