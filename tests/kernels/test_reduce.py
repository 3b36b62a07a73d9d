"""Reductions on operands between unmapped pages: every edge of both axes, NaN, infinities, nothing at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

from einloom.errors import ArgumentError, ShapeError, UnsupportedTarget
from einloom.ir.meanings import REDUCE
from einloom.kernels import Reduce, signature
from einloom.kernels.elementwise.reduce import OPERATORS
from tests.isas import vectors_of_host
from tests.kernels.elementwise import place_specials
from tests.kernels.guarded import run_guarded
from tests.kernels.products import Matrix, compile_kernel
from tests.kernels.test_brgemm import DTYPES

SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 47, 48, 49, 64, 65, 130)


@dataclass(frozen=True)
class ReduceCase:
    """A reduction with a leading dimension, given at run time or known, and what the elements are."""

    spec: Reduce
    lead: int
    vector: str
    specials: bool
    at_end: bool


def cases(vector: str, dtype: str) -> Iterator[ReduceCase]:
    """Yield every pair of sizes with one of the operators on each axis."""
    for index, (m, n) in enumerate(product(SIZES, SIZES)):
        for axis in ("m", "n"):
            op = list(OPERATORS)[(index + index // len(SIZES)) % len(OPERATORS)]
            if 0 in (m, n) and not OPERATORS[op].of_nothing:
                continue
            lead = m + index % 3
            spec = Reduce(op, dtype, m, n, axis, a=(1, None if index % 2 else lead))  # type: ignore[arg-type]
            yield ReduceCase(spec, lead, vector, bool(index // 2 % 2), bool(index // 4 % 2))


def place_units(view: Any, generator: np.random.Generator) -> None:
    """Fill with small whole numbers whose products stay exact."""
    view[...] = generator.choice((-1.0, 1.0, 1.0, -1.0, 2.0, 0.5), view.shape)


def place_special_units(view: Any, generator: np.random.Generator) -> None:
    """Fill with numbers whose products neither overflow nor underflow, and in every ninth place NaN, infinity or 0."""
    place_units(view, generator)
    special = generator.random(view.shape) < 0.1
    view[special] = generator.choice((np.nan, np.inf, -np.inf, 0.0, -0.0), int(special.sum()))


def check_reduction(case: ReduceCase) -> str | None:
    """Run a case; return what is wrong with the result, or None."""
    spec, dtype = case.spec, case.spec.dtype.name
    fill = (place_special_units if spec.op == "prod" else place_specials) if case.specials else place_units
    a = Matrix((spec.m, spec.n), (1, case.lead), dtype, case.at_end, 1, fill)
    b = Matrix((getattr(spec, spec.kept),), (1,), dtype, case.at_end, 2, place_units)
    values = {"a": a.address, "b": b.address, "ld_a": case.lead}
    compile_kernel(spec, case.vector).call(*(values[name] for name in signature(spec)))
    exact = REDUCE[spec.op](a.view.astype(np.longdouble), "mn".index(spec.axis))
    with np.errstate(all="ignore"):
        size = np.abs(a.view.astype(np.longdouble)) ** (2 if spec.op == "sum_of_squares" else 1)
        scale = np.abs(exact) if spec.op == "prod" else size.sum(axis="mn".index(spec.axis))
        bound = getattr(spec, spec.axis) * (spec.dtype.epsilon * scale + np.finfo(dtype).tiny)
        bound = 0 if spec.op in ("max", "min") else bound
        right = (b.view == exact) | (np.isnan(b.view) & np.isnan(exact)) | (np.abs(b.view - exact) <= bound)
    complaint = None if right.all() else f"{b.view}\n{exact}"
    a.close()
    b.close()
    return complaint


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(vector: str, dtype: str) -> None:
    complaint = run_guarded(list(cases(vector, dtype)), check_reduction)
    assert complaint is None, complaint


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        (Reduce("mean", "float32", 1, 1, "m"), ArgumentError, "There are sum, max"),  # type: ignore[arg-type]
        (Reduce("sum", "float32", 1, 1, "k"), ArgumentError, "There are m and n"),  # type: ignore[arg-type]
        (Reduce("sum", "float32", 1, 1, "m", a=(None, 1)), UnsupportedTarget, "column-major"),  # type: ignore[arg-type]
        (Reduce("max", "float32", 0, 2, "m"), ShapeError, "no elements"),  # type: ignore[arg-type]
        (Reduce("min", "float32", 3, 0, "n"), ShapeError, "no elements"),  # type: ignore[arg-type]
    ],
)
def test_what_does_not_exist_is_refused(spec: Reduce, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        compile_kernel(spec, vectors_of_host()[0])


def test_every_reduction_has_a_meaning() -> None:
    assert list(OPERATORS) == list(REDUCE)
