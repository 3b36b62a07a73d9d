"""`check_result`: is a result right? Large ones on a sample of every axis of the output, in float64 or complex128.

Right means |x - exact| <= 2 k eps einsum(|A|, |B|), k the number of products that an element adds up. Permutations,
integers (modulo 2**bits) and truth values have to be exact. Every float has to be a finite number, sampled or not:
outputs start as NaN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from einloom.bench.cases import Case
from einloom.bench.data import Array, array_type
from einloom.dtypes import COMPUTED
from einloom.frozen import frozen

__all__ = ["SAMPLE_POINTS", "Reference", "Verdict", "check_result"]

SAMPLE_POINTS = 50_000_000
"""Points of the iteration space that a check computes at most (for extents that allow it)."""


@frozen
class Verdict:
    """What a check found.

    Attributes:
        right: whether every element looked at is within its tolerance and every element is finite.
        elements: how many elements of the output were compared.
        error: the largest error as a share of its tolerance; above 1 is wrong.
    """

    right: bool
    elements: int
    error: float


class Reference:
    """The right result of a case, in float64 (of integers in int64), on a sample of its elements.

    Args:
        case: what is computed.
        operands: its inputs.
        start: what the output held before.
    """

    def __init__(self, case: Case, operands: Sequence[Array], start: Array) -> None:
        self._case, self._chosen = case, _sample(case)
        picked = [_wide(_pick(array, term, self._chosen)) for array, term in zip(operands, case.terms)]
        exact = np.asarray(np.einsum(case.lettered, *picked, optimize=True))
        kept = array_type(case.dtype)
        if kept.kind in "biu":
            self._exact, self._tolerance = _wide(exact.astype(kept)), np.zeros(())
            return
        magnitude = np.einsum(case.lettered, *(abs(array) for array in picked), optimize=True)
        if case.accumulates:
            before = _wide(_pick(start, case.terms[-1], self._chosen))
            exact, magnitude = exact + before, magnitude + abs(before)
        terms = 0 if case.is_permutation else case.summed + int(case.accumulates)
        self._exact = np.maximum(exact, 0) if case.last_touch == "relu" else exact
        self._tolerance = 2 * terms * COMPUTED[case.dtype].epsilon * magnitude

    def verdict(self, result: Array) -> Verdict:
        """Return whether a result is right."""
        difference = abs(_wide(_pick(result, self._case.terms[-1], self._chosen)) - self._exact)
        worst = float(np.max(_shares(difference, self._tolerance), initial=0.0))
        return Verdict(worst <= 1 and bool(np.isfinite(result).all()), difference.size, worst)


def check_result(case: Case, operands: Sequence[Array], start: Array, result: Array) -> Verdict:
    """Compare the result of a case with float64 arithmetic; `start` is what the output held before."""
    return Reference(case, operands, start).verdict(result)


def _wide(array: Array) -> Array:
    """Integers as int64, whose products and sums wrap as theirs do; truth values as counts."""
    return array.astype({"c": np.complex128, "i": np.int64, "u": np.int64}.get(array.dtype.kind, np.float64))


def _shares(difference: Array, tolerance: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(difference == 0, 0.0, np.where(np.isnan(difference), np.inf, difference / tolerance))


def _sample(case: Case) -> dict[str, Array]:
    """Indices of each label to look at: all of a summed one; of the output's so many that the check stays quick."""
    counts = dict(case.sizes)
    kept = [label for label in case.sizes if label in case.terms[-1]]
    while kept and math.prod(counts.values()) > SAMPLE_POINTS:
        largest = max(kept, key=lambda label: counts[label])
        if counts[largest] <= 2:
            break
        counts[largest] = max(2, counts[largest] // 2)
    generator = np.random.default_rng(3)
    return {label: _indices(generator, size, counts[label]) for label, size in case.sizes.items()}


def _indices(generator: np.random.Generator, size: int, count: int) -> Array:
    """So many indices of an axis in rising order: the first, the last, and others at random."""
    if count >= size:
        return np.arange(size)
    others = 1 + generator.choice(size - 2, count - 2, replace=False)
    return np.sort(np.concatenate(([0, size - 1], others)))


def _pick(array: Array, term: str, chosen: dict[str, Array]) -> Array:
    return array[np.ix_(*(chosen[label] for label in term))] if term else np.asarray(array)
