"""Random einsums equal the interpreter within |x - exact| <= 2 k eps einsum(|A|, |B|)."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings

import einloom as el

from .strategies import Case, cases

CHECKS = settings(
    max_examples=400, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)


def exact(case: Case) -> np.ndarray:
    """The interpreter's result in float64."""
    wide = [operand.astype("float64") for operand in case.operands]
    return el.compile(case.equation, *wide, dtype="float64", target="interpreter")(*wide)


def tolerance(case: Case, result: np.ndarray) -> np.ndarray:
    """The bound that the interface promises, which follows from k and the type's epsilon."""
    sizes = [np.abs(operand).astype("float64") for operand in case.operands]
    scale = np.einsum(case.equation, *sizes)
    return 2 * max(case.summed, 1) * np.finfo(np.result_type(*case.operands)).eps * scale


def check(case: Case) -> None:
    expected = exact(case)
    result = el.einsum(case.equation, *case.operands)
    assert result.dtype == np.result_type(*case.operands)
    assert np.shape(result) == np.shape(expected)
    assert np.all(np.abs(result - expected) <= tolerance(case, expected)), case.equation


@given(cases(operands=2))
@CHECKS
def test_two_operands(case: Case) -> None:
    check(case)


@given(cases(operands=1))
@CHECKS
def test_one_operand(case: Case) -> None:
    check(case)


@given(cases(operands=3))
@settings(CHECKS, max_examples=60)
def test_three_operands(case: Case) -> None:
    check(case)


@given(cases(operands=2))
@settings(CHECKS, max_examples=60)
def test_the_interpreter_equals_numpy(case: Case) -> None:
    wide = [operand.astype("float64") for operand in case.operands]
    expected = np.einsum(case.equation, *wide)
    assert np.allclose(exact(case), expected, rtol=0, atol=float(np.max(tolerance(case, expected), initial=0)))
