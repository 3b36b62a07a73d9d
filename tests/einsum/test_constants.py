"""`constants=`: contracted once, left out of calls, kept as they were."""

from __future__ import annotations

import pickle
import random
from typing import Any

import numpy as np
import pytest

import einloom as el

from .networks import random_network
from .test_slices import operands_of

RNG = np.random.default_rng(3)
A, B, C = (RNG.standard_normal(shape) for shape in [(4, 6), (6, 8), (8, 5)])


@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32", "int16"])
@pytest.mark.parametrize("seed", range(10))
def test_any_operands_may_be_constants(dtype: str, seed: int) -> None:
    """Also conjugated ones, and together with slices."""
    rng = random.Random(seed)
    equation, shapes = random_network(rng, most=6)
    operands = operands_of([*shapes, (2, 3)], dtype, seed)
    equation = equation.replace("->", ",xy->", 1) + rng.choice(["", "x", "yx"])
    fixed = {i: operand for i, operand in enumerate(operands) if rng.random() < 0.6}
    fixed.pop(rng.randrange(len(operands)), None)
    conj = tuple(i for i in range(len(operands)) if rng.random() < 0.3)
    limit = rng.choice((None, 6))
    f = el.compile(equation, *operands, constants=fixed, conj=conj, memory_limit=limit)
    conjugated = [operand.conj() if i in conj else operand for i, operand in enumerate(operands)]
    expected = np.einsum(equation, *conjugated, optimize=True)
    free = [operand for i, operand in enumerate(operands) if i not in fixed]
    assert f.shapes == tuple(operand.shape for operand in free)
    for _ in range(3):  # The third call enters generated code.
        result = f(*free)
        assert result.dtype == dtype
        assert np.array_equal(result, expected), (equation, sorted(fixed))


def test_what_is_between_constants_is_contracted_once() -> None:
    f = el.compile("ab,bc,cd->ad", A.shape, B, C, constants={1: B, 2: C}, optimize=[(1, 2), (0, 1)])
    assert f.flops == 2 * 4 * 6 * 5
    assert f.path == ((0, 1),)
    assert "and 1 constant -> 4x5" in repr(f)
    assert np.allclose(f(A), A @ B @ C)


def test_constants_are_snapshots() -> None:
    held = B.copy()
    f = el.compile("ab,bc->ac", A.shape, held, constants={1: held})
    held[...] = 0
    out = np.empty((4, 8))
    for _ in range(3):
        assert f(A, out=out) is out
        assert np.allclose(out, A @ B)
    assert np.allclose(pickle.loads(pickle.dumps(f))(A), A @ B)


def test_constants_with_the_rest() -> None:
    """alpha, beta, an epilogue's operand, which comes behind the others, and ellipses."""
    bias, out = np.arange(5.0), np.ones((2, 4, 5))
    batch = RNG.standard_normal((2, 4, 8))
    options: dict[str, Any] = {"alpha": 2, "beta": 3, "epilogue": (("add", "d"),)}
    f = el.compile("xac,cd->xad", batch, C, bias, constants={1: C}, **options)
    assert np.allclose(f(batch, bias, out=out), 2 * batch @ C + 3 + bias)
    assert np.allclose(el.compile("...c,cd->...d", batch, C, constants={1: C})(batch), batch @ C)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int32", "int8", "float16"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("equation", ["mk,kn->mn", "mk,nk->nm"])
def test_constants_are_packed_once(dtype: str, threads: int, equation: str) -> None:
    """By the copies that calls would make; with epilogues, and in another process."""
    rng = np.random.default_rng(5)
    m, n, k = 60, 150, 333
    left = rng.integers(-1, 2, (m, k)).astype(dtype)
    right = rng.integers(-1, 2, (k, n) if "kn" in equation else (n, k)).astype(dtype)
    wide = "complex128" if dtype == "complex64" else "float64"
    expected = np.einsum(equation, left.astype(wide), right.astype(wide)).astype(dtype)
    f = el.compile(equation, left, right, constants={1: right}, threads=threads)
    whole = el.compile(equation, left, right, threads=threads)
    assert "pack in1" not in whole.show("nest") or "t1 is packed once" in f.show("tree")
    for g in (f, pickle.loads(pickle.dumps(f))):
        for _ in range(3):
            assert np.array_equal(g(left), expected)
        out = np.empty_like(expected)
        assert g(left, out=out) is out and np.array_equal(out, expected)
        strided = np.repeat(left, 2, axis=1)[:, ::2]
        assert np.array_equal(g(strided), expected)


def test_most_constants_that_calls_would_pack_are_packed_once() -> None:
    held = np.ones((512, 512), "float32")
    f = el.compile("mk,kn->mn", (64, 512), held, dtype="float32", constants={1: held})
    assert "t1 is packed once" in f.show("tree")
    assert "once, before the first call:" in f.show("nest")
    assert "in1: packed before the first call" in f.show("passes")
    assert "pack in1" not in f.show("asm")


@pytest.mark.parametrize(
    ("constants", "error", "text"),
    [
        ({3: A}, el.ArgumentError, "there are 0 to 1"),
        ({-1: A}, el.ArgumentError, "there are 0 to 1"),
        ({"b": A}, el.ArgumentError, "names operand 'b'"),
        ({1: A}, el.ShapeError, r"has shape \(4, 6\), the operand \(6, 8\)"),
        ({0: A, 1: B}, el.ArgumentError, "every operand is a constant"),
    ],
)
def test_what_is_no_constant(constants: dict[Any, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        el.compile("ab,bc->ac", A, B, constants=constants)


def test_constants_that_are_no_mapping() -> None:
    wrong: Any = [np.ones((3, 4))]
    with pytest.raises(el.ArgumentError, match="constants is a list"):
        el.compile("ab,bc->ac", (2, 3), (3, 4), constants=wrong)
