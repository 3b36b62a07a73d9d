"""Axes without indices: sums over them are 0, whatever is done to the sums, in every kind of type."""

from __future__ import annotations

import numpy as np
import pytest

import einloom as el
from einloom.jit.interpreter import known_interpreter

EQUATIONS = {
    "ab,cb->ac": [(3, 0), (3, 0)],
    "ab,bc->ac": [(20, 0), (0, 25)],
    "ab,bc,cd->ad": [(2, 3), (3, 0), (0, 4)],
    "ab->a": [(3, 0)],
    "a,a->": [(0,), (0,)],
    "bij,bjk->bik": [(0, 2, 3), (0, 3, 4)],
}
FINISHES: list[dict] = [{}, {"alpha": 2}, {"conj": (0,)}, {"beta": 1}, {"beta": 3, "alpha": 2}]


@pytest.mark.filterwarnings("ignore::einloom.FallbackWarning")
@pytest.mark.parametrize("dtype", ["complex64", "float32", "float16", "int32"])
@pytest.mark.parametrize("equation", list(EQUATIONS))
def test_sums_over_nothing(equation: str, dtype: str):
    operands = [np.ones(shape, dtype) for shape in EQUATIONS[equation]]
    for finish in FINISHES:
        out = np.full(np.einsum(equation, *operands).shape, 5, dtype)
        expected = np.full_like(out, 5 * finish.get("beta", 0))
        el.einsum(equation, *operands, out=out, **finish)
        np.testing.assert_array_equal(out, expected, err_msg=str(finish))


def test_complex_factors():
    a = np.ones((3, 0), np.complex64)
    np.testing.assert_array_equal(el.einsum("ab,cb->ac", a, a, alpha=2j), np.zeros((3, 3)))


@pytest.mark.skipif(known_interpreter() is None, reason="calls stay in Python")
@pytest.mark.parametrize("equation", list(EQUATIONS))
def test_calls_like_earlier_ones_are_served_by_generated_code(equation: str, monkeypatch: pytest.MonkeyPatch):
    operands = [np.ones(shape, "float32") for shape in EQUATIONS[equation]]
    expected, function = np.einsum(equation, *operands), el.compile(equation, *operands)
    ways = [lambda: el.einsum(equation, *operands), lambda: function(*operands)]
    if expected.shape:
        out = np.full_like(expected, 7)
        ways += [lambda: el.einsum(equation, *operands, out=out), lambda: function(*operands, out=out)]
    for way in ways:
        way(), way()
    if expected.shape:
        out[...] = 7
    monkeypatch.setattr("einloom.expression.expression.Expression.compute", None)  # Python has nothing to call.
    for way in ways:
        np.testing.assert_array_equal(way(), expected)
