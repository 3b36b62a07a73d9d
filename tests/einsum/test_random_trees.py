"""Random expressions of one to eight operands equal NumPy: exactly in exact types, within derived bounds in others."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import einloom as el
from tests.soak import soak_count

Array = np.ndarray[Any, Any]

LABELS = "abcdefghijkl"
EXTENTS = (1, 2, 2, 3, 3, 4, 5, 7)
POINTS = 2**14
"""Most points of an expression: NumPy walks all of them at once, and is the judge."""

EXACT = ("float64", "complex128")
OTHERS = ("float32", "complex64", "float16", "int32", "int8", "bool")


def equation_of(rng: random.Random) -> tuple[list[str], str, dict[str, int]]:
    """Return the labels of one to eight operands, those of the result, and extents."""
    sizes, points = dict[str, int](), 1
    for label in LABELS[: rng.randint(1, len(LABELS))]:
        sizes[label] = rng.choice(EXTENTS) if points < POINTS // max(EXTENTS) else 1
        points *= sizes[label]
    terms: list[str] = []
    for _ in range(rng.randint(1, 8)):
        own = rng.sample([*sizes], rng.randint(0, min(4, len(sizes))))
        if own and rng.random() < 0.1:
            own.append(rng.choice(own))  # A diagonal.
        terms.append("".join(own))
    used = sorted({*"".join(terms)})
    return terms, "".join(rng.sample(used, rng.randint(0, min(3, len(used))))), sizes


def operand_of(rng: random.Random, shape: list[int], dtype: str) -> Array:
    """Return small whole numbers, whose products and sums are exact, with axes in some order."""
    numbers = np.random.default_rng(rng.randrange(2**32))
    order = rng.sample(range(len(shape)), len(shape))
    stored = [shape[axis] for axis in order]
    values = numbers.integers(-2, 3, stored)
    if dtype.startswith("complex"):
        values = values + 1j * numbers.integers(-2, 3, stored)
    return np.asarray(values).astype(dtype).transpose(np.argsort(order)) if shape else np.asarray(values).astype(dtype)


def complaint(seed: int, dtype: str) -> str:
    """Return what is wrong with a case, or nothing."""
    rng = random.Random(seed)
    terms, output, sizes = equation_of(rng)
    operands = [operand_of(rng, [sizes[label] for label in term], dtype) for term in terms]
    text = f"{','.join(terms)}->{output}"
    conj = tuple(i for i in range(len(terms)) if dtype.startswith("complex") and rng.random() < 0.2)
    turned = [operand.conj() if i in conj else operand for i, operand in enumerate(operands)]
    result = el.einsum(text, *operands, conj=conj, optimize=rng.choice(("auto", "greedy", False)))
    expected = np.einsum(text, *[each.astype(_wide(dtype)) for each in turned])
    shown = f"{seed} {dtype}: {text} {[operand.shape for operand in operands]}"
    if result.dtype != np.dtype(dtype) or np.shape(result) != np.shape(expected):
        return f"{shown} is {result.dtype} {np.shape(result)}"
    if dtype in EXACT:
        return "" if np.array_equal(result, expected) else shown
    if np.dtype(dtype).kind in "iub":
        return "" if np.array_equal(result, expected.astype(dtype)) else shown
    scale = np.einsum(text, *[np.abs(each).astype("float64") for each in operands])
    products = int(np.prod([extent for label, extent in sizes.items() if label not in output])) * len(terms)
    eps = float(np.finfo(dtype).eps)  # In float16 its product with a count may be infinite.
    within = np.abs(result.astype(_wide(dtype)) - expected) <= 2 * products * eps * scale
    return "" if np.all(within | ~np.isfinite(np.asarray(scale).astype(dtype))) else shown


def _wide(dtype: str) -> str:
    return {"f": "float64", "c": "complex128"}.get(np.dtype(dtype).kind, "bool" if dtype == "bool" else "int64")


@pytest.mark.soak
@pytest.mark.parametrize("dtype", [*EXACT, *OTHERS])
def test_expressions_of_one_to_eight_operands(dtype: str) -> None:
    seeds = range(soak_count(3_000, 0.05 if dtype in EXACT else 0.01))
    assert [each for each in (complaint(seed, dtype) for seed in seeds) if each] == []


def test_an_operand_without_axes_is_conjugated() -> None:
    number = np.array(3 - 4j)
    assert el.einsum("->", number, conj=(0,)) == 3 + 4j
    assert el.einsum(",->", number, np.array(2 + 1j), conj=(0, 1)) == (3 + 4j) * (2 - 1j)
