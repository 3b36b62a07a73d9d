"""Truth tables: the clauses over the same few slots, merged, propagated together to the strongest consistency.

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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import eq, ge, gt, le, lt, ne, or_
from typing import Any

from einloom.csp.engine.layout import Domain

__all__ = ["MOST_ROWS", "OPERATORS", "Clause", "Table"]

MOST_ROWS = 8192

OPERATORS = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


@dataclass(frozen=True, slots=True)
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
        rows = 1
        for domain in domains:
            rows *= len(domain.values)
        self.rows = (1 << rows) - 1
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

    @property
    def is_trivial(self) -> bool:
        """Whether every combination is allowed."""
        return self.allowed == self.rows


def _supports(sizes: Sequence[int]) -> list[list[int]]:
    """Return, for each slot and value, the rows (in mixed radix order) that hold the value."""
    total = reduce(lambda product, size: product * size, sizes, 1)
    found = []
    stride = total
    for size in sizes:
        period, stride = stride, stride // size
        block = (1 << stride) - 1
        repeats = reduce(or_, (1 << start for start in range(0, total, period)), 0)
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
