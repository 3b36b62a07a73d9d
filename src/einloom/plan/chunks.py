"""`aligned`: chunk sizes that all operands of a contraction share, for the least traffic. It touches no array.

Operands come in chunks along every axis. Axes of one label need the same chunks. Candidates are those of the operands,
and their common refinement where it has not many more; those are taken for which the fewest bytes leave the chunk that
the larger part of their new chunk lies in.

>>> chunks = aligned(["ij", "jk"], [((4, 4), (6, 6)), ((4, 4, 4), (8,))], [8, 8])
>>> chunks.of_label["j"], chunks.moved
((4, 4, 4), (128, 0))
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, product

__all__ = ["Aligned", "Chunks", "aligned"]

Chunks = tuple[int, ...]
"""Lengths of the chunks along an axis."""

MOST_PIECES = 1.5
"""How many times as many chunks a refinement may have."""

MOST_COMBINATIONS = 4096


@dataclass(frozen=True, slots=True)
class Aligned:
    """Chunks that operands share.

    Attributes:
        of_label: the chunks along every label.
        moved: bytes of each operand that come into another chunk than the larger part of it.
    """

    of_label: dict[str, Chunks]
    moved: tuple[int, ...]

    def of_operand(self, term: Sequence[str], chunks: Sequence[Chunks]) -> tuple[Chunks, ...]:
        """Return the chunks of an operand; those of an axis that is broadcast stay."""
        return tuple(self.of_label[x] if sum(own) == sum(self.of_label[x]) else own for x, own in zip(term, chunks))


def aligned(terms: Sequence[Sequence[str]], chunks: Sequence[Sequence[Chunks]], sizes: Sequence[int]) -> Aligned:
    """Return the chunks for the least traffic; of equal ones the fewest.

    Args:
        terms: the labels of every operand.
        chunks: of every axis of every operand.
        sizes: of an element of every operand, in bytes.
    """
    candidates = _candidates(terms, chunks)
    if math.prod(map(len, candidates.values())) > MOST_COMBINATIONS:
        candidates = {label: found[:1] for label, found in candidates.items()}

    def moved(of_label: dict[str, Chunks]) -> tuple[int, ...]:
        found = (Aligned(of_label, ()).of_operand(term, own) for term, own in zip(terms, chunks))
        return tuple(_moved(own, new, size) for own, new, size in zip(chunks, found, sizes))

    choices = (dict(zip(candidates, choice)) for choice in product(*candidates.values()))
    best = min(choices, key=lambda choice: (sum(moved(choice)), math.prod(map(len, choice.values()))))
    return Aligned(best, moved(best))


def _candidates(terms: Sequence[Sequence[str]], chunks: Sequence[Sequence[Chunks]]) -> dict[str, list[Chunks]]:
    """Return the chunks that every label may get, finer ones first."""
    seen: dict[str, dict[Chunks, None]] = {}
    for term, own in zip(terms, chunks):
        for label, lengths in zip(term, own):
            seen.setdefault(label, {})[lengths] = None
    found: dict[str, list[Chunks]] = {}
    for label, every in seen.items():
        extent = max((sum(lengths) for lengths in every), key=lambda n: (n != 1, n))
        own = [lengths for lengths in every if sum(lengths) == extent]
        finer = _refined(own)
        if finer not in own and len(finer) <= MOST_PIECES * max(map(len, own)):
            own.append(finer)
        found[label] = sorted(own, key=len, reverse=True)
    return found


def _refined(every: Sequence[Chunks]) -> Chunks:
    """Return the chunks that end wherever any of these do."""
    ends = sorted({end for lengths in every for end in accumulate(lengths)})
    return tuple(b - a for a, b in zip([0, *ends], ends)) if ends != [0] else (0,)


def _moved(own: Sequence[Chunks], new: Sequence[Chunks], size: int) -> int:
    """Return how many bytes come into another chunk than the larger part of it."""
    whole = math.prod(map(sum, own))
    return (whole - math.prod(_kept(a, b) for a, b in zip(own, new))) * size


def _kept(own: Chunks, new: Chunks) -> int:
    """Return how many indices of an axis lie in the old chunk that most of their new one lies in."""
    if own == new:
        return sum(own)
    olds, news = ([*zip([0, *accumulate(c)], accumulate(c))] for c in (own, new))
    return sum(max(max(min(b, d) - max(a, c), 0) for a, b in olds) for c, d in news)
