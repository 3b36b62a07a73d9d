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
from einloom.jit.host import host

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
    for name in ("int64", "int16", "float32", "uint32"):
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


@pytest.mark.parametrize("vector", ["avx512", "avx2"])
@pytest.mark.parametrize("equation", ["mk,kn->mn", "mk,kn->nm", "mk->m", "mk->km", "mk,kn,nj->mj"])
def test_scales_are_part_of_the_last_operation(equation: str, vector: str) -> None:
    """On every vector ISA and the interpreter; the sums wrap before they are rounded."""
    machine = host()
    if machine.isa != "x86_64" or (vector == "avx512" and machine.vector != "avx512"):
        pytest.skip(f"no {vector}")
    terms = equation.partition("->")[0].split(",")
    sizes = {"m": 37, "k": 200, "n": 19, "j": 23}
    arrays = [drawn(i, tuple(sizes[each] for each in term), np.dtype("i1")) for i, term in enumerate(terms)]
    sums = np.einsum(equation, *map(wide, arrays)).astype(np.int32)
    expected = np.abs(sums.astype("f") * np.float32(0.3))
    for target in (machine.with_vector(vector), "interpreter"):
        f = el.compile(equation, *arrays, np.float32(1), epilogue=(("scale", ""), "abs"), target=target)
        assert len(f.path) == max(len(terms) - 1, 1)
        assert np.allclose(f(*arrays, 0.3), expected, rtol=2.0**-23, atol=0)


def test_sums_over_nothing_are_scaled() -> None:
    nothing = np.empty((3, 0), np.int8)
    found = el.einsum("mk,kn->mn", nothing, nothing.T, 0.5, 1.5, epilogue=(("scale", ""), ("add", "")))
    assert np.array_equal(found, np.full((3, 3), 1.5, "f"))


@pytest.mark.parametrize("name", ["int8", "int32", "float16", "float32", "bfloat16"])
def test_numbers_of_python_take_the_type_of_what_they_meet(name: str) -> None:
    a = np.arange(1, 7).reshape(2, 3).astype(dtype_of(name))
    found = el.einsum("mk,nk->mn", a, a, 2, epilogue=(("mul", ""),))
    assert found.dtype == a.dtype
    assert np.array_equal(found, (2 * (wide(a) @ wide(a).T)).astype(a.dtype))
    if name.startswith("int"):
        assert el.einsum("mk,nk->mn", a, a, 0.5, epilogue=(("mul", ""),)).dtype == np.float64
        with pytest.raises(DTypeError):
            el.compile("mk,nk->mn", a, a, a[0, 0], epilogue=(("mul", ""),))(a, a, 1 << 40)


@pytest.mark.parametrize("factor", [0.5, 2, True, np.float64(0.5), np.array(0.5), np.int8(3)], ids=repr)
def test_scales_may_be_any_real_number(factor: Any) -> None:
    a = drawn(1, (5, 9), np.dtype("i1"))
    f = el.compile("mk,nk->mn", a, a, np.float32(1), epilogue=(("scale", ""),))
    expected = (wide(a) @ wide(a).T).astype("f") * np.float32(factor)
    for found in (f(a, a, factor), el.einsum("mk,nk->mn", a, a, factor, epilogue=(("scale", ""),))):
        assert np.array_equal(found, expected)
    with pytest.raises(DTypeError):
        el.einsum("mk,nk->mn", a, a, np.ones(5), epilogue=(("scale", "m"),))


def test_only_sums_of_integers_are_scaled_and_first_of_all() -> None:
    a, scale = np.ones((3, 3), np.int8), np.ones(3, np.float32)
    with pytest.raises(ArgumentError, match="first operator"):
        el.einsum("mk,kn->mn", a, a, scale, epilogue=("relu", ("scale", "m")))
    with pytest.raises(ArgumentError, match="first operator"):
        el.einsum("mk,kn->mn", a, a, scale, alpha=2, epilogue=(("scale", "m"),))
    for name in ("float32", "int64", "uint32", "bool"):
        with pytest.raises(DTypeError, match="'scale' makes float32 of int32"):
            el.einsum("mk,kn->mn", a.astype(name), a.astype(name), scale, epilogue=(("scale", "m"),))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bfloat16"])
@pytest.mark.parametrize("shape", [(1025, 31, 4, 6), (1025, 31, 4, 1)])
def test_rows_and_columns_of_one_input_beside_a_vector(dtype: str, shape: tuple[int, ...]) -> None:
    a, b, c, d = shape
    whole, vector = drawn(3, (d, c, 1, a), dtype_of(dtype)), drawn(4, (a,), dtype_of(dtype))
    matrices = np.broadcast_to(whole.transpose(3, 2, 1, 0), (a, b, c, d))
    for threads in (1, 2):
        result = el.einsum(
            "abcd,a->bcd", matrices, vector, dtype="float32" if dtype == "bfloat16" else dtype, threads=threads
        )
        if dtype == "bfloat16":
            expected = np.einsum("abcd,a->bcd", matrices.astype(np.float64), vector.astype(np.float64))
            assert np.allclose(result, expected, rtol=1e-5, atol=1e-3)
        else:
            assert np.array_equal(result, np.einsum("abcd,a->bcd", matrices, vector))
