"""`Representatives`: propagates the quotients of one state.

Who may meet the conditions, who surely does, and who may be equivalent to whom are rows of bits, so an election among
a hundred objects takes a few integer operations. It runs last of all propagators: nothing else waits for marks.
"""

from __future__ import annotations

from collections.abc import Sequence

from einloom.csp.compile.rows import FALSE, TRUE
from einloom.csp.propagators.quotient import Quotient
from einloom.csp.propagators.store import ASLEEP, GONE, Store

__all__ = ["Representatives"]


class Representatives:
    """The quotients of one state.

    Attributes:
        pending: for each quotient to look at again, the bits of its objects.
        pairs: for each row, the bits of objects to look at again in all its quotients.
    """

    def __init__(self, store: Store, quotients: Sequence[Quotient]) -> None:
        self.store = store
        self.domains, self.rows, self.numbers = store.domains, store.rows, store.numbers
        self.all = quotients
        self.by_row: dict[int, list[Quotient]] = {}
        for quotient in quotients:
            self.by_row.setdefault(quotient.row_number, []).append(quotient)
        self.pending: dict[int, int] = {}
        self.pairs: dict[int, int] = {}

    def member_changed(self, place: tuple[int, int]) -> None:
        """Look again at an object and at all that it could represent."""
        number, each = place
        quotient = self.all[number]
        rows = self.rows
        near = 0
        for start in quotient.equal:
            near |= rows[start + each]
        near = (near >> each | 1) << each & quotient.members
        self.pending[number] = self.pending.get(number, 0) | near

    def pair_changed(self, place: tuple[int, int]) -> None:
        """Look again at an object in all quotients of a row: its equivalence to a lower one has changed."""
        row, each = place
        self.pairs[row] = self.pairs.get(row, 0) | 1 << each

    def everyone(self, number: int) -> None:
        """Look again at all objects of a quotient."""
        self.pending[number] = self.all[number].members

    def clear(self) -> None:
        """Forget what is pending."""
        self.pending.clear()
        self.pairs.clear()

    def propagate(self) -> None:
        """Make the marks of the pending objects of one quotient and what they depend on agree."""
        if self.pairs:
            self._spread()
        if not self.pending:
            return
        number, bits = self.pending.popitem()
        quotient, asleep, rows = self.all[number], self.numbers[ASLEEP], self.rows
        may, must, sleeping = self._members(quotient)
        if quotient.marked >= 0:
            bits &= may | rows[quotient.marked]
        while bits:
            bit = bits & -bits
            bits ^= bit
            each = bit.bit_length() - 1
            if quotient.needs[each] & asleep:
                continue
            rivals = 0
            if may & (bit - 1):
                for start in quotient.equal:
                    rivals |= rows[start + each]
                rivals &= may & (bit - 1)
            known = self.domains[quotient.marks[each]]
            if known == TRUE:
                self._confirm(quotient, each, rivals, must)
            elif not may & bit or (must & rivals and self._is_beaten(quotient, each, must & rivals)):
                if known != FALSE:
                    self.store.narrow(quotient.marks[each], FALSE, (quotient, each))
            elif not sleeping & (bit - 1):
                if known == FALSE:
                    self._need_rival(quotient, each, rivals, must)
                elif must & bit and not rivals:
                    self.store.narrow(quotient.marks[each], TRUE, (quotient, each))

    def _spread(self) -> None:
        """Pass the objects of changed pairs on to all quotients of their row."""
        pending = self.pending
        for row, bits in self.pairs.items():
            for quotient in self.by_row[row]:
                mine = bits & quotient.members
                if mine:
                    pending[quotient.number] = pending.get(quotient.number, 0) | mine
        self.pairs.clear()

    def _unequal(self, quotient: Quotient, each: int) -> int:
        """Return the objects that may not be equivalent to one."""
        found = 0
        for start in quotient.unequal:
            found |= self.rows[start + each]
        return found

    def _is_beaten(self, quotient: Quotient, each: int, rivals: int) -> bool:
        """Whether one of some sure members surely is equivalent to an object."""
        return bool(rivals & ~self._unequal(quotient, each))

    def _confirm(self, quotient: Quotient, each: int, rivals: int, must: int) -> None:
        """`each` is a representative: it meets the conditions, and no rival represents it."""
        self._meet(quotient, each, each)
        if rivals:
            self._reject(quotient, each, rivals, must, self._unequal(quotient, each))

    def _members(self, quotient: Quotient) -> tuple[int, int, int]:
        """Return the objects that may meet the conditions, that surely do, and that sleep but may wake."""
        rows, domains = self.rows, self.domains
        may, sleeping = quotient.eligible, 0
        for bit, need in quotient.sleepers:
            if need & self.numbers[ASLEEP]:
                may &= ~bit
                if not need & self.numbers[GONE]:
                    sleeping |= bit
        must = may
        for condition in quotient.conditions:
            meet = fail = 0
            for row in condition.meet:
                meet |= rows[row]
            for row in condition.fail:
                fail |= rows[row]
            may &= meet
            must &= ~fail
        for slot, mask in quotient.fixed:
            if not domains[slot] & mask:
                may = 0
            if domains[slot] & ~mask:
                must = 0
        return may, must & may, sleeping

    def _meet(self, quotient: Quotient, who: int, each: int) -> None:
        """Make `who` meet the conditions."""
        for slot, mask in quotient.condition_literals(who):
            self.store.narrow(slot, mask, (quotient, each))

    def _unmeet(self, quotient: Quotient, who: int, each: int) -> None:
        """Make `who` not meet the conditions, if only one of them is left to choose."""
        self.store.falsify_last(quotient.condition_literals(who), (quotient, each))

    def _reject(self, quotient: Quotient, each: int, rivals: int, must: int, unequal: int) -> None:
        """Let no rival both meet the conditions and be equivalent to `each`."""
        while rivals:
            bit = rivals & -rivals
            rivals ^= bit
            other = bit.bit_length() - 1
            if must & bit:
                self.store.narrow(quotient.slots[other, each], ~quotient.mask, (quotient, each))
            elif not unequal & bit:
                self._unmeet(quotient, other, each)

    def _need_rival(self, quotient: Quotient, each: int, rivals: int, must: int) -> None:
        """`each` is no representative: it fails the conditions, or some rival represents it."""
        if not rivals:
            self._unmeet(quotient, each, each)
        elif must >> each & 1 and not rivals & (rivals - 1):
            other = rivals.bit_length() - 1
            self._meet(quotient, other, each)
            self.store.narrow(quotient.slots[other, each], quotient.mask, (quotient, each))
