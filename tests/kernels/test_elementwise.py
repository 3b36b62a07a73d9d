"""Unary and binary kernels on operands between unmapped pages: every edge, layout, broadcast and transposition."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from einloom.errors import UnsupportedTarget
from einloom.kernels import Binary, Unary, binary, unary
from tests.kernels.elementwise import ElementCase, check_elements
from tests.kernels.guarded import run_guarded
from tests.kernels.products import compile_kernel
from tests.kernels.test_brgemm import DTYPES, vectors_of_host

ROWS = (*range(1, 35), 48, 63, 64, 65, 70)
COLUMNS = (1, 2, 3, 4, 5, 7, 8, 9, 11, 15, 16, 17, 18, 31, 32, 33, 40)


def layouts(m: int, n: int) -> dict[str, tuple[int, int]]:
    """Return strides along (m, n) by name."""
    return {
        "col": (1, m + 3),
        "row": (n + 2, 1),
        "packed": (1, m),
        "strided": (3, 3 * m + 2),
        "strided rows": (3 * n + 1, 3),
        "negative": (-1, -m - 1),
        "constant columns": (0, 1),
        "constant rows": (1, 0),
        "constant": (0, 0),
    }


WRITTEN = ("col", "row", "packed", "strided", "strided rows", "negative")


def sizes(count: int) -> Iterator[tuple[int, int, int]]:
    """Yield (index, m, n) such that every size occurs, with ever new partners."""
    for index in range(count):
        yield index, ROWS[index % len(ROWS)], COLUMNS[(index * 3 + index // len(COLUMNS)) % len(COLUMNS)]


def unary_cases(vector: str, dtype: str, op: str) -> Iterator[ElementCase]:
    for index, m, n in sizes(6 * len(ROWS)):
        places = layouts(m, n)
        names = list(places)
        source, target = names[index % len(names)], WRITTEN[(index + index // len(names)) % len(WRITTEN)]
        a = (0, 0) if op == "zero" else places[source]
        spec = Unary(op, dtype, m, n, a=a, b=places[target])  # type: ignore[arg-type]
        yield ElementCase(spec, bool(index % 2), vector, bool(index // 2 % 2))
    for m, n in product(ROWS[:33], (1, 9, 16, 23)):  # Transpositions, every edge of a block.
        yield ElementCase(Unary(op, dtype, m, n, a=(1, m), b=(n, 1)), False, vector, bool(m % 2))  # type: ignore[arg-type]


def binary_cases(vector: str, dtype: str) -> Iterator[ElementCase]:
    for index, m, n in sizes(12 * len(ROWS)):
        places = layouts(m, n)
        names = list(places)
        a, b = names[index % len(names)], names[(index // len(names) + 5 * index) % len(names)]
        c = WRITTEN[(index + index // len(names)) % len(WRITTEN)]
        op = list(binary.OPERATORS)[(index // 7) % len(binary.OPERATORS)]
        spec = Binary(op, dtype, m, n, a=places[a], b=places[b], c=places[c])  # type: ignore[arg-type]
        yield ElementCase(spec, bool(index % 2), vector, bool(index // 2 % 2))


@pytest.mark.parametrize("op", unary.OPERATORS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("vector", vectors_of_host())
def test_unary(vector: str, dtype: str, op: str) -> None:
    complaint = run_guarded(list(unary_cases(vector, dtype, op)), check_elements)
    assert complaint is None, complaint


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("vector", vectors_of_host())
def test_binary(vector: str, dtype: str) -> None:
    complaint = run_guarded(list(binary_cases(vector, dtype)), check_elements)
    assert complaint is None, complaint


@pytest.mark.parametrize("spec", [Unary("root", "float32", 1, 1), Binary("modulo", "float32", 1, 1)])  # type: ignore[arg-type]
def test_unknown_operators_are_refused_with_those_that_exist(spec: Unary | Binary) -> None:
    with pytest.raises(UnsupportedTarget, match="There are"):
        compile_kernel(spec, vectors_of_host()[0])
