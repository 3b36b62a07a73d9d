"""Sizes of 0 in every primitive: nothing is written, or a sum over nothing, which is 0, joins C as beta says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest

from einloom.dtypes import FLOAT32
from einloom.kernels.elementwise.reduce import OPERATORS
from einloom.kernels.specs import BatchBy, Binary, ElementWise, Reduce, Ternary, Unary
from tests.kernels.elementwise import ElementCase, check_elements
from tests.kernels.guarded import run_guarded
from tests.kernels.products import ProductCase, check_product
from tests.kernels.test_brgemm import DTYPES, LAYOUTS, leading_dimensions, product_spec
from tests.kernels.test_reduce import ReduceCase, check_reduction

EMPTY = [sizes for sizes in product((0, 5, 19), (0, 1, 7), (0, 1, 9), (0, 1, 3)) if 0 in sizes]
"""(m, n, k, batch) with a 0 in every place and beside every other."""

BETAS = ((1, None), (0, None), (1, 1), (1, 0))
"""(beta, beta at the call, where it is an argument)."""


def product_cases(vector: str, dtype: str) -> Iterator[ProductCase]:
    """Yield products of which some size is 0, spread over layouts and the ways to find a batch's matrices."""
    for index, ((m, n, k, batch), (beta, flag)) in enumerate(product(EMPTY, BETAS)):
        layouts = LAYOUTS[index % len(LAYOUTS)]
        spec = product_spec(dtype, m, n, k, batch, layouts, index % 3, beta, (1, 2)[index // 3 % 2])
        spec = replace(spec, batch_by=tuple(BatchBy)[index // 4 % 3])
        steps = batch if spec.batch_by is BatchBy.STRIDE else 1
        opened = leading_dimensions(layouts, steps) if index % 2 else frozenset[str]()
        yield ProductCase(spec, opened, flag, vector, bool(index // 2 % 2))


def element_cases(vector: str) -> Iterator[ElementCase]:
    """Yield one operator of each arity, and transpositions, without rows or columns."""
    for m, n in ((0, 0), (0, 5), (5, 0)):
        along_m, along_n = (1, m + 1), (n + 1, 1)
        specs: list[ElementWise] = [
            Unary("relu", FLOAT32, m, n, a=along_m, b=along_m),
            Unary("zero", FLOAT32, m, n, a=(0, 0), b=along_m),
            Unary("identity", FLOAT32, m, n, a=along_m, b=along_n),
            Binary("add", FLOAT32, m, n, a=along_m, b=along_m, c=along_m),
            Ternary("muladd", FLOAT32, m, n, a=along_m, b=along_m, c=along_m, d=along_m),
        ]
        for spec, is_open in product(specs, (False, True)):
            yield ElementCase(spec, is_open, vector, at_end=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_nothing(vector: str, dtype: str) -> None:
    complaint = run_guarded(list(product_cases(vector, dtype)), check_product)
    assert complaint is None, complaint


def test_operators_on_nothing(vector: str) -> None:
    complaint = run_guarded(list(element_cases(vector)), check_elements)
    assert complaint is None, complaint


def test_reductions_of_nothing(vector: str) -> None:
    operators = [op for op, row in OPERATORS.items() if row.of_nothing]
    cases = [
        ReduceCase(Reduce(op, FLOAT32, m, n, axis), max(m, 1), vector, False, True)
        for op, (m, n), axis in product(operators, ((0, 0), (0, 5), (5, 0)), "mn")
    ]
    complaint = run_guarded(cases, check_reduction)
    assert complaint is None, complaint
