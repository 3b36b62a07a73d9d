"""Einsums over all types and mixtures of them equal NumPy's: integers and truth values exactly."""

from __future__ import annotations

import random
import subprocess
import sys
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.dtypes import COMPUTED, DTYPES, PAIRS, promoted

from ..soak import soak_count

EXTENTS = (1, 2, 3, 5, 8, 17)
TYPES = (*DTYPES, *PAIRS)
BESIDE_BFLOAT16 = ("bfloat16", "bool", "int8", "uint8", "float32", "float64", "complex64", "complex128")
"""Types that have a common one with bfloat16."""


def dtype_of(name: str) -> Any:
    return np.dtype(pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else name)


def drawn(generator: np.random.Generator, shape: tuple[int, ...], name: str) -> Any:
    """Elements of the whole range of an integer type; floats of a few bits, so that their sums do not overflow."""
    dtype = dtype_of(name)
    kind = dtype.kind
    if kind == "b":
        return generator.random(shape) < 0.3
    if kind in "iu":
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    values = generator.integers(-8, 9, shape) / 4
    return (values + 1j * generator.integers(-8, 9, shape) / 4 if kind == "c" else values).astype(dtype)


def random_call(seed: int) -> tuple[str, list[Any]]:
    """An equation and operands: contiguous, transposed, sliced, reversed or broadcast."""
    rng, generator = random.Random(seed), np.random.default_rng(seed)
    labels = "abcdef"[: rng.randint(1, 5)]
    extents = {label: rng.choice(EXTENTS) for label in labels}
    terms = ["".join(rng.sample(labels, rng.randint(1, len(labels)))) for _ in range(rng.choice((1, 2, 2, 2, 3)))]
    used = sorted(set("".join(terms)))
    output = "".join(rng.sample(used, rng.randint(0, len(used))))
    own = rng.choice(TYPES)
    others = BESIDE_BFLOAT16 if own == "bfloat16" else tuple(name for name in TYPES if name != "bfloat16")
    types = [rng.choice(others) if rng.random() < 0.3 else own for _ in terms]
    operands = []
    for term, dtype in zip(terms, types):
        step = rng.choice((1, 1, 2))
        array = drawn(generator, tuple(extents[label] * step for label in reversed(term)), dtype).T
        array = array[tuple(slice(None, None, rng.choice((step, -step))) for _ in term)]
        operands.append(array if rng.random() < 0.5 else np.ascontiguousarray(array))
    return f"{','.join(terms)}->{output}", operands


def complaint(seed: int) -> str | None:
    """What is wrong with the result of a call; NumPy sums bfloat16 as float64, since it has no einsum of that."""
    equation, operands = random_call(seed)
    types = [operand.dtype.name for operand in operands]
    dtype = dtype_of(promoted(*types).name)
    wide: Any = {"c": np.complex128, "f": np.float64, "V": np.float64}.get(dtype.kind, dtype)
    wanted: Any = np.asarray(np.einsum(equation, *(operand.astype(wide) for operand in operands)))
    result: Any = np.asarray(el.einsum(equation, *operands))
    if (result.dtype, result.shape) != (dtype, wanted.shape):
        return f"{seed}: {equation} of {types} has type {result.dtype} and shape {result.shape}"
    if dtype.kind in "biu":
        return None if np.array_equal(result, wanted) else f"{seed}: {equation} of {types}"
    points = np.prod([max(operand.shape, default=1) for operand in operands])  # no fewer than products are summed
    scale = np.einsum(equation, *(np.abs(operand.astype(wide)) for operand in operands))
    epsilon = 2.0**-52 if dtype.name in ("float64", "complex128") else 2.0**-23
    roundoff = {"bfloat16": 2.0**-8, "float16": 2.0**-11}.get(dtype.name, 0.0)
    fits = np.abs(wanted) < {"float16": 65504, "bfloat16": 3.38e38}.get(dtype.name, np.inf)
    bound = 8 * points * epsilon * scale + 1.01 * roundoff * np.abs(wanted)
    close = np.abs(result.astype(wide) - wanted) <= bound
    return None if np.all(close | ~fits) else f"{seed}: {equation} of {types}"


def test_types_beside_bfloat16_are_all_there_are() -> None:
    own = dtype_of("bfloat16")
    for name in TYPES:
        if name in BESIDE_BFLOAT16:
            assert np.result_type(own, dtype_of(name)).name == promoted("bfloat16", name).name
        else:
            with pytest.raises(el.DTypeError, match="no common data type"):
                el.einsum("a,a->a", np.ones(3, own), np.ones(3, name))


@pytest.mark.parametrize("name", ["complex64", "complex128", "float32", "float64", "int32"])
def test_other_byte_orders_beside_bfloat16_promote_as_the_machines(name: str) -> None:
    a, b = np.array([[1, 2], [3, 4]], dtype_of("bfloat16")), np.array([5, 6]).astype(name)
    wanted = (b + 1j if name.startswith("c") else b).astype(name)
    for order in ("<", ">"):
        given = wanted.astype(wanted.dtype.newbyteorder(order))
        for casting in ("safe", "unsafe"):
            if name == "int32":
                with pytest.raises(el.DTypeError, match="no common data type"):
                    el.einsum("ab,b->a", a, given, casting=casting)
                continue
            result = el.einsum("ab,b->a", a, given, casting=casting)
            assert result.dtype == wanted.dtype and np.array_equal(result, a.astype(name) @ wanted)


@pytest.mark.parametrize("source", ["bool", "int8", "uint8", "int16", "uint16", "float16", "float32"])
@pytest.mark.parametrize("target", ["int16", "uint16", "int32", "uint32", "int64", "float32", "complex64", "bfloat16"])
def test_copies_in_another_type_convert(source: str, target: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(source)
    wanted = array.T.astype(dtype_of(target))
    result = el.einsum("ab->ba", array, dtype=target, casting="unsafe")
    assert result.dtype == wanted.dtype and np.array_equal(result, wanted)
    out = np.empty_like(wanted, order="C")
    assert el.einsum("ab->ba", array, dtype=dtype_of(target), casting="unsafe", out=out) is out
    assert np.array_equal(out, wanted)


@pytest.mark.parametrize("name", ["int8", "uint8", "bool", "float32", "complex64", "bfloat16"])
def test_bfloat16_may_be_asked_for_and_results_are_of_its_type(name: str) -> None:
    own = dtype_of("bfloat16")
    a: Any = np.array([[1, 0, 1], [1, 1, 0]], dtype_of(name))
    wanted = a.astype(np.float32) @ a.astype(np.float32).T if name != "complex64" else a.real @ a.real.T
    for dtype in ("bfloat16", own):
        if name == "complex64":
            with pytest.raises(el.DTypeError, match="casting='safe' does not convert to bfloat16"):
                el.einsum("ab,cb->ac", a, a, dtype=dtype)
            continue
        result = el.einsum("ab,cb->ac", a, a, dtype=dtype, casting="same_kind")
        assert result.dtype == own and np.array_equal(result.astype(np.float32), wanted)
    if name == "bfloat16":
        compiled = el.compile("ab,cb->ac", a.shape, a.shape, dtype="bfloat16")
        for _ in range(2):  # The second call is generated code's.
            assert compiled(a, a).dtype == own


@pytest.mark.soak
def test_einsums_over_all_types_equal_numpy() -> None:
    complaints = [found for seed in range(soak_count(20_000, 0.015)) if (found := complaint(seed))]
    assert not complaints, "\n".join(complaints[:5])


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int8"])
def test_sums_wrap_as_those_of_numpy(dtype: str) -> None:
    largest = np.full((3, 70), np.iinfo(dtype).max, dtype)
    assert np.array_equal(el.einsum("ab,cb->ac", largest, largest), np.einsum("ab,cb->ac", largest, largest))
    assert el.einsum("ab->", largest) == largest.sum(dtype=dtype)


def test_the_interpreter_keeps_integers_beyond_the_53_bits_of_float64() -> None:
    big = np.array([[2**53 + 1, 1]])
    interpreted = el.compile("ab,cb->ac", big, big, target="interpreter")
    assert np.array_equal(interpreted(big, big), big @ big.T)


def test_products_of_truth_values_are_or_of_ands() -> None:
    a = np.array([[True, True], [False, False], [True, False]])
    result = el.einsum("ab,cb->ac", a, a)
    assert result.dtype == np.dtype(bool)
    assert np.array_equal(result, a @ a.T)
    assert el.einsum("ab->b", a).tolist() == [True, True]


def test_bytes_of_truth_that_are_neither_0_nor_1_are_true() -> None:
    odd = np.array([[2, 4, 0], [0, 0, 6]], np.uint8).view(bool)
    assert np.array_equal(el.einsum("ab,cb->ac", odd, odd), [[True, False], [False, True]])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "bool"])
def test_products_of_neighbours_along_k_wrap_as_well(dtype: str) -> None:
    """Large enough for instructions that multiply pairs and quads, with every rest of k behind the last one."""
    generator = np.random.default_rng(3)
    for k in (64, 65, 66, 67, 131):
        a, b = drawn(generator, (70, k), dtype), drawn(generator, (k, 83), dtype)
        wanted = np.einsum("ab,bc->ac", a, b)
        assert np.array_equal(el.einsum("ab,bc->ac", a, b), wanted)
        assert np.array_equal(el.einsum("ba,bc->ca", a.T.copy(), b), wanted.T)
        assert np.array_equal(el.einsum("ab,cb->ac", a, b.T.copy()), wanted)


@pytest.mark.parametrize("dtype", PAIRS)
@pytest.mark.parametrize("target", ["cpu", "interpreter"])
def test_imaginary_parts_stay(dtype: str, target: str) -> None:
    a = np.array([[1 + 2j, 3j], [2, -1j]], dtype)
    compiled = el.compile("ab,bc->ac", a, a, target=target)
    assert np.array_equal(compiled(a, a), a @ a)
    assert compiled.flops == 8 * 2**3


def test_infinite_parts_are_multiplied_part_by_part() -> None:
    """As NumPy's own loops do: no recovery of infinities as in annex G of C."""
    a, b = np.array([complex(np.inf, 1)], np.complex64), np.array([complex(0, 2)], np.complex64)
    result = el.einsum("a,a->a", a, b)[0]
    assert np.isnan(result.real) and result.imag == np.inf


def test_many_bytes_of_truth_that_are_neither_0_nor_1_are_true() -> None:
    generator = np.random.default_rng(2)
    odd = generator.choice(np.array([0, 0, 0, 0, 1, 2, 4, 128], np.uint8), (90, 130)).view(bool)
    plain = odd.view(np.uint8) != 0
    assert np.array_equal(el.einsum("ab,cb->ac", odd, odd), plain @ plain.T)
    assert np.array_equal(el.einsum("ab,ac->bc", odd, odd), plain.T @ plain)


def test_integers_are_converted_to_what_they_promote_to() -> None:
    a, b = np.array([[1, 2]], np.int32), np.array([[0.5, 0.25]], np.float32)
    result = el.einsum("ab,cb->ac", a, b)
    assert result.dtype == np.float64
    assert result.tolist() == [[1.0]]


@pytest.mark.parametrize("conj", [(0,), (1,), (0, 1), (2,), (0, 2)])
@pytest.mark.parametrize("equation", ["ab,bc,cd->ad", "ab,bc,ce->ba", "xab,bc,cd->da"])
def test_conjugation_is_in_the_signs_of_products(equation: str, conj: tuple[int, ...]) -> None:
    sizes = dict(zip("abcdex", (3, 4, 5, 6, 7, 2)))
    generator = np.random.default_rng(5)
    shapes = [tuple(sizes[label] for label in term) for term in equation.split("->")[0].split(",")]
    operands = [drawn(generator, shape, "complex128") for shape in shapes]
    wanted = np.einsum(equation, *(each.conj() if i in conj else each for i, each in enumerate(operands)))
    assert np.array_equal(el.einsum(equation, *operands, conj=conj), wanted)


def test_a_conjugated_sum_and_an_accumulated_product() -> None:
    a = np.array([[1 + 2j, 3j], [2, -1j]], np.complex64)
    assert np.array_equal(el.einsum("ab->a", a, conj=(0,)), a.conj().sum(1))
    out = np.full((2, 2), 1j, np.complex64)
    assert np.array_equal(el.einsum("ab,bc->ac", a, a, out=out, beta=1, conj=(1,)), a @ a.conj() + 1j)


def test_the_schedule_of_a_complex_product_is_over_complex_elements() -> None:
    generator = np.random.default_rng(3)
    a, b = (drawn(generator, shape, "complex64") for shape in ((130, 90), (70, 90)))
    compiled = el.compile("ab,cb->ac", a, b, conj=(1,))
    text = str(compiled.schedule)
    assert ":1e " in text
    again = el.compile("ab,cb->ac", a, b, conj=(1,), schedule=text)
    assert again.schedule == compiled.schedule and again.code == compiled.code
    text = "seq b:30 prim m=a n=c k=b pack in0@1:1e b a pack out@0 c a"
    given = el.compile("ab,cb->ac", a, b, conj=(1,), schedule=text)
    assert np.array_equal(given(a, b), a @ b.conj().T)
    assert "conj complex64" in given.show("nest")
    with pytest.raises(el.ScheduleError, match="form 1e"):
        el.compile("ab,cb->ac", a, b, schedule="prim m=c n=a k=b pack in1@0 b c")


def test_complex_products_take_little_scratch() -> None:
    compiled = el.compile("ab,bc->ac", (1500, 1500), (1500, 1500), dtype="complex128", threads=1)
    assert compiled.scratch_bytes <= 4 << 20


@pytest.mark.parametrize("target", ["cpu", "interpreter"])
@pytest.mark.parametrize("name", COMPUTED)
def test_an_expression_has_the_type_of_its_results(name: str, target: str) -> None:
    """Compiled from shapes, of operands of its own type and of narrower ones, and for an array of it to write."""
    own = dtype_of(name)
    f = el.compile("ab,bc->ac", (4, 5), (5, 6), dtype=name, target=target)
    a, b = np.ones((4, 5), own), np.ones((5, 6), own)
    result = f(a, b)
    assert f.dtype == own == result.dtype and np.all(result == (1 if name == "bool" else 5))
    out = np.empty(f.output_shape, f.dtype)
    for _ in range(2):  # as generated code, too
        assert f(a, b, out=out) is out and np.array_equal(out, result) and f(a, b).dtype == f.dtype
    narrower = np.ones((4, 5), "bool" if name in ("bool", "uint8") else "uint8")
    with suppress(el.DTypeError):  # what the type does not hold
        assert f(narrower, b).dtype == f(narrower, np.ones((5, 6), narrower.dtype)).dtype == f.dtype


def test_an_expression_learns_its_type_when_numpy_does() -> None:
    pytest.importorskip("ml_dtypes")
    program = """
import sys, numpy as np, einloom as el
f = el.compile("ab->ba", (2, 3), dtype="bfloat16", target="interpreter")
assert f.dtype == np.uint16 and "ml_dtypes" not in sys.modules
import ml_dtypes
assert f.dtype == ml_dtypes.bfloat16 == f(np.ones((2, 3), f.dtype)).dtype
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
