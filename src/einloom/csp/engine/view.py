"""`View`: reads a state for a model that asks thousands of times: objects as bits, sizes as ranges, what has changed.

A state's own rows hold what its propagators need, a view's those of the choices that a model names. It is brought up to
date by comparison with what it has read last, so that undo, loads and jumps between nodes need no notice.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd, lcm

from einloom.csp.engine.state import State
from einloom.csp.layout.slots import Domain
from einloom.csp.propagators.store import ASLEEP, GONE
from einloom.frozen import frozen

__all__ = ["Sizes", "View"]

Key = tuple[str, tuple[int, ...]]
"""A choice and all its objects but the last."""


@frozen
class Sizes:
    """What is sure about a number that is still open: it lies in a range, divides one number and is a multiple of one.

    >>> Sizes(2, 8, 2, 8) * Sizes(3, 3, 3, 3)
    Sizes(least=6, most=24, divisor=6, multiple=24)
    """

    least: int
    most: int
    divisor: int
    multiple: int

    def __mul__(self, other: Sizes) -> Sizes:
        """Return what is sure about a product."""
        return Sizes(
            self.least * other.least,
            self.most * other.most,
            self.divisor * other.divisor,
            self.multiple * other.multiple,
        )


_ONE = Sizes(1, 1, 1, 1)


class View:
    """Reads one state.

    Args:
        choices: the enumerations whose objects are to be read as bits; bit i is object number i.
    """

    def __init__(self, state: State, choices: Iterable[str]) -> None:
        self.state = state
        self.layout = state.tables.layout
        self.domains = [0] * len(state.domains)
        self._rows: dict[Key, list[int]] = {}
        self._existing: dict[Key, int] = {}
        self._possible: dict[Key, int] = {}
        self._places: dict[int, list[tuple[list[int], int, Domain | None]]] = {}
        self._keys: dict[Key, list[tuple[int, int]]] = {}
        self._extensions = -1, -1
        self._sizes: dict[tuple[int, int], Sizes] = {}
        for name in choices:
            for objects, slot in self.layout.choices[name].slots.items():
                self._place(name, objects, slot, None)
                if self.layout.choices[name].symmetric:
                    flipped = (*objects[:-2], objects[-1], objects[-2])
                    self._place(name, flipped, slot, self.layout.domain_of[slot])
        self.refresh()

    def _place(self, name: str, objects: tuple[int, ...], slot: int, flip: Domain | None) -> None:
        key = name, objects[:-1]
        rows = self._rows.setdefault(key, [0] * len(self.layout.domain_of[slot].values))
        self._places.setdefault(slot, []).append((rows, 1 << objects[-1], flip))
        self._keys.setdefault(key, []).append((slot, 1 << objects[-1]))

    def refresh(self) -> list[int]:
        """Read the state again, and return the slots that have changed since the last time."""
        new, old = self.state.domains, self.domains
        if new == old:
            changed: list[int] = []
        else:
            changed = [slot for slot, (a, b) in enumerate(zip(new, old)) if a != b]
        for slot in changed:
            for rows, bit, flip in self._places.get(slot, ()):
                mask = new[slot] if flip is None else flip.seen(new[slot], True)
                for value in range(len(rows)):
                    rows[value] = rows[value] | bit if mask >> value & 1 else rows[value] & ~bit
        self.domains = new.copy()
        self._find_existing()
        return changed

    def _find_existing(self) -> None:
        """Note which objects are awake, and forget those that will never be."""
        asleep, gone = self.state.numbers[ASLEEP], self.state.numbers[GONE]
        if self._extensions == (asleep, gone):
            return
        self._extensions = asleep, gone
        needs = self.layout.need_of
        for key, slots in self._keys.items():
            self._existing[key] = sum(bit for slot, bit in slots if not needs[slot] & asleep)
            self._possible[key] = sum(bit for slot, bit in slots if not needs[slot] & asleep & gone)

    def may(self, choice: str, mask: int, *of: int) -> int:
        """Return the objects x for which `choice(of, x)` can have a value of `mask`, now or once x exists."""
        return self._union((choice, of), mask) & self._possible.get((choice, of), 0)

    def must(self, choice: str, mask: int, *of: int) -> int:
        """Return the objects x that exist and for which `choice(of, x)` has a value of `mask` whatever is decided."""
        return self._existing.get((choice, of), 0) & ~self._union((choice, of), ~mask)

    def _union(self, key: Key, mask: int) -> int:
        found = 0
        for value, row in enumerate(self._rows.get(key, ())):
            if mask >> value & 1:
                found |= row
        return found

    def sizes(self, slot: int) -> Sizes:
        """Return what is sure about an integer choice."""
        mask, domain = self.domains[slot], self.layout.domain_of[slot]
        found = self._sizes.get((id(domain), mask))
        if found is None:
            values = [int(value) for value in domain.select(mask)]
            found = self._sizes[id(domain), mask] = Sizes(min(values), max(values), gcd(*values), lcm(*values))
        return found

    def product(self, slots: Iterable[int]) -> Sizes:
        """Return what is sure about the product of integer choices."""
        found = _ONE
        for slot in slots:
            found = found * self.sizes(slot)
        return found
