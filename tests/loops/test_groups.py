"""Traced bodies on groups of neighbours along k: copies into groups, products of groups, lists of them, refusals."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import einloom as el
from einloom.ir.interpret import interpret_nest
from einloom.ir.memory import Memory

NARROW = np.dtype(ml_dtypes.bfloat16)
DEPTH, ROWS, COLUMNS, BM, BN, BK = 6, 3, 4, 20, 9, 16


def given() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    whole = {"W": (ROWS, DEPTH, BK, BM), "X": (COLUMNS, DEPTH, BN, BK)}
    return {name: rng.integers(-4, 5, shape).astype(NARROW) for name, shape in whole.items()}


def paired(blocks: np.ndarray) -> np.ndarray:
    *outer, k, m = blocks.shape
    return np.ascontiguousarray(blocks.reshape(*outer, k // 2, 2, m).swapaxes(-1, -2))


@pytest.mark.parametrize("string", ["abc", "aBC", "cB{R:3}a", "BCa@schedule(dynamic,1)"])
@pytest.mark.parametrize("listed", [False, True])
def test_products_of_groups(string: str, listed: bool) -> None:
    tensors = given()
    expected = np.einsum("makl,cank->cmnl", tensors["W"].astype(float), tensors["X"].astype(float))
    out = np.full((COLUMNS, ROWS, BN, BM), 7, np.float32)

    def body(a, b, c, W, X, Y):
        with el.when(a == 0):
            el.tpp.zero(Y[c, b])
        if listed:
            el.tpp.brgemm([W[b, a + i] for i in (0, 2, 1)], [X[c, a + i] for i in (0, 2, 1)], Y[c, b])
        else:
            el.tpp.brgemm(W[b, a], X[c, a], Y[c, b], batch=3)

    specs = [el.LoopSpec(0, DEPTH, 3), el.LoopSpec(0, ROWS), el.LoopSpec(0, COLUMNS)]
    traced = el.ThreadedLoop(specs, string, None if "{" in string else 2).body(body)
    arrays = {"W": paired(tensors["W"]), "X": tensors["X"], "Y": out}
    memories = [Memory((a.view(np.uint16) if a.dtype == NARROW else a).copy().reshape(-1)) for a in arrays.values()]
    interpret_nest(traced.nest(**arrays), memories)
    traced(**arrays)
    np.testing.assert_array_equal(out, expected)  # Small whole numbers are exact in every order.
    np.testing.assert_array_equal(memories[2].elements.reshape(out.shape), expected)


@pytest.mark.parametrize("dtype", [NARROW, np.dtype(np.float16)])
def test_copies_into_groups(dtype: np.dtype) -> None:
    source = np.arange(3 * 7 * 6).reshape(3, 7, 6).astype(dtype)
    rows, columns = np.ones((3, 4, 6, 2), dtype), np.ones((3, 3, 7, 2), dtype)

    def body(a, S, R, C):
        el.tpp.interleave(S[a], R[a])
        el.tpp.interleave(S[a].T, C[a])

    el.ThreadedLoop([el.LoopSpec(0, 3)], "A", 2).body(body)(S=source, R=rows, C=columns)
    padded = np.pad(source.astype(np.float32), ((0, 0), (0, 1), (0, 0)))
    np.testing.assert_array_equal(rows.astype(np.float32), paired(padded))
    np.testing.assert_array_equal(columns, paired(source.swapaxes(1, 2)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda W, X, Y, F: el.tpp.brgemm(W[0, 0], F[0, 0], Y[0, 0]), "fill 4 bytes"),
        (lambda W, X, Y, F: el.tpp.brgemm(W[0, 0], X[0, 0, :, :14], Y[0, 0]), "brgemm of"),
        (lambda W, X, Y, F: el.tpp.brgemm(W[0, 0], X[0, 0, :BN, :].T, Y[0, 0]), "brgemm of"),
        (lambda W, X, Y, F: el.tpp.brgemm(W[0], X[0, 0], Y[0, 0]), "4, 2 and 2 axes"),
        (lambda W, X, Y, F: el.tpp.interleave(X[0, 0], W[0, 0]), "interleave of"),
        (lambda W, X, Y, F: el.tpp.interleave(F[0, 0], W[0, 0]), "interleave of"),
        (lambda W, X, Y, F: el.tpp.copy(X[0, 0], W[0, 0]), "copy|identity"),
        (lambda W, X, Y, F: el.tpp.relu(W[0, 0]), "3 axes"),
    ],
)
def test_what_is_no_group(call, message: str) -> None:
    tensors = given()
    arrays = {"W": paired(tensors["W"]), "X": tensors["X"], "F": tensors["X"].astype(np.float32)}
    out = np.zeros((COLUMNS, ROWS, BN, BM), np.float32)
    with pytest.raises(el.EinloomError, match=message):
        el.ThreadedLoop([el.LoopSpec(0, 1)], "a").body(lambda a, W, X, Y, F: call(W, X, Y, F))(**arrays, Y=out)
