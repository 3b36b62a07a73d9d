"""Contractions cut into slices: right, the same bits for any number of threads, and what anyone gets who joins them."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.expression.sliced import SlicedVariant
from einloom.plan.slices import additions

from .networks import random_network

Array = np.ndarray[Any, np.dtype[Any]]


def operands_of(shapes: list[tuple[int, ...]], dtype: str, seed: int) -> list[Array]:
    """Small whole numbers, whose sums no order of addition changes; they are stored in any order of axes."""
    rng = np.random.default_rng(seed)
    arrays = [rng.integers(-3, 4, shape).astype(dtype) for shape in shapes]
    if np.dtype(dtype).kind == "c":
        arrays = [array + 1j * rng.integers(-3, 4, array.shape) for array in arrays]
    return [np.asarray(array.astype(dtype), order=rng.choice(["C", "F"])) for array in arrays]


def variant_of(expression: el.Expression, operands: list[Array], threads: int) -> SlicedVariant:
    strides = tuple(tuple(s // a.itemsize for s in a.strides) for a in operands)
    variant = expression._recipe.compile(strides, None, threads)
    assert isinstance(variant, SlicedVariant)
    return variant


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex64", "int32", "bfloat16", "longdouble"])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.filterwarnings("ignore::einloom.FallbackWarning")
def test_equals_numpy_for_any_number_of_threads(dtype: str, seed: int) -> None:
    rng = random.Random(seed)
    while True:
        equation, shapes = random_network(rng, most=6)
        f = el.compile(equation, *shapes, dtype=dtype, memory_limit=rng.choice((1, 3, 8)))
        if f.slicing is not None:
            break
    plain = "float32" if dtype == "bfloat16" else dtype
    operands = operands_of(shapes, plain, seed)
    if dtype == "bfloat16":
        ml_dtypes = pytest.importorskip("ml_dtypes")
        operands = [operand.astype(ml_dtypes.bfloat16) for operand in operands]
    wide = [operand.astype("complex128" if plain == "complex64" else "float64") for operand in operands]
    exact = np.einsum(equation, *wide, optimize=True)
    expected = exact.astype(operands[0].dtype)
    assert np.array_equal(np.asarray(f(*operands)).view(expected.dtype), expected), equation
    if dtype == "longdouble":
        return  # NumPy computes: there is no code to share
    for threads in (1, 2, 3, 5):
        result = np.full(f.output_shape, 7, expected.dtype)
        variant_of(f, operands, threads).run(operands, result)
        assert np.array_equal(result, expected), (equation, threads)


SHAPES = [(40, 60), (60, 80), (80, 50)]


def of_bits(shapes: list[tuple[int, ...]], dtype: str = "float32") -> list[Array]:
    rng = np.random.default_rng(1)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("limit", [500, 100, 37, 3])
def test_the_same_bits_for_any_number_of_threads(limit: int) -> None:
    """And those that a reader of the docs gets: slices compiled alone, added along the tree, placed side by side."""
    operands = of_bits(SHAPES)
    f = el.compile("ab,bc,cd->ad", *operands, memory_limit=limit)
    cut = f.slicing
    assert cut is not None
    expected = np.empty(f.output_shape, f.dtype)
    for place in range(cut.places):
        first = place * cut.leaves
        sums = [
            el.einsum("ab,bc,cd->ad", *cut.views(number, operands), optimize=f.path, threads=1)
            for number in range(first, first + cut.leaves)
        ]
        for into, other in additions(cut.leaves):
            sums[into] = sums[into] + sums[other]
        *_, part = cut.views(first, [*operands, expected])
        part[...] = sums[0]
    for threads in (1, 2, 3, 5, 8):
        result = np.empty_like(expected)
        variant_of(f, operands, threads).run(operands, result)
        assert np.array_equal(result, expected), (limit, threads)


@pytest.mark.parametrize("limit", [200, 3])
def test_everything_else_goes_with_slices(limit: int) -> None:
    """alpha, beta, an epilogue with an operand, another order of out, the interpreter, calls through einsum."""
    operands, bias = of_bits(SHAPES, "float64"), np.linspace(-9, 9, 40)
    out = np.asfortranarray(np.ones((40, 50)))
    options: dict[str, Any] = {"alpha": 2.0, "beta": -3.0, "epilogue": (("add", "a"), "relu"), "memory_limit": limit}
    expected = np.maximum(2 * (operands[0] @ operands[1] @ operands[2]) - 3 + bias[:, None], 0)
    assert el.einsum("ab,bc,cd->ad", *operands, bias, out=out, **options) is out
    assert np.allclose(out, expected)
    out[...] = 1
    f = el.compile("ab,bc,cd->ad", *operands, bias, target="interpreter", **options)
    assert np.allclose(f(*operands, bias, out=out), expected)


def test_what_is_shown() -> None:
    f = el.compile("ab,bc,cd->ad", *SHAPES, memory_limit=3)
    assert f.slicing is not None
    text = f.show("tree")
    assert text.startswith("1,120 slices: 14 parts of the result, 80 added up along a binary tree\n")
    assert "    c: 80 pieces of 1 of 80 indices, summed" in text
    assert f.flops == 2 * 50 * 80 * 40 + 2 * 40 * 60 * 80
    assert f.show("nest") and f.show("asm")


def test_memory_stays_below_what_it_would_be() -> None:
    """An intermediate tensor of 32 MB is never there."""
    shapes = [(2000, 4), (4, 2000), (2000, 4)]
    operands = of_bits(shapes, "float64")
    path = [(0, 1), (0, 1)]
    f = el.compile("ab,bc,cd->ad", *operands, optimize=path, memory_limit=20_000)
    tracemalloc.start()
    result = f(*operands)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**22
    assert np.allclose(result, operands[0] @ operands[1] @ operands[2])


def test_opt_einsums_limit_for_none() -> None:
    f = el.compile("ab,bc,cd->ad", *SHAPES, memory_limit=-1)
    assert f.slicing is None
    el.contract_path("ab,bc,cd->ad", *SHAPES, memory_limit=-1)


def test_limits_of_numpys_types() -> None:
    a = np.ones((8, 9))
    limits: tuple[Any, ...] = np.int64(40), np.float64(40)
    for limit in limits:
        np.testing.assert_array_equal(el.einsum("ab,cb,cd->ad", a, a, a, memory_limit=limit), a @ a.T @ a)


@pytest.mark.parametrize("limit", [6.0, 6.25, 6.999])
def test_parts_of_an_element_do_not_count(limit: float) -> None:
    whole = el.compile("ab,bc,cd->ad", *SHAPES, memory_limit=6)
    assert whole.slicing is not None
    assert el.compile("ab,bc,cd->ad", *SHAPES, memory_limit=limit).slicing == whole.slicing
