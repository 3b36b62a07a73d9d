"""What becomes of the sums: `alpha`, `beta`, `conj` and `epilogue`, as they are defined, in every way to compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.ir import meanings

RNG = np.random.default_rng(17)

EQUATIONS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("ab,bc->ac", [(13, 40), (40, 37)]),
    ("ab,bc->ca", [(130, 300), (300, 70)]),
    ("abc,cd->abd", [(5, 6, 7), (7, 9)]),
    ("ab->a", [(17, 65)]),
    ("ab->ba", [(33, 18)]),
    ("ab,ab->ab", [(9, 33), (9, 33)]),
    ("ab,bc,cd->ad", [(5, 6), (6, 7), (7, 8)]),
    ("ab,ab->", [(9, 4), (9, 4)]),
]
TARGETS = ("cpu", "interpreter")

pytestmark = pytest.mark.filterwarnings("ignore::einloom.FallbackWarning")


def operands(shapes: list[tuple[int, ...]], dtype: str = "float64") -> list[np.ndarray]:
    return [RNG.uniform(-1, 1, shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize(("alpha", "beta"), [(2.5, 0), (1, 1), (-0.5, 1), (1, 0.25), (3, -2), (0, 0), (0, 1), (0, 0.5)])
@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS, ids=[each[0] for each in EQUATIONS])
def test_alpha_and_beta(equation: str, shapes: list[tuple[int, ...]], alpha: float, beta: float) -> None:
    given = operands(shapes)
    sums = np.einsum(equation, *given)
    before = RNG.uniform(-1, 1, np.shape(sums))
    expected = beta * before + alpha * sums
    for target in TARGETS:
        f = el.compile(equation, *given, alpha=alpha, beta=beta, target=target)
        for _ in range(3):  # in Python, then in generated code
            out = np.array(before)
            assert f(*given, out=out) is out
            assert np.allclose(out, expected, rtol=1e-12, atol=1e-11)
    strided = np.repeat(before[..., None], 2, axis=-1)[..., 0]
    el.einsum(equation, *given, out=strided, alpha=alpha, beta=beta)
    assert np.allclose(strided, expected, rtol=1e-12, atol=1e-11)
    if beta == 0:
        assert np.allclose(el.einsum(equation, *given, alpha=alpha), expected, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("target", TARGETS)
def test_what_has_a_factor_of_0_is_not_read(target: str) -> None:
    a, b = operands([(4, 5), (5, 6)])
    out = np.full((4, 6), np.nan)
    el.compile("ab,bc->ac", a, b, alpha=2, target=target)(a, b, out=out)
    assert np.allclose(out, 2 * a @ b)
    a[:] = np.nan
    b[:] = np.inf
    el.compile("ab,bc->ac", a, b, alpha=0, beta=0.5, target=target)(a, b, out=out)
    assert np.isfinite(out).all()


WORDS = ("relu", "negate", "abs", "square", "exp", "tanh", "sigmoid", "gelu", "silu", "sign")


@pytest.mark.parametrize("word", WORDS)
def test_an_operator_on_the_result(word: str) -> None:
    a, b = operands([(13, 20), (20, 37)])
    expected = meanings.UNARY[word](a @ b)
    for target in TARGETS:
        f = el.compile("ab,bc->ac", a, b, epilogue=(word,), target=target)
        assert np.allclose(f(a, b), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64", "longdouble"])
@pytest.mark.parametrize("labels", ["c", "a", "ac", "ca", ""])
def test_operators_with_operands(labels: str, dtype: str) -> None:
    a, b = operands([(13, 20), (20, 37)], dtype)
    sizes = {"a": 13, "c": 37}
    (extra,) = operands([tuple(sizes[label] for label in labels)], dtype)
    (scale,) = operands([(37,)], dtype)
    wide = np.einsum(f"{labels},ac->ac", extra, np.ones((13, 37), dtype))
    expected = np.maximum(2 * (a @ b) + wide, 0) * scale
    epilogue = (("add", labels), "relu", ("mul", "c"))
    result = el.einsum("ab,bc->ac", a, b, extra, scale, alpha=2, epilogue=epilogue)
    assert result.dtype == a.dtype and np.allclose(result, expected, rtol=1e-4, atol=1e-4)
    f = el.compile("ab,bc->ac", a, b, extra, scale, beta=1, epilogue=epilogue)
    out = np.ones((13, 37), dtype)
    for _ in range(3):
        out[:] = 1
        f(a, b, extra, scale, out=out)
        assert np.allclose(out, np.maximum(1 + a @ b + wide, 0) * scale, rtol=1e-4, atol=1e-4)


def test_a_word_is_an_epilogue_by_itself() -> None:
    a, b = operands([(4, 5), (5, 6)])
    expected = el.einsum("ab,bc->ac", a, b, epilogue=("relu",))
    assert np.array_equal(el.einsum("ab,bc->ac", a, b, epilogue="relu"), expected)
    assert np.array_equal(el.compile("ab,bc->ac", a, b, epilogue="relu")(a, b), expected)


def test_an_operand_of_the_epilogue_broadcasts() -> None:
    a, b = operands([(4, 5), (5, 6)])
    row, column = operands([(1, 6), (4, 1)])
    result = el.einsum("ab,bc->ac", a, b, row, column, epilogue=(("add", "ac"), ("sub", "ac")))
    assert np.allclose(result, a @ b + row - column)


def test_conj() -> None:
    a, b = (x + 1j * y for x, y in zip(operands([(4, 5), (5, 6)]), operands([(4, 5), (5, 6)])))
    assert np.allclose(el.einsum("ab,bc->ac", a, b, conj=(0,)), a.conj() @ b)
    assert np.allclose(el.einsum("ab,bc->ac", a, b, conj=(1, 0), alpha=2j), 2j * (a.conj() @ b.conj()))
    real = operands([(4, 5), (5, 6)])
    assert np.array_equal(el.einsum("ab,bc->ac", *real, conj=(0,)), el.einsum("ab,bc->ac", *real))


def test_out_of_another_type_is_read_and_written() -> None:
    a, b = operands([(4, 5), (5, 6)])
    out = np.ones((4, 6), "float32")
    el.einsum("ab,bc->ac", a, b, out=out, beta=2, casting="same_kind")
    assert np.allclose(out, 2 + a @ b, rtol=1e-6)


@pytest.mark.parametrize("factor", [-1, 300, 2**70 + 3, np.int64(-3), -2.0])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "uint64"])
def test_factors_of_integers_wrap_as_their_products_do(dtype: str, factor: Any) -> None:
    a = RNG.integers(0, 100, (3, 5)).astype(dtype)
    wanted = np.array([int(x) * int(factor) % 2**64 for x in a.ravel()], np.uint64).astype(dtype).reshape(a.shape)
    for target in TARGETS:
        assert np.array_equal(el.einsum("ab->ab", a, alpha=factor, target=target), wanted)
        out = a.copy()
        el.einsum("ab->ab", np.zeros_like(a), beta=factor, out=out, target=target)
        assert np.array_equal(out, wanted)


@pytest.mark.parametrize("keyword", ["alpha", "beta"])
@pytest.mark.parametrize(
    ("dtype", "factor"),
    [
        ("int32", 0.5), ("uint8", np.float32(1.5)), ("int64", np.nan), ("int8", np.inf), ("int32", 1 + 2j),
        ("float32", 2j), ("float64", np.complex64(1 + 1j)), ("float16", 1 - 1j), ("float64", 10**400),
    ],
)  # fmt: skip
def test_factors_that_a_type_does_not_have_are_refused(dtype: str, factor: Any, keyword: str) -> None:
    a = np.ones((3, 5), dtype)
    with pytest.raises(el.ArgumentError, match=f"is no number of type {dtype}\n  ab->ab"):
        el.einsum("ab->ab", a, out=np.ones_like(a), **{keyword: factor})


@pytest.mark.parametrize("factor", [np.True_, np.False_])
@pytest.mark.parametrize("dtype", ["float32", "complex64", "int8", "bool"])
def test_truth_values_of_numpy_are_factors(dtype: str, factor: Any) -> None:
    a, held = np.array([[1, 0, 1]], dtype), np.array([[0, 0, 1]], dtype)
    assert np.array_equal(el.einsum("ab->ab", a, alpha=factor), a if factor else np.zeros_like(a))
    out = held.copy()
    el.einsum("ab->ab", a, out=out, beta=factor)
    assert np.array_equal(out, a + held if factor else a)


@pytest.mark.filterwarnings("error::einloom.FallbackWarning")
@pytest.mark.parametrize("factor", [2, -1, 0.5, np.nan, 1j, True])
def test_factors_of_truth_values_are_truth_values(factor: Any) -> None:
    """Whatever is not 0 is true, and code computes as without it."""
    a, b = RNG.random((5, 7)) < 0.3, RNG.random((7, 6)) < 0.3
    for target in TARGETS:
        assert np.array_equal(el.einsum("ab,bc->ac", a, b, alpha=factor, target=target), a @ b)
        out = np.eye(5, 6, dtype=bool)
        el.einsum("ab,bc->ac", a, b, out=out, beta=factor, target=target)
        assert np.array_equal(out, a @ b | np.eye(5, 6, dtype=bool))


def test_an_out_at_odd_addresses_is_read() -> None:
    a, b = operands([(4, 5), (5, 6)])
    out = np.frombuffer(bytearray(8 * 24 + 1), np.float64, 24, 1).reshape(4, 6)
    out[:] = 3
    el.einsum("ab,bc->ac", a, b, out=out, beta=2)
    assert np.allclose(out, 6 + a @ b)


def test_the_program_shows_the_touches() -> None:
    shown = el.compile("ab,bc->ac", (40, 50), (50, 60), (60,), dtype="float32", epilogue=(("add", "c"), "relu")).show()
    assert "last=add:extra0,relu" in shown


WRONG: list[tuple[type[Exception], dict[str, Any]]] = [
    (el.ArgumentError, {"beta": 1}),
    (el.ArgumentError, {"alpha": "2"}),
    (el.ArgumentError, {"beta": None}),
    (el.EquationError, {"conj": (2,)}),
    (el.EquationError, {"conj": (-1,)}),
    (el.ArgumentError, {"conj": 0}),
    (el.ArgumentError, {"conj": ("a",)}),
    (el.ArgumentError, {"epilogue": "add"}),
    (el.ArgumentError, {"epilogue": "add c"}),
    (el.ArgumentError, {"epilogue": ""}),
    (el.ArgumentError, {"epilogue": ("rely",)}),
    (el.ArgumentError, {"epilogue": (("add",),)}),
    (el.ArgumentError, {"epilogue": ("add",)}),
    (el.ArgumentError, {"epilogue": (("relu", "c"),)}),
    (el.ArgumentError, {"epilogue": 5}),
    (el.EquationError, {"epilogue": (("add", "c"),)}),  # without its operand
]


@pytest.mark.parametrize(("kind", "wrong"), WRONG, ids=[str(each[1]) for each in WRONG])
def test_wrong_arguments(kind: type[Exception], wrong: dict[str, Any]) -> None:
    with pytest.raises(kind):
        el.einsum("ab,bc->ac", *operands([(4, 5), (5, 6)]), **wrong)


@pytest.mark.parametrize(("kind", "labels", "shape"), [(el.EquationError, "b", (5,)), (el.EquationError, "cc", (6, 6))])
def test_operands_that_do_not_fit_the_result(kind: type[Exception], labels: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(kind, match="\\^"):
        el.einsum("ab,bc->ac", *operands([(4, 5), (5, 6), shape]), epilogue=(("add", labels),))
    with pytest.raises(el.ShapeError, match="ab,bc->ac"):
        el.einsum("ab,bc->ac", *operands([(4, 5), (5, 6), (7,)]), epilogue=(("add", "c"),))


@pytest.mark.parametrize(("labels", "shape"), [("...c", (3, 5)), ("c...", (5, 2, 3)), ("...", (2, 3)), ("...", ())])
def test_an_ellipsis_of_the_epilogue_is_the_results(labels: str, shape: tuple[int, ...]) -> None:
    """Of fewer axes than that stands for it names the last ones, as in NumPy's broadcasting."""
    a, b, bias = operands([(2, 3, 4), (4, 5), shape])
    result = el.einsum("...b,bc->...c", a, b, bias, epilogue=(("add", labels),))
    aligned = bias if labels == "...c" else np.moveaxis(bias, 0, -1) if labels == "c..." else bias[..., None]
    assert np.allclose(result, a @ b + aligned)
    f = el.compile("...b,bc->...c", a, b, bias, epilogue=(("add", labels),), constants={1: b})
    assert np.allclose(f(a, bias), result)


@pytest.mark.parametrize("shape", [(7, 2, 3, 5), (2, 5)])
def test_an_ellipsis_of_the_epilogue_that_fits_nothing(shape: tuple[int, ...]) -> None:
    a, b, bias = operands([(2, 3, 4), (4, 5), shape])
    with pytest.raises(el.EinloomError, match="epilogue"):
        el.einsum("...b,bc->...c", a, b, bias, epilogue=(("add", "...c"),))


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8"])
def test_epilogues_of_empty_results_do_nothing(dtype: str) -> None:
    """NumPy gives empty arrays strides of 0, as if they did not depend on their axes."""
    empty, factors, out = np.zeros((2, 0), dtype), np.ones(2, dtype), np.zeros((2, 0), dtype)
    assert el.einsum("ab->ab", empty, factors, epilogue=("relu", ("mul", "a")), out=out) is out
