"""What becomes of sums of narrow types: wider results, factors, operators and scales, in generated code.

Sums of integers are compared with whole numbers; those of floats within 2 k 2**-24 sum |a||b| and one rounding.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.errors import ArgumentError, DTypeError

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64")
HALVES = ("bfloat16", "float16")
SIZES = ((5, 7), (90, 130), (33, 2500))


@pytest.fixture(autouse=True)
def _no_fallback() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error", el.FallbackWarning)
        yield


def dtype_of(name: str) -> Any:
    return np.dtype(pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else name)


def drawn(seed: int, shape: tuple[int, ...], dtype: Any) -> Any:
    rng = np.random.default_rng(seed)
    if dtype.kind in "iu":
        return rng.integers(-100 if dtype.kind == "i" else 0, 120, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def wide(array: Any) -> Any:
    return array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)


def bound(a: Any, b: Any) -> Any:
    """How far float32 sums may be off."""
    return 2 * a.shape[1] * 2.0**-24 * (np.abs(wide(a)) @ np.abs(wide(b)))


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(
    ("types", "result"),
    [
        (("int8", "int8"), "int32"), (("uint8", "uint8"), "int32"), (("uint8", "uint8"), "uint32"),
        (("int8", "uint8"), "int32"), (("int16", "int16"), "int32"), (("int8", "int8"), "int8"),
    ],
    ids=str,
)  # fmt: skip
def test_out_may_hold_what_sums_of_integers_are_kept_in(
    types: tuple[str, str], result: str, size: tuple[int, int]
) -> None:
    m, k = size
    a, b = drawn(1, (m, k), dtype_of(types[0])), drawn(2, (k, m), dtype_of(types[1]))
    expected = (wide(a) @ wide(b)).astype(result)
    f = el.compile("mk,kn->mn", a, b)
    for call in (f, lambda *operands, out: el.einsum("mk,kn->mn", *operands, out=out)):
        out = np.zeros((m, m), result)
        for _ in range(2):  # The second call is generated code's.
            assert call(a, b, out=out) is out
            assert np.array_equal(out, expected)
    assert np.array_equal(el.einsum("mk,kn->mn", a, b, dtype="int32").astype(result), expected)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", HALVES)
def test_out_may_hold_float32_sums_of_halves(name: str, size: tuple[int, int]) -> None:
    m, k = size
    a, b = drawn(1, (m, k), dtype_of(name)), drawn(2, (k, m), dtype_of(name))
    sums, rounded = np.zeros((m, m), np.float32), np.zeros((m, m), a.dtype)
    el.einsum("mk,kn->mn", a, b, out=sums)
    el.einsum("mk,kn->mn", a, b, out=rounded)
    assert np.all(np.abs(sums - wide(a) @ wide(b)) <= bound(a, b))
    assert np.array_equal(rounded.astype(np.float32), sums.astype(a.dtype).astype(np.float32))


def test_out_of_any_other_type_is_refused() -> None:
    a = np.ones((3, 3), np.int8)
    for name in ("int64", "int16", "float32"):
        with pytest.raises(DTypeError, match="out has type"):
            el.einsum("mk,kn->mn", a, a, out=np.zeros((3, 3), name))


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", INTEGERS)
def test_factors_and_operators_of_integers_wrap_as_numpy_does(name: str, size: tuple[int, int]) -> None:
    m, k = size
    dtype = dtype_of(name)
    a, b, bias, other = (drawn(i, shape, dtype) for i, shape in enumerate(((m, k), (k, m), (m,), (m, m))))
    product = (wide(a) @ wide(b)).astype(dtype)
    with np.errstate(all="ignore"):
        expected = np.maximum(product + bias, 0).astype(dtype)
        accumulated = (2 * wide(other) + 3 * wide(product)).astype(dtype)
    found = el.einsum("mk,kn->mn", a, b, bias, epilogue=(("add", "n"), "relu"))
    assert found.dtype == dtype
    assert np.array_equal(found, expected)
    el.einsum("mk,kn->mn", a, b, out=other, alpha=3, beta=2)
    assert np.array_equal(other, accumulated)


@pytest.mark.parametrize("size", (*SIZES, (300, 3000)), ids=str)
@pytest.mark.parametrize("name", HALVES)
def test_factors_and_operators_of_halves_round_once(name: str, size: tuple[int, int]) -> None:
    """But `beta` other than 0 and 1: what `out` held is rounded after it was multiplied, too."""
    m, k = size
    dtype = dtype_of(name)
    a, b, bias, other = (drawn(i, shape, dtype) for i, shape in enumerate(((m, k), (k, m), (m,), (m, m))))
    roundoff = 2.0 ** (-8 if name == "bfloat16" else -11) * (1 + 2.0**-11)
    expected = np.maximum(wide(a) @ wide(b) + wide(bias), 0)
    found = el.einsum("mk,kn->mn", a, b, bias, epilogue=(("add", "n"), "relu"))
    slack = 2 * bound(a, b) + 2.0**-23 * np.abs(wide(bias))
    assert np.all(np.abs(wide(found) - expected) <= roundoff * np.abs(expected) + slack)
    for beta in (1, 3):
        held = other.copy()
        expected, again = beta * wide(held) + 2 * (wide(a) @ wide(b)), (beta != 1) * beta * np.abs(wide(held))
        el.einsum("mk,kn->mn", a, b, out=held, alpha=2, beta=beta)
        slack = 4 * bound(a, b) + 2.0**-23 * beta * np.abs(wide(other))
        assert np.all(np.abs(wide(held) - expected) <= roundoff * (np.abs(expected) + again) + slack)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(
    "types", [("int8", "int8"), ("uint8", "int8"), ("uint8", "uint8"), ("int32", "int32")], ids=str
)
def test_sums_of_integers_are_scaled_to_float32(types: tuple[str, str], size: tuple[int, int]) -> None:
    m, k = size
    a, b = drawn(1, (m, k), dtype_of(types[0])), drawn(2, (k, m + 3), dtype_of(types[1]))
    rng, sums = np.random.default_rng(3), (wide(a) @ wide(b)).astype(np.int32)
    scale, bias, whole = rng.random(m).astype("f"), rng.random(m + 3).astype("f"), np.float32(0.25)
    expected = sums.astype("f") * scale[:, None] + bias
    found = el.einsum("mk,kn->mn", a, b, scale, bias, epilogue=(("scale", "m"), ("add", "n"), "relu"))
    assert found.dtype == np.float32
    assert np.array_equal(found, np.maximum(expected, 0))
    assert np.array_equal(el.einsum("mk,kn->mn", a, b, whole, epilogue=(("scale", ""),)), sums.astype("f") * whole)
    turned = np.empty((m + 3, m), "f").T
    f = el.compile("mk,kn->mn", a, b, scale, bias, epilogue=(("scale", "m"), ("add", "n")))
    for _ in range(2):
        assert np.array_equal(f(a, b, scale, bias, out=turned), expected)


def test_only_sums_of_integers_are_scaled_and_first_of_all() -> None:
    a, scale = np.ones((3, 3), np.int8), np.ones(3, np.float32)
    with pytest.raises(ArgumentError, match="first operator"):
        el.einsum("mk,kn->mn", a, a, scale, epilogue=("relu", ("scale", "m")))
    with pytest.raises(ArgumentError, match="first operator"):
        el.einsum("mk,kn->mn", a, a, scale, alpha=2, epilogue=(("scale", "m"),))
    for name in ("float32", "int64", "uint32", "bool"):
        with pytest.raises(DTypeError, match="'scale' makes float32 of int32"):
            el.einsum("mk,kn->mn", a.astype(name), a.astype(name), scale, epilogue=(("scale", "m"),))
