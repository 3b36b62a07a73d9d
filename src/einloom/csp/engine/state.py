"""`State`: a mutable vector of domains with propagation and undo, for searches. People use `Candidate`.

Propagators only ever take values away and read nothing but domains and the frozen problem, so there is one
fixpoint, whatever
the order: decisions commute. Undo restores copies of four flat lists, which in Python is cheaper than a walk back;
    the trail of changes is kept to explain them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from einloom.csp.engine.counters import ASLEEP, CAP, FLOOR, HIGH, INFINITE, LIMITS, LOW
from einloom.csp.engine.counting import Counting
from einloom.csp.engine.layout import merged_limits
from einloom.csp.engine.linebinding import LineBinding
from einloom.csp.engine.lowering import Waking
from einloom.csp.engine.propagation import Dead, bind
from einloom.csp.engine.quotients import Electing

if TYPE_CHECKING:
    from einloom.csp.engine.ground import Ground
    from einloom.csp.engine.problem import Problem

__all__ = ["Decision", "Limit", "State"]

Saved = tuple[list[int], list[int], list[Any], int]


class Decision:
    """The reason of a change that a search or a person made."""

    __slots__ = ("mask", "slot")

    def __init__(self, slot: int, mask: int) -> None:
        self.slot = slot
        self.mask = mask


class Limit:
    """The reason of a change that follows from a limit that was set on a counter from outside."""

    __slots__ = ("counter",)

    def __init__(self, counter: int) -> None:
        self.counter = counter


class State:
    """The domains of one candidate, in place.

    Attributes:
        domains: one mask for each slot; read it, change it with `restrict`.
        rows, numbers: what propagators derive from the domains; not for users.
        trail: `(slot, old mask, reason)` of every change since the problem was made.
        failure: what failed, after a dead end; else None.
    """

    domains: list[int]
    rows: list[int]
    numbers: list[Any]
    trail: list[tuple[int, int, Any]]

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.domains, self.rows, self.numbers, self.trail = problem.first_lists()
        self.failure: Any = None
        self.disjoined: dict[int, None] = {}
        self._saved: list[Saved] = []
        self.counting = Counting(self, problem.counters)
        self.electing = Electing(self, problem.quotients)
        self.waking = Waking(self, problem.triggers)
        self.handlers: list[Any] = [
            self.counting.touch,
            self.electing.member_changed,
            self.electing.pair_changed,
            self.waking.check,
            self.disjoined.update,
        ]
        self.dirty: dict[int, int] = {}
        self.assign, self._run, self._settle = bind(self)
        for number in problem.line_numbers:
            self.handlers += problem.space.lines[number](LineBinding(self, number))

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
        except Dead:
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
        except Dead:
            self._clear()
            return False
        return True

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

    def open(self) -> list[int]:
        """Return the slots that are alive, exposed and undecided, in order."""
        asleep = self.numbers[ASLEEP]
        domains, needs = self.domains, self.problem.layout.need_of
        return [
            slot for slot in self.problem.exposed if domains[slot] & (domains[slot] - 1) and not needs[slot] & asleep
        ]

    def next_open(self, slots: Sequence[int]) -> int:
        """Return the first slot of `slots` that is alive and undecided; -1 if there is none."""
        domains, needs, asleep = self.domains, self.problem.layout.need_of, self.numbers[ASLEEP]
        for slot in slots:
            if domains[slot] & (domains[slot] - 1) and not needs[slot] & asleep:
                return slot
        return -1

    @property
    def is_leaf(self) -> bool:
        """Whether nothing is open."""
        return self.next_open(self.problem.exposed) < 0

    @property
    def alive(self) -> int:
        """Bit mask of the lowerings that fired."""
        return ((1 << len(self.problem.layout.members.lowerings)) - 1) & ~self.numbers[ASLEEP]

    def restrict_name(self, name: str, *values: str | int) -> bool:
        """Restrict by name, in either direction; see `restrict`."""
        variable = self.problem.variable(name)
        return self.restrict(variable.slot, self.problem.mask(variable, values))

    def low(self, counter: str) -> int:
        """Return the smallest value that a counter may have, by name."""
        return self.range(self.problem.counter(counter))[0]

    def high(self, counter: str) -> int | None:
        """Return the largest value that a counter may have; None if it is not bounded."""
        high = self.range(self.problem.counter(counter))[1]
        return None if high == INFINITE else int(high)

    def snapshot(self) -> bytes:
        """Return the domains as bytes, with the limits that were set on counters."""
        return self.problem.layout.snapshot(self.domains, self.numbers[ASLEEP], self.numbers[LIMITS])

    def load(self, snapshot: bytes) -> None:
        """Become the state of a snapshot, which must be one that propagation has seen. The trail restarts at the root.

        Raises:
            ValueError: it is not a snapshot of this problem.
        """
        domains, asleep, limits = self.problem.layout.parse(snapshot)
        root = self.problem.root_lists
        self.restore((*root[:3], len(root[3])))
        changed = {slot: old for slot, (old, new) in enumerate(zip(self.domains, domains)) if old != new}
        self.trail += [(slot, old, None) for slot, old in changed.items()]
        for row, delta in self.problem.rows.deltas([(slot, old ^ domains[slot]) for slot, old in changed.items()]):
            self.rows[row] ^= delta
        self.domains[:] = domains
        self.dirty.update(changed)
        self.waking.wake_all(self.numbers[ASLEEP] & ~asleep)
        self._settle()
        for counter, low, high in limits:
            self.limit(counter, low, high)

    # -- for propagators ----------------------------------------------------------------------------------------------

    @property
    def asleep(self) -> int:
        """Bit mask of the lowerings that have not fired."""
        return self.numbers[ASLEEP]

    def narrow(self, slot: int, mask: int, reason: Any) -> None:
        """Keep only the values of `mask` in a slot."""
        old = self.domains[slot]
        new = old & mask
        if new != old:
            self.assign(slot, new, reason)

    def die(self, reason: Any) -> NoReturn:
        """Give up: a constraint cannot hold."""
        self.failure = reason
        raise Dead

    def range(self, counter: int) -> tuple[int, float]:
        """Return the least and the greatest value of a counter, its limits included."""
        at = self.problem.counters.all[counter].at
        numbers = self.numbers
        return max(numbers[at + LOW], numbers[at + FLOOR]), min(numbers[at + HIGH], numbers[at + CAP])

    def cap(self, counter: int, value: int, reason: Any) -> None:
        """Bound a counter from above."""
        self.counting.limit(counter, CAP, value)

    def floor(self, counter: int, value: int, reason: Any) -> None:
        """Bound a counter from below."""
        self.counting.limit(counter, FLOOR, value)

    def admit(self, counter: int, values: Sequence[int], reason: Any) -> None:
        """Allow only some results of a counter."""
        self.counting.admit(counter, frozenset(values))

    def _clear(self) -> None:
        self.dirty.clear()
        self.disjoined.clear()
        self.counting.pending.clear()
        self.electing.pending.clear()
        self.electing.pairs.clear()

    def activate(self, need: int) -> None:
        """Post the constraints of the objects that need exactly these lowerings."""
        problem = self.problem
        ground = problem.ground(need)
        domains, full = self.domains, problem.layout.full
        if ground.first is not None and [domains[slot] for slot in ground.slots] == ground.full:
            self._start_fresh(ground.first, ground.deltas)
        else:
            self._start_restricted(ground)
        for slot, mask in ground.restrictions.items():
            self.narrow(slot, mask, (ground, slot))
        for entry in ground.loud:
            self._post(entry)
        for slot, mask, entries in ground.quiet:
            if domains[slot] != mask:
                for entry in entries:
                    self._post(entry)
        self.disjoined.update(ground.loud_disjunctions)
        for slot, mask, numbers in ground.waiting:
            if not domains[slot] & mask:
                self.disjoined.update(numbers)
        for slot in problem.started.get(need, ()):
            self.dirty.setdefault(slot, full[slot])

    def _start_fresh(self, first: list[tuple[int, int, int, Any]], deltas: list[tuple[int, int]]) -> None:
        """Give the slots that begin to matter their first masks, all at once: none of them has been restricted yet."""
        domains, dirty, rows, append = self.domains, self.dirty, self.rows, self.trail.append
        for slot, full, mask, reason in first:
            append((slot, full, reason))
            domains[slot] = mask
            dirty[slot] = full
        for row, delta in deltas:
            rows[row] ^= delta

    def _start_restricted(self, ground: Ground) -> None:
        """Queue the slots that begin to matter and were restricted before, then give all of them their first masks."""
        full = self.problem.layout.full
        for slot in ground.slots:
            if self.domains[slot] != full[slot]:
                self.dirty.setdefault(slot, full[slot])
        if ground.impossible:
            self.die((ground, ()))
        for slot, mask in ground.own.items():
            self.narrow(slot, mask, (ground, slot))

    def _post(self, entry: tuple[Any, ...]) -> None:
        domains, slots = self.domains, entry[1:-1]
        for slot, mask in zip(slots, entry[0][tuple([domains[slot] for slot in slots])]):
            self.narrow(slot, mask, entry)

    def start(self) -> None:
        """Post everything at the root and propagate.

        Raises:
            Dead: the constraints alone leave nothing.
        """
        problem = self.problem
        self.counting.reset()
        self.activate(0)
        for counter in problem.counters.all:
            self.counting.pending[counter.number] = None
        for quotient in problem.quotients:
            self.electing.everyone(quotient.number)
        for function, number in problem.root_lines:
            self.handlers[function](number)
        self.waking.start()
        self._run()
