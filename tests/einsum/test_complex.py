"""Complex tensors beside real ones, their factors and conjugates, and products at the ends of numbers."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import einloom as el

from ..soak import soak_count

REALS = {"complex64": "float32", "complex128": "float64"}


def _drawn(generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    values = generator.integers(-3, 4, shape)
    return (values + 1j * generator.integers(-3, 4, shape) if dtype.startswith("c") else values).astype(dtype)


def _problem(seed: int) -> tuple[str, list[Any]]:
    """Two or three operands, the first of which is complex; small integers, so that sums are exact."""
    rng, generator = random.Random(seed), np.random.default_rng(seed)
    sizes = {label: rng.choice((1, 2, 3, 5, 8, 17)) for label in "abcde"}
    terms = ["".join(rng.sample("abcde", rng.randint(0, 3))) for _ in range(rng.choice((2, 2, 3)))]
    used = sorted({label for term in terms for label in term})
    output = "".join(rng.sample(used, rng.randint(0, len(used))))
    dtype = rng.choice((*REALS,))
    others = (REALS[dtype], REALS[dtype], dtype, "int8")
    types = [dtype, *(rng.choice(others) for _ in terms[1:])]
    operands = [_drawn(generator, tuple(sizes[x] for x in term), each) for term, each in zip(terms, types)]
    return f"{','.join(terms)}->{output}", operands


@pytest.mark.soak
def test_real_operands_beside_complex_ones_equal_numpy() -> None:
    for seed in range(soak_count(10_000, 0.02)):
        equation, operands = _problem(seed)
        conj = tuple(i for i in range(len(operands)) if seed >> i & 1 and seed % 3 == 0)
        factors = [each.conj() if i in conj else each for i, each in enumerate(operands)]
        wanted, alpha = np.einsum(equation, *factors), 1 if seed % 4 else 2 - 1j
        result = el.einsum(equation, *operands, conj=conj, alpha=alpha)
        assert result.dtype == wanted.dtype
        assert np.array_equal(result, alpha * wanted), f"{seed}: {equation}, conj {conj}"


def test_real_operands_are_not_widened() -> None:
    compiled = el.compile("ab,bc->ac", np.ones((40, 30), np.complex64), np.ones((30, 20), np.float32))
    assert compiled.flops == 2 * 2 * 40 * 30 * 20
    assert "in1 float32" in compiled.show("nest")


def test_complex_factors_of_the_sums() -> None:
    a, b = np.array([[1 + 2j, 3j]]), np.array([[2j], [1 - 1j]])
    out = np.array([[1j]])
    with el.settings(fallback="error"):
        el.einsum("ab,bc->ac", a, b, out=out, alpha=2 - 1j, beta=1, conj=(0,))
        assert out == 1j + (2 - 1j) * (a.conj() @ b)
        assert el.einsum("ab->a", a, alpha=1j, conj=(0,)) == 1j * a.conj().sum()
        assert el.einsum("ab->", a, alpha=0) == 0
        with pytest.raises(el.DTypeError, match="complex128"):
            el.einsum("ab,bc->ac", a, b, epilogue=("sqrt",))


FINISHES: list[tuple[complex, complex, tuple[Any, ...]]] = [
    (-3, 1, ()),
    (2, 1 - 2j, (("add", "n"), "negate")),
    (1, 0, (("sub", "mn"),)),
    (0, 2j, (("mul", "m"), ("add", "n"), "negate", ("mul", ""))),
    (0, 1, (("add", "mn"), ("mul", "n"))),
    (2 - 1j, 1, ()),
    (2j, 3, ("negate", ("add", "n"))),
    (1 - 1j, 1 + 1j, (("add", "n"), ("mul", "m"), "square", "negate")),
    (1, 1, (("mul", "mn"),)),
    (-2, 0, ("square",)),
]
"""beta, alpha, epilogue."""


@pytest.mark.parametrize("target", ["cpu", "interpreter"])
@pytest.mark.parametrize("finish", FINISHES, ids=str)
@pytest.mark.parametrize("equation", ["mk,kn->mn", "mk,kn->nm", "mk,kj,jn->mn", "mn->nm", "kmn->mn"])
def test_operators_on_complex_results_are_code(equation: str, finish: Any, target: str) -> None:
    """Small integers, so that sums are exact."""
    beta, alpha, epilogue = finish
    generator, sizes = np.random.default_rng(5), {"m": 9, "k": 4, "j": 3, "n": 18}
    inputs, _, output = equation.partition("->")
    operands = [_drawn(generator, tuple(sizes[x] for x in term), "complex64") for term in inputs.split(",")]
    beside = [_drawn(generator, tuple(sizes[x] for x in word[1]), "complex64") for word in epilogue if len(word) == 2]
    held = _drawn(generator, tuple(sizes[x] for x in output), "complex64")
    wanted = beta * held + alpha * np.einsum(equation, operands[0].conj(), *operands[1:])
    places = {label: place for place, label in enumerate(output)}
    queue = iter(beside)
    for word in epilogue:
        if isinstance(word, str):
            wanted = -wanted if word == "negate" else wanted * wanted
            continue
        other = np.einsum(f"{word[1]}->{''.join(sorted(word[1], key=output.index))}", next(queue))
        other = other.reshape([sizes[label] if label in word[1] else 1 for label in places])
        wanted = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[word[0]](wanted, other)
    with el.settings(fallback="error"):
        f = el.compile(
            equation, *operands, *beside, alpha=alpha, beta=beta, epilogue=epilogue, conj=(0,), target=target
        )
        for _ in range(2):
            out = held.copy()
            f(*operands, *beside, out=out)
            assert np.array_equal(out, wanted)


def test_sums_over_nothing_of_real_and_complex_operands_are_complex() -> None:
    out = np.full((5, 6), 1 + 1j, np.complex64)
    el.einsum("mk,kn->mn", np.ones((5, 0), np.float32), np.ones((0, 6), np.complex64), out=out)
    assert not out.any()


@pytest.mark.parametrize("target", ["cpu", "interpreter"])
@pytest.mark.parametrize("real", [None, 0, 1])
@pytest.mark.parametrize(
    "equation", ["ab->ba", "ab->a", "ab,bc->ac", "ab,b->a", "ab,ab->ab", "a,ab->b", "ab,bc,cd->da"]
)
def test_conjugates_are_made_by_code(equation: str, real: int | None, target: str) -> None:
    """All of a finish beside them too; a real operand stays real, conjugated or not."""
    generator, sizes = np.random.default_rng(8), dict(zip("abcd", (7, 19, 5, 12)))
    inputs, _, output = equation.partition("->")
    operands = [
        _drawn(generator, tuple(sizes[x] for x in term), "float32" if i == real and "," in inputs else "complex64")
        for i, term in enumerate(inputs.split(","))
    ]
    held = _drawn(generator, tuple(sizes[x] for x in output), "complex64")
    count = len(operands)
    for conj in ((0,), (1,), tuple(range(count))):
        conj = tuple(i for i in conj if i < count)
        sums = np.einsum(equation, *(each.conj() if i in conj else each for i, each in enumerate(operands)))
        for alpha, beta, epilogue in ((1, 0, ()), (1, 1, ()), (2, 1, ()), (1j, -1j, ()), (-1, 0, (("mul", output),))):
            wanted, out = alpha * sums + beta * held, held.copy()
            beside = [held] * len(epilogue)
            f = el.compile(
                equation, *operands, *beside, conj=conj, alpha=alpha, beta=beta, epilogue=epilogue, target=target
            )
            for _ in range(2):
                out = held.copy()
                f(*operands, *beside, out=out)
                assert np.array_equal(out, wanted * held if epilogue else wanted), (conj, alpha, beta)


def test_conjugates_of_large_arrays_keep_infinities_and_take_no_copy() -> None:
    a: Any = np.full((70, 90), complex(np.inf, -0.0), np.complex128)
    f = el.compile("ab->ba", a, conj=(0,))
    assert np.array_equal(f(a), a.conj().T) and not np.signbit(f(a).imag).any()
    assert f.scratch_bytes == 0


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("equation", ["a,a->a", "a,a->", "ab,cb->ac", "ab,bc->ac"])
def test_parts_are_multiplied_one_by_one(equation: str, dtype: str) -> None:
    """Infinities and NaN are those of the products and sums of the parts."""
    special = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0]
    for first in special:
        for second in special:
            operands: list[Any] = [
                np.full([1] * len(term), complex(0, 0), dtype) for term in equation.split("->")[0].split(",")
            ]
            for operand, parts in zip(operands, ((first, 2.0), (-1.0, second))):
                operand.real, operand.imag = parts
            (ar, ai), (br, bi) = ((each.real.item(), each.imag.item()) for each in operands)
            result: Any = np.asarray(el.einsum(equation, *operands)).reshape(())
            np.testing.assert_array_equal([result.real, result.imag], [ar * br - ai * bi, ai * br + ar * bi])


@pytest.mark.parametrize("dtype", [">c8", ">c16", "<c16", np.clongdouble])
def test_complex_operands_of_other_byte_orders_and_sizes_keep_their_imaginary_parts(dtype: Any) -> None:
    generator = np.random.default_rng(3)
    a, b = _drawn(generator, (5, 7), "complex64"), _drawn(generator, (7,), "complex64")
    for operands in ((a, b.astype(dtype)), (a.astype(dtype), b), (a.astype(dtype), b.astype(dtype))):
        for asked in ("complex64", "complex128"):
            result = el.einsum("ab,b->a", *operands, dtype=asked, casting="unsafe")
            assert result.dtype == asked and np.array_equal(result, a @ b)
    if dtype != np.clongdouble:
        assert np.array_equal(el.einsum("ab,b->a", a, b.astype(dtype)), a @ b)


def test_other_doors_say_what_to_do() -> None:
    with pytest.raises(el.DTypeError, match="with a last axis of 2"):
        el.primitives.brgemm(m=4, n=4, k=4, dtype="complex64")


@pytest.mark.parametrize("dtype", REALS)
def test_copies_and_conjugates_keep_the_signs_of_zeros(dtype: str) -> None:
    parts = np.array([0.0, -0.0, 1.0, -np.inf, np.nan], REALS[dtype])
    a: Any = np.empty((5, 5), dtype)
    a.real, a.imag = parts[:, None], parts
    for conj, wanted in (((), a.T), ((0,), a.conj().T)):
        result = el.einsum("ab->ba", a, conj=conj)
        np.testing.assert_array_equal(result, wanted)
        for part, other in ((result.real, wanted.real), (result.imag, wanted.imag)):
            assert np.array_equal(np.signbit(part)[~np.isnan(part)], np.signbit(other)[~np.isnan(other)])


def _shifted(array: Any, offset: int) -> Any:
    memory = np.zeros(array.nbytes + offset, np.uint8)
    moved = memory[offset:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


PLACES = ("ab,bc->ac", "ab,ba->ab", "ab,ba->", "ab,b->a", "ab->ba", "ab->a", ",ab->ab", "a,b->ba")


def _placed(equation: str, dtype: str) -> tuple[list[Any], tuple[int, ...]]:
    sizes, generator = dict(zip("abc", (17, 33, 20))), np.random.default_rng(6)
    terms = equation.split("->")[0].split(",")
    return [_drawn(generator, tuple(sizes[x] for x in term), dtype) for term in terms], (len(terms) - 1,)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("equation", PLACES)
def test_elements_lie_anywhere_and_in_any_direction(equation: str, dtype: str) -> None:
    """Off by bytes that divide no part, by parts of an element, and backwards; outputs too."""
    operands, conj = _placed(equation, dtype)
    backwards = [operand[(slice(None, None, -1),) * operand.ndim] for operand in operands]
    for given in (
        operands,
        backwards,
        [*operands[:-1], backwards[-1]],
        *([_shifted(each, offset) for each in operands] for offset in (1, 4, 8)),
    ):
        wanted = np.einsum(equation, *(each.conj() if i in conj else each for i, each in enumerate(given)))
        assert np.array_equal(el.einsum(equation, *given, conj=conj), wanted)
        for offset in (1, 4):
            out = _shifted(np.ones_like(wanted), offset)
            assert el.einsum(equation, *given, conj=conj, out=out) is out
            assert np.array_equal(out, wanted)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("equation", ["ab,b->a", "ab,ab->a", "abc,cb->a", "ab,b->"])
def test_a_small_operand_that_lies_apart(equation: str, dtype: str) -> None:
    """Each element of the large operand is used once, and vectors of the other one would have to be packed."""
    sizes, generator = dict(zip("abc", (17, 40, 50))), np.random.default_rng(2)
    first, second = equation.partition("->")[0].split(",")
    large = _drawn(generator, tuple(sizes[x] for x in first), dtype)
    small = _drawn(generator, (*(sizes[x] for x in second), 3), dtype)[..., 0]
    assert np.array_equal(el.einsum(equation, large, small), np.einsum(equation, large, small))


@pytest.mark.parametrize("dtype", REALS)
def test_no_operand_is_overwritten(dtype: str) -> None:
    out = np.full((3, 3), 1j, dtype)
    for shared in (out, out.T, out[::-1]):
        with pytest.raises(el.OverlapError, match="shares memory"):
            el.einsum("ab,bc->ac", out, np.ones((3, 3), dtype), out=shared)


def test_results_may_begin_between_two_elements() -> None:
    """NumPy calls them aligned: vectors past the caches have to begin where a line does."""
    generator = np.random.default_rng(3)
    a, b = _drawn(generator, (20_000, 33, 8), "complex64"), _drawn(generator, (33,), "complex64")
    memory = np.zeros(2 * 8 * 20_000 + 16, np.float32)
    first = (-memory.ctypes.data // 4) % 16 + 1
    out = memory[first : first + 2 * 8 * 20_000].view(np.complex64).reshape(8, 20_000)
    assert out.flags.aligned and out.ctypes.data % 8 == 4
    el.einsum("xea,e->ax", a, b, out=out, threads=1)
    assert np.allclose(out, np.einsum("xea,e->ax", a, b), atol=1e-4)
