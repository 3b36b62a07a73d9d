"""Calls of `einsum` with keywords: those like an earlier one enter generated code, and none is taken for another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.expression import Expression
from einloom.jit.interpreter import known_interpreter

RNG = np.random.default_rng(31)
A, B = (RNG.integers(-4, 5, shape).astype("float32") for shape in ((4, 6), (6, 5)))
Z = A + 1j * A[::-1]
C = np.empty((4, 5), "float32")


class Mine(np.ndarray):
    """A subclass."""


CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "threads": ((A, B), {"threads": 1}),
    "a path": ((A, B), {"optimize": True}),
    "a path as a tuple": ((A, B, B.T), {"optimize": ((0, 1), (0, 1))}),
    "a factor": ((A, B), {"alpha": -2.5}),
    "added to out": ((A, B), {"out": C, "beta": 0.5}),
    "conjugated": ((Z, Z.T), {"conj": (0,)}),
    "an epilogue": ((A, B, B[0]), {"epilogue": (("add", "k"), "relu")}),
    "a type that they have": ((A, B), {"dtype": np.float32}),
    "rows": ((A, B), {"order": "C"}),
    "casting": ((A, B), {"casting": "same_kind", "out": C}),
    "what is so without a word": ((A, B), {"casting": "safe", "order": "K", "threads": None}),
}


def called(name: str) -> Any:
    operands, keywords = CALLS[name]
    C[...] = 3
    equation = "ij,jk,kl->il" if name == "a path as a tuple" else "ij,jk->ik"
    return np.array(el.einsum(equation, *operands, **keywords))


@pytest.mark.parametrize("name", CALLS)
def test_calls_like_earlier_ones_enter_generated_code(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = called(name)
    called(name)
    if known_interpreter() is not None:
        monkeypatch.setattr(Expression, "compute", None)  # Python has nothing to call.
    for _ in range(2):
        assert np.array_equal(called(name), expected)


def test_words_that_are_equal_and_mean_something_else() -> None:
    for _ in range(3):
        assert el.einsum("ij,jk->ik", A, B, threads=1).shape == (4, 5)
        with pytest.raises(el.ArgumentError):
            el.einsum("ij,jk->ik", A, B, threads=True)
        assert el.einsum("ij,jk->ik", A, B, dtype="float64").dtype == "float64"
        assert el.einsum("ij,jk->ik", A, B, dtype="complex64").dtype == "complex64"
        assert np.array_equal(el.einsum("ij,jk->ik", A, B, alpha=2), 2 * (A @ B))
        assert np.array_equal(el.einsum("ij,jk->ik", A, B), A @ B)


def test_no_refusal_is_taken_for_words_that_equal_its_own() -> None:
    for wrong in (((0.0, 1.0), (0.0, 1.0)), ((0, 1), (0.0, 1.0))):
        with pytest.raises(el.PathError):
            el.einsum("ij,jk,kl->li", A, B, B.T, optimize=wrong)
    for _ in range(3):
        result = el.einsum("ij,jk,kl->li", A, B, B.T, optimize=((0, 1), (0, 1)))
        assert np.array_equal(result, (A @ B @ B.T).T)


def test_what_is_refused_is_refused_every_time() -> None:
    el.einsum("ij,jk->ik", A, B, out=C, beta=1)
    for _ in range(3):
        with pytest.raises(el.ArgumentError):
            el.einsum("ij,jk->ik", A, B, beta=1)
        with pytest.raises(TypeError):
            el.einsum("ij,jk->ik", A, B, thread=1)  # type: ignore[call-arg]
        with pytest.raises(el.DTypeError):
            el.einsum("ij,jk->ik", A, B, dtype="float16")


def test_words_without_a_hash() -> None:
    for path in ([(0, 1), (0, 1)], ["einsum_path", (0, 1), (0, 1)]):
        for _ in range(3):
            assert np.allclose(el.einsum("ij,jk,kl->il", A, B, B.T, optimize=path), A @ B @ B.T)
    for _ in range(3):
        assert np.array_equal(el.einsum("ij,jk->ik", Z, Z.T, conj=[0]), Z.conj() @ Z.T)


@pytest.mark.parametrize(("dtype", "casting"), [("float16", "same_kind"), ("int32", "unsafe")])
def test_the_rule_that_would_do_is_named(dtype: str, casting: str) -> None:
    with pytest.raises(el.DTypeError, match=f"Pass casting='{casting}'"):
        el.einsum("ij,jk->ik", A, B, dtype=dtype)
    el.einsum("ij,jk->ik", A, B, dtype=dtype, casting=casting)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "operands",
    [(A.tolist(), B), (A, B.astype("float64")), (A.astype(">f4"), B), (A.astype("int8"), B), (A.view(Mine), B)],
    ids=["lists", "mixed types", "other byte order", "integers", "a subclass"],
)
def test_what_is_converted_enters_generated_code(operands: Any, slow_calls: list[Any]) -> None:
    for _ in range(3):
        result = el.einsum("ij,jk->ik", *operands)
        assert np.array_equal(result, A @ B) and result.dtype == np.result_type(*map(np.asarray, operands))
    slow_calls.clear()
    el.einsum("ij,jk->ik", *operands)
    assert len(slow_calls) == (0 if known_interpreter() is not None else 1)


def test_numbers_are_operands() -> None:
    for number in (2, 2.5, np.float64(3), np.float32(1), True):
        for _ in range(3):
            expected = np.einsum(",ij->ij", number, A)
            result = el.einsum(",ij->ij", number, A)
            assert np.array_equal(result, expected) and result.dtype == expected.dtype
            assert np.array_equal(el.einsum(",", number, 4), 4 * number)


@pytest.fixture
def slow_calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list that grows with every call of an expression that comes to Python."""
    seen: list[Any] = []
    original = Expression.compute

    def watched(self: Expression, operands: Any, *rest: Any) -> Any:
        seen.append(operands)
        return original(self, operands, *rest)

    monkeypatch.setattr(Expression, "compute", watched)
    return seen
