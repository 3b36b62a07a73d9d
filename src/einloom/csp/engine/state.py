"""`State`: the store of one candidate with its propagators, for searches. People use `Domains`.

Propagators only ever take values away and read nothing but domains and the frozen tables, so there is one fixpoint,
whatever the order: decisions commute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from marshal import dumps, loads
from typing import Any
from zlib import compress, decompress

from einloom.csp.engine.grounding import Ground
from einloom.csp.engine.propagation import DERIVED, bind_run, bind_settle
from einloom.csp.engine.tables import Tables
from einloom.csp.layout.names import Names
from einloom.csp.layout.slots import merged_limits
from einloom.csp.propagators.counter import CAP, FLOOR, INFINITE
from einloom.csp.propagators.counting import Counting
from einloom.csp.propagators.disjunction import Disjunctions
from einloom.csp.propagators.propagator import Change, Explanation
from einloom.csp.propagators.representatives import Representatives
from einloom.csp.propagators.store import ASLEEP, LIMITS, Conflict, Store
from einloom.csp.propagators.trigger import Trigger, Triggers

__all__ = ["Decision", "State"]


class Decision:
    """The reason of a change that a search or a person made."""

    __slots__ = ("mask", "slot")

    def __init__(self, slot: int, mask: int) -> None:
        self.slot = slot
        self.mask = mask

    def explain(self, change: Change, names: Names) -> Explanation:
        """Say that it was decided."""
        return "decided", (self.slot,)


class State(Store):
    """The domains of one candidate, in place: read `domains`, change them with `restrict`.

    Attributes:
        tables: the tables of its problem.
    """

    def __init__(self, tables: Tables) -> None:
        super().__init__(*tables.start(), tables.rows.places)
        self.tables = tables
        disjunctions: dict[int, None] = {}
        self.counting = Counting(self, tables.counters, disjunctions)
        self._disjunctions = Disjunctions(self, tables.disjunctions, self.counting, disjunctions)
        self._representatives = Representatives(self, tables.quotients)
        self._triggers = Triggers(self, tables.triggers, len(tables.members.extensions), self._wake, self._lose)
        self._calls: list[Callable[[Any], None]] = [
            self.counting.update_term,
            self.counting.schedule,
            self._representatives.member_changed,
            self._representatives.pair_changed,
            self._representatives.everyone,
            self._triggers.check,
            disjunctions.update,
            *tables.functions(self),
        ]
        numeric = ((disjunctions, self._disjunctions.propagate), (self.counting.pending, self.counting.propagate))
        elect = self._representatives.propagate
        slow = (*numeric, (self._representatives.pairs, elect), (self._representatives.pending, elect))
        self._run = bind_run(self, tables.watches, self._calls, slow)
        self._settle = bind_settle(self, tables.watches, self._calls, numeric)

    # -- for searches -------------------------------------------------------------------------------------------------

    def restrict(self, slot: int, mask: int) -> bool:
        """Keep only the values of `mask` in a slot and propagate. False is a dead end: `pop`, or drop the state."""
        old = self.domains[slot]
        new = old & mask
        if new == old:
            return True
        try:
            self.assign(slot, new, Decision(slot, mask))
            self._run()
        except Conflict:
            self._clear()
            return False
        return True

    def limit(self, counter: int, low: int | None, high: int | None) -> bool:
        """Bound a counter and propagate; see `restrict`."""
        self.numbers[LIMITS] = merged_limits(self.numbers[LIMITS], counter, low, high)
        try:
            if low is not None:
                self.counting.limit(counter, FLOOR, low)
            if high is not None:
                self.counting.limit(counter, CAP, high)
            self._run()
        except Conflict:
            self._clear()
            return False
        return True

    def open(self) -> list[int]:
        """Return the slots that are alive, exposed and undecided, in order."""
        domains, needs, asleep = self.domains, self.tables.layout.need_of, self.numbers[ASLEEP]
        exposed = self.tables.layout.exposed
        return [slot for slot in exposed if domains[slot] & (domains[slot] - 1) and not needs[slot] & asleep]

    def next_open(self, slots: Sequence[int]) -> int:
        """Return the first slot of `slots` that is alive and undecided; -1 if there is none."""
        domains, needs, asleep = self.domains, self.tables.layout.need_of, self.numbers[ASLEEP]
        for slot in slots:
            if domains[slot] & (domains[slot] - 1) and not needs[slot] & asleep:
                return slot
        return -1

    @property
    def is_leaf(self) -> bool:
        """Whether nothing is open."""
        return self.next_open(self.tables.layout.exposed) < 0

    @property
    def alive(self) -> int:
        """Bit mask of the extensions that fired."""
        return ((1 << len(self.tables.members.extensions)) - 1) & ~self.asleep

    def range(self, counter: int) -> tuple[int, float]:
        """Return the least and the greatest value of a counter, its limits included."""
        return self.tables.counters.all[counter].range(self.numbers)

    def restrict_name(self, name: str, *values: str | int) -> bool:
        """Restrict by name, in either direction; see `restrict`."""
        variable = self.tables.names.variable(name)
        return self.restrict(variable.slot, self.tables.names.mask(variable, values))

    def low(self, counter: str) -> int:
        """Return the smallest value that a counter may have, by name."""
        return self.range(self.tables.names.counter(counter))[0]

    def high(self, counter: str) -> int | None:
        """Return the largest value that a counter may have; None if it is not bounded."""
        high = self.range(self.tables.names.counter(counter))[1]
        return None if high == INFINITE else int(high)

    def snapshot(self) -> bytes:
        """Return the domains as bytes, with the limits that were set on counters."""
        return self.tables.layout.snapshot(self.domains, self.asleep, self.numbers[LIMITS])

    def load(self, snapshot: bytes) -> None:
        """Become the state of a snapshot, which must be one that propagation has seen. The trail restarts at the root.

        Domains are copied and rows flipped where they differ from the root's; only what no snapshot holds, the numbers
        of counters and triggers, is propagated.

        Raises:
            ValueError: it is not a snapshot of this problem.
        """
        tables = self.tables
        domains, asleep, limits = tables.layout.parse(snapshot)
        lists, trail = tables.start()
        self.restore((*lists, len(trail)))
        changed = {slot: old for slot, (old, new) in enumerate(zip(self.domains, domains)) if old != new}
        self.trail.extend((slot, old, None) for slot, old in changed.items())
        for row, delta in tables.rows.deltas([(slot, old ^ domains[slot]) for slot, old in changed.items()]):
            self.rows[row] ^= delta
        self.domains[:] = domains
        self.queue.update(changed)
        woken = self.asleep & ~asleep
        for extension in range(woken.bit_length()):
            if woken >> extension & 1:
                self._rewake(extension)
        self._settle()
        self._representatives.clear()
        for counter, low, high in limits:
            self.limit(counter, low, high)

    def pack(self) -> bytes:
        """Return everything but the trail as few bytes, for the nodes of a search tree: `unpack` propagates nothing.

        Rows are left out: they would be more than half of it, and follow from the domains. It is for this process and
        problem only; `snapshot` is what is compared and kept.
        """
        return compress(dumps((self.domains, self.numbers)))

    def unpack(self, packed: bytes) -> None:
        """Become the state that `pack` gave. The trail restarts at the root, so that nothing since can be explained."""
        domains, numbers = loads(decompress(packed))
        rows = self.tables.rows.fill(domains, numbers[ASLEEP])
        self.restore((domains, rows, numbers, len(self.tables.start()[1])))

    def _clear(self) -> None:
        self.queue.clear()
        self._disjunctions.pending.clear()
        self.counting.pending.clear()
        self._representatives.clear()

    # -- what begins and ends with extensions --------------------------------------------------------------------------

    def start(self) -> bool:
        """Post everything at the root and propagate; False if the constraints alone leave nothing."""
        try:
            self.counting.reset()
            self._post(self.tables.ground(0))
            for number, argument in self.tables.watches.start:
                self._calls[number](argument)
            self._triggers.start()
            self._run()
        except Conflict:
            return False
        return True

    def _wake(self, trigger: Trigger) -> None:
        """Let the objects of an extension begin to exist."""
        self.trail.append((-1 - trigger.extension, 0, trigger))
        self._join(trigger.extension)
        for need in self.tables.posted_with[trigger.extension]:
            if not need & self.asleep:
                self._post(self.tables.ground(need))
        for number, argument in self.tables.watches.awake[trigger.extension]:
            self._calls[number](argument)

    def _rewake(self, extension: int) -> None:
        """Wake an extension in a state whose domains know of it already."""
        self.numbers[ASLEEP] &= ~(1 << extension)
        self._join(extension)
        for need in self.tables.posted_with[extension]:
            if not need & self.asleep:
                self._disjunctions.pending.update(self.tables.ground(need).active_disjunctions)
        for number, argument in self.tables.watches.awake[extension]:
            if number in DERIVED:
                self._calls[number](argument)

    def _join(self, extension: int) -> None:
        """Add the members that are awake now to the rows of their sets."""
        for row, bit, need in self.tables.joins[extension]:
            if not need & self.asleep:
                self.rows[row] |= bit

    def _lose(self, extension: int) -> None:
        """Have counters and quotients look again at what depended on an extension that is gone."""
        for number, argument in self.tables.watches.gone[extension]:
            self._calls[number](argument)

    def _post(self, ground: Ground) -> None:
        """Let the constraints of a ground hold from now on; see `Ground`."""
        domains = self.domains
        if ground.first is not None and [domains[slot] for slot in ground.slots] == ground.full:
            self._narrow_fresh(ground)
        else:
            self._narrow_restricted(ground)
        for slot, mask in ground.restrictions.items():
            self.narrow(slot, mask, ground.reasons[slot])
        for table in ground.active:
            self.propagate_table(table.entry)
        for slot, mask, tables in ground.if_narrowed:
            if domains[slot] != mask:
                for table in tables:
                    self.propagate_table(table.entry)
        self._disjunctions.pending.update(ground.active_disjunctions)
        for slot, mask, disjunctions in ground.if_false:
            if not domains[slot] & mask:
                self._disjunctions.pending.update(disjunctions)
        for slot in self.tables.restless.get(ground.need, ()):
            self.queue.setdefault(slot, self.tables.layout.full[slot])

    def _narrow_fresh(self, ground: Ground) -> None:
        """Give the slots that begin to matter their first masks, all at once: none of them has been restricted yet."""
        domains, queue, rows, append = self.domains, self.queue, self.rows, self.trail.append
        for slot, full, mask, reason in ground.first or ():
            append((slot, full, reason))
            domains[slot] = mask
            queue[slot] = full
        for row, delta in ground.deltas:
            rows[row] ^= delta

    def _narrow_restricted(self, ground: Ground) -> None:
        """Queue the slots that begin to matter and were restricted before, then give all of them their first masks."""
        for slot, full in zip(ground.slots, ground.full):
            if self.domains[slot] != full:
                self.queue.setdefault(slot, full)
        if ground.impossible is not None:
            self.fail(ground.impossible)
        for slot, mask in ground.own.items():
            self.narrow(slot, mask, ground.reasons[slot])
