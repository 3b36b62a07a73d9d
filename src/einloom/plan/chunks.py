"""Contractions of arrays in chunks: their steps, and chunk sizes that operands share, for the least traffic.

It touches no array.

Operands come in chunks along every axis. Axes of one label need the same chunks. Candidates are those of the operands,
and their common refinement where it has not many more; those are taken for which the fewest bytes leave the chunk that
the larger part of their new chunk lies in.

>>> chunks = aligned(["ij", "jk"], [((4, 4), (6, 6)), ((4, 4, 4), (8,))], [8, 8])
>>> chunks.of_label["j"], chunks.moved
((4, 4, 4), (128, 0))
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, product

from einloom.frozen import frozen
from einloom.plan.equation import label_symbols
from einloom.plan.paths import Path
from einloom.plan.problem import Problem

__all__ = ["Aligned", "ChunkStep", "Chunks", "aligned", "chunk_steps", "products_of_task"]

Chunks = tuple[int, ...]
"""Lengths of the chunks along an axis."""

MOST_PIECES = 1.5
"""How many times as many chunks a refinement may have."""

MOST_COMBINATIONS = 4096

GROUP_BYTES = 2**28
"""Bytes of the operands that one task adds up products of: they are in memory at the same time."""


@frozen
class ChunkStep:
    """A step of a contraction of chunked arrays.

    Attributes:
        entry: positions of what is contracted among the arrays that are left; the result comes behind the rest.
        terms: the labels of these, one character each.
        result: the labels of the result.
    """

    entry: tuple[int, ...]
    terms: tuple[str, ...]
    result: str


def chunk_steps(problem: Problem, path: Path) -> Iterator[ChunkStep]:
    """Yield the steps of a path; each result is a chunked array of its own."""
    symbols = dict(zip(problem.sizes, label_symbols(len(problem.sizes))))
    *waiting, output = (
        "".join(symbols[x] for x in labels) for labels in (*problem.equation.inputs, problem.equation.output)
    )
    for entry in path:
        chosen = tuple(waiting[position] for position in entry)
        waiting = [each for position, each in enumerate(waiting) if position not in entry]
        needed = set("".join(waiting) + output)
        result = "".join(x for x in dict.fromkeys("".join(chosen)) if x in needed) if waiting else output
        waiting.append(result)
        yield ChunkStep(tuple(entry), chosen, result)


def products_of_task(chunks: Sequence[Sequence[Chunks]], sizes: Sequence[int]) -> int:
    """Return how many products of chunks a task adds up in place: a power of two.

    Args:
        chunks: of every axis of every operand.
        sizes: of an element of every operand, in bytes.
    """
    bytes = sum(math.prod(map(max, own)) * size for own, size in zip(chunks, sizes))
    return 1 << max(GROUP_BYTES // max(bytes, 1), 1).bit_length() - 1


@frozen
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
