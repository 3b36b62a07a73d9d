"""Truth tables: the clauses over the same few slots, merged, propagated together to the strongest consistency.

In the field's terms: generalised arc consistency on a positive table constraint, its valid tuples a bit set.

A `Table` maps the masks of its slots to their narrowed masks, computed at most once for each combination and shared
by all tuples of objects under the same clauses. A clause is one mask for each slot (the clause holds if some slot's
value is in its mask) and comparisons between two slots.

>>> table = Table((Domain(("A", "B"), 3, None, 1), Domain(("X", "Y"), 3, None, 1)), [Clause((1, 1))])
>>> table[2, 3]          # not A, so X
(2, 1)
>>> table[3, 3]          # nothing to narrow
()
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

from einloom.csp.compile.rows import ClauseRow
from einloom.csp.layout.names import Names
from einloom.csp.layout.slots import OPERATORS, Domain
from einloom.csp.propagators.propagator import Change, Explanation, extension_slots
from einloom.csp.propagators.watches import Watches
from einloom.frozen import frozen

__all__ = ["MOST_ROWS", "Clause", "Restriction", "Source", "Table", "TableConstraint", "sentence"]

MOST_ROWS = 8192
"""The most rows of a table: beyond, one look-up that is not remembered costs more than what the table prunes."""

Source = tuple[ClauseRow, tuple[int, ...]]
"""A clause of the space and the objects that it is about here."""


@frozen
class Clause:
    """A disjunction over the slots of a table.

    Attributes:
        masks: for each slot, the values that satisfy the clause.
        pairs: comparisons `(position, flipped, operator, position, flipped)`; a flipped value is read in converse.
    """

    masks: tuple[int, ...]
    pairs: tuple[tuple[int, bool, str, int, bool], ...] = ()


class Table(dict[tuple[int, ...], Any]):
    """A conjunction of clauses over some domains; see the module.

    Subscripting gives `()` if nothing narrows, else the new masks, all zero if no row is left.
    """

    __slots__ = ("allowed", "domains", "rows", "supports")

    def __init__(self, domains: Sequence[Domain], clauses: Iterable[Clause]) -> None:
        super().__init__()
        self.domains = tuple(domains)
        self.supports = _supports([len(domain.values) for domain in domains])
        self.rows = (1 << prod(len(domain.values) for domain in domains)) - 1
        self.allowed = self.rows
        for clause in clauses:
            self.allowed &= self._satisfying(clause)

    def _satisfying(self, clause: Clause) -> int:
        found = 0
        for supports, mask in zip(self.supports, clause.masks):
            found |= _union(supports, mask)
        for left, left_flipped, operator, right, right_flipped in clause.pairs:
            holds = OPERATORS[operator]
            for i, a in enumerate(_read(self.domains[left], left_flipped)):
                for j, b in enumerate(_read(self.domains[right], right_flipped)):
                    if holds(a, b):
                        found |= self.supports[left][i] & self.supports[right][j]
        return found

    def __missing__(self, masks: tuple[int, ...]) -> tuple[int, ...]:
        rows = self.allowed
        for supports, mask in zip(self.supports, masks):
            rows &= _union(supports, mask)
        narrowed = tuple(
            sum(1 << i for i, support in enumerate(supports) if mask >> i & 1 and support & rows)
            for supports, mask in zip(self.supports, masks)
        )
        result = self[masks] = () if narrowed == masks else narrowed
        return result

    def is_entailed(self, masks: Sequence[int]) -> bool:
        """Whether all combinations of some masks are allowed."""
        rows = self.rows
        for supports, mask in zip(self.supports, masks):
            rows &= _union(supports, mask)
        return not rows & ~self.allowed


class TableConstraint:
    """The clauses over some slots of some objects.

    Attributes:
        clauses: where each clause of the table came from.
        need: the extensions that must be awake.
    """

    __slots__ = ("clauses", "entry", "need", "slots", "table")

    def __init__(
        self, table: Table, slots: tuple[int, ...], need: int, clauses: Mapping[Clause, Sequence[Source]]
    ) -> None:
        self.table, self.slots, self.need, self.clauses = table, slots, need, clauses
        self.entry = (table, *slots, need, self)

    def watch(self, watches: Watches) -> None:
        """Run at every change of a slot."""
        watches.table(self.entry)

    def explain(self, change: Change, names: Names) -> Explanation:
        """Name the clauses that remove the values on their own; all of them if none does."""
        alone = [each for clause, found in self.clauses.items() if self._removes(clause, change) for each in found]
        every = [each for found in self.clauses.values() for each in found]
        return sentence(names, alone or every), (*self.slots, *extension_slots(self.need))

    def _removes(self, clause: Clause, change: Change) -> bool:
        narrowed = Table(self.table.domains, [clause])[tuple(change.masks[each] for each in self.slots)]
        return (
            bool(narrowed) and change.slot is not None and bool(change.lost & ~narrowed[self.slots.index(change.slot)])
        )


@frozen
class Restriction:
    """Clauses over one slot, or over none: enforced once, when their objects begin to exist."""

    need: int
    sources: list[Source]

    def watch(self, watches: Watches) -> None:
        """Nothing can make it fail later."""

    def explain(self, change: Change, names: Names) -> Explanation:
        """Name the clauses."""
        return sentence(names, self.sources), extension_slots(self.need)


def sentence(names: Names, sources: Iterable[Source]) -> str:
    """Return the texts of some clauses, three at most."""
    texts = (names.said(row.text, row.quantifiers, objects, row.place) for row, objects in sources)
    return "; ".join(list(dict.fromkeys(texts))[:3]) or "a constraint"


def _supports(sizes: Sequence[int]) -> list[list[int]]:
    """Return, for each slot and value, the rows (in mixed radix order) that hold the value."""
    total = prod(sizes)
    found: list[list[int]] = []
    stride = total
    for size in sizes:
        period, stride = stride, stride // size
        block = (1 << stride) - 1
        repeats = sum(1 << start for start in range(0, total, period))
        found.append([(block << stride * value) * repeats for value in range(size)])
    return found


def _union(supports: Sequence[int], mask: int) -> int:
    found = 0
    while mask:
        low = mask & -mask
        found |= supports[low.bit_length() - 1]
        mask ^= low
    return found


def _read(domain: Domain, flipped: bool) -> list[str | int]:
    """Return the values of a domain in order, each as it looks from the other side if `flipped`."""
    values = list(domain.values)
    if not flipped or domain.converse is None:
        return values
    return [values[domain.converse[1 << i].bit_length() - 1] for i in range(len(values))]
