"""bfloat16 and float16 in einsum: arrays of ml_dtypes and torch, sums in float32, rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import einloom as el

ml_dtypes: Any = pytest.importorskip("ml_dtypes")

EQUATIONS = ("ab,bc->ac", "ab,cb->ac", "ba,bc->ca", "abc,bd->acd", "ab,b->a", "ab->b", "abc,abd->acd", "a,a->")
HALVES = [ml_dtypes.bfloat16, np.float16]
FLOAT32_UNIT = 2.0**-24


def operands(equation: str, dtype: Any, extents: dict[str, int], seed: int) -> list[Any]:
    generator = np.random.default_rng(seed)
    terms = equation.split("->")[0].split(",")
    return [generator.standard_normal([extents[label] for label in term]).astype(dtype) for term in terms]


def within_bound(equation: str, given: list[Any], result: Any) -> bool:
    """Whether a result keeps the bound of sums in float32: 2 k 2^-24 sum |A| |B|, and 2^-126 k that is flushed."""
    wide = [np.asarray(operand).astype(np.float64) for operand in given]
    products = max(operand.size for operand in wide)
    scale = np.einsum(equation, *map(np.abs, wide))
    bound = 2 * products * FLOAT32_UNIT * scale + products * 2.0**-126
    return bool(np.all(np.abs(np.asarray(result, np.float64) - np.einsum(equation, *wide)) <= bound))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("equation", EQUATIONS)
def test_sums_are_float32_and_rounded_once(equation: str, dtype: Any) -> None:
    for seed, sizes in enumerate(((3, 5, 7, 2), (33, 40, 17, 50), (70, 65, 40, 3))):
        given = operands(equation, dtype, dict(zip("abcd", sizes)), seed)
        result, wide = el.einsum(equation, *given), el.einsum(equation, *given, dtype="float32")
        assert result.dtype == np.dtype(dtype)
        assert np.asarray(wide).dtype == np.float32
        assert within_bound(equation, given, wide)
        exact = np.einsum(equation, *(operand.astype(np.float64) for operand in given))
        spacing = np.abs(exact) * 2.0 * float(ml_dtypes.finfo(dtype).eps) + 1e-6
        assert np.all(np.abs(np.asarray(result, np.float64) - exact) <= spacing)


@pytest.mark.parametrize("dtype", HALVES)
def test_large_products_keep_the_bound(dtype: Any) -> None:
    given = operands("ab,bc->ac", dtype, {"a": 97, "b": 333, "c": 121}, 4)
    assert within_bound("ab,bc->ac", given, el.einsum("ab,bc->ac", *given, dtype="float32"))
    rounded = el.einsum("ab,bc->ac", *given)
    assert np.array_equal(rounded, el.einsum("ab,bc->ac", *given))


def test_small_whole_numbers_are_exact_and_rounded_to_even() -> None:
    a, b = np.arange(-8, 8).reshape(4, 4), np.arange(16).reshape(4, 4)
    result = el.einsum("ab,bc->ac", a.astype(ml_dtypes.bfloat16), b.astype(ml_dtypes.bfloat16))
    assert np.array_equal(result, (a @ b).astype(np.float32).astype(ml_dtypes.bfloat16))


def test_mixtures_promote_as_ml_dtypes_does() -> None:
    half, single = np.ones((2, 3), ml_dtypes.bfloat16), np.ones((3, 4), np.float32)
    assert el.einsum("ab,bc->ac", half, single).dtype == np.float32
    assert el.einsum("ab,bc->ac", half, np.ones((3, 4), np.int8)).dtype == np.dtype(ml_dtypes.bfloat16)
    assert el.einsum("ab,bc->ac", half, np.ones((3, 4))).dtype == np.float64


def test_out_of_the_same_type_takes_the_result() -> None:
    given = operands("ab,bc->ac", ml_dtypes.bfloat16, {"a": 9, "b": 11, "c": 5}, 1)
    out = np.zeros((9, 5), ml_dtypes.bfloat16)
    assert el.einsum("ab,bc->ac", *given, out=out) is out
    assert np.array_equal(out, el.einsum("ab,bc->ac", *given))


def test_trees_keep_float32_between_their_steps() -> None:
    given = operands("ab,bc,cd->ad", ml_dtypes.bfloat16, {"a": 20, "b": 30, "c": 40, "d": 10}, 2)
    steps = el.compile("ab,bc,cd->ad", *given).show("nest")
    assert "out float32" in steps
    exact = np.einsum("ab,bc,cd->ad", *(operand.astype(np.float64) for operand in given), optimize=True)
    result = el.einsum("ab,bc,cd->ad", *given).astype(np.float64)
    scale = np.einsum("ab,bc,cd->ad", *(np.abs(operand.astype(np.float64)) for operand in given), optimize=True)
    assert np.all(np.abs(result - exact) <= 2.0**-8 * np.abs(exact) + 4 * 40 * FLOAT32_UNIT * scale)


def test_arrays_of_torch_come_and_go() -> None:
    torch = pytest.importorskip("torch")
    given = operands("ab,bc->ac", np.float32, {"a": 40, "b": 50, "c": 60}, 3)
    a, b = (torch.from_numpy(operand).bfloat16() for operand in given)
    result = el.einsum("ab,bc->ac", a, b)
    assert result.dtype == torch.bfloat16
    same = el.einsum("ab,bc->ac", *(x.float().numpy().astype(ml_dtypes.bfloat16) for x in (a, b)))
    assert np.array_equal(result.float().numpy(), same.astype(np.float32))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_bytes_are_summed_in_the_type_that_is_asked_for(dtype: str) -> None:
    limits, generator = np.iinfo(dtype), np.random.default_rng(7)
    a, b = (generator.integers(limits.min, limits.max, shape, dtype, endpoint=True) for shape in ((60, 300), (300, 70)))
    wide = a.astype(np.int32) @ b.astype(np.int32)
    assert np.array_equal(el.einsum("ab,bc->ac", a, b, dtype="int32"), wide)
    assert np.array_equal(el.einsum("ab,bc->ac", a, b), wide.astype(dtype))


@pytest.mark.parametrize(("dtype", "count"), [("int8", 131_080), ("uint8", 33_030)])
def test_sums_of_bytes_wrap_where_32_bits_end(dtype: str, count: int) -> None:
    least = np.iinfo(dtype).min or np.iinfo(dtype).max
    a, b = np.full((2, count), least, dtype), np.full((count, 3), least, dtype)
    exact = np.full((2, 3), int(least) ** 2 * count)
    assert np.array_equal(el.einsum("ab,bc->ac", a, b, dtype="int32"), exact.astype(np.int32))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("shape", [(5,), (4, 5), (64, 700), (700, 1600)])
def test_copies_that_operators_finish_are_rounded_once(dtype: Any, shape: tuple[int, ...]) -> None:
    labels = "ab"[: len(shape)]
    (given,) = operands(f"{labels}->{labels}", dtype, dict(zip(labels, shape)), 5)
    expected = np.maximum(np.float32(3) * given.astype(np.float32), 0).astype(dtype)
    for order in {labels, labels[::-1]}:
        for threads in (1, 2):
            result = el.einsum(f"{labels}->{order}", given, alpha=3, epilogue=("relu",), threads=threads)
            assert np.array_equal(result, expected if order == labels else expected.T)


def test_beta_and_operators_together_are_refused_for_bfloat16_in_words_that_say_why() -> None:
    given, out = (np.ones(4, ml_dtypes.bfloat16) for _ in range(2))
    with pytest.raises(el.DTypeError, match="beta and operators together would round"):
        el.einsum("a->a", given, out=out, beta=1, epilogue=("relu",))
