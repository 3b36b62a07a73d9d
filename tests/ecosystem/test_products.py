"""`tensordot`, `matmul` and `transpose` are NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import einloom as el

RNG = np.random.default_rng(11)
A = RNG.random((2, 3, 4))
B = RNG.random((4, 3, 5))


@pytest.mark.parametrize(
    "axes", [([1, 2], [1, 0]), ((-1,), (0,)), (2, 0), 1, 0, ([], []), -1, -7, (np.int64(2), np.int64(0))]
)
def test_tensordot(axes: object) -> None:
    assert np.allclose(el.tensordot(A, B, axes=axes), np.tensordot(A, B, axes=axes), rtol=1e-13)  # type: ignore[arg-type]
    assert np.allclose(el.tensordot(A, B.transpose(2, 1, 0).T, 1), np.tensordot(A, B, 1), rtol=1e-13)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 4), (4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((7, 3, 4), (4, 5)),
        ((1, 3, 4), (7, 4, 5)),
        ((4,), (7, 4, 5)),
        ((7, 3, 4), (4,)),
        ((2, 1, 3, 4), (7, 4, 5)),
        ((3, 1), (1, 5)),
    ],
)
def test_matmul(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = RNG.random(left), RNG.random(right)
    result = el.matmul(a, b)
    assert np.shape(result) == np.shape(a @ b) and np.allclose(result, a @ b, rtol=1e-13)


@pytest.mark.parametrize("axes", [None, (2, 0, 1), [-1, 1, 0]])
def test_transpose_is_a_view(axes: list[int] | None) -> None:
    result = el.transpose(A, axes)
    assert np.array_equal(result, np.transpose(A, axes)) and np.shares_memory(result, A)
    assert np.array_equal(el.transpose([[1.0, 2.0]], axes and [1, 0]), [[1], [2]])


@pytest.mark.parametrize("axes", [3, ([0], [5]), ([0, 1], [0]), ([0, 0], [0, 1]), "ab", None, 1.5, ([0], [0], [0])])
def test_axes_that_are_not_there(axes: object) -> None:
    with pytest.raises(el.ArgumentError, match=r"tensordot\(axes"):
        el.tensordot(np.ones((4, 4)), np.ones((4, 4)), axes=axes)


def test_what_does_not_fit() -> None:
    with pytest.raises(el.ShapeError, match="axis 2 of a meets axis 1 of b"):
        el.tensordot(A, B, axes=([2], [1]))
    with pytest.raises(el.ShapeError, match="extent"):
        el.tensordot(np.ones((3, 1)), np.ones((4, 3)), axes=1)  # no broadcasting, as in NumPy
    for left, right in (((3, 4), (5, 4)), ((3, 1), (4, 5)), ((), (3, 4)), ((3,), (4,))):
        with pytest.raises(el.ShapeError, match="matmul"):
            el.matmul(np.ones(left), np.ones(right))
    for axes in ((0, 0, 1), (0, 1), (0, 1, 5), 3, "abc"):
        with pytest.raises(el.ArgumentError, match="transpose"):
            el.transpose(A, axes)  # type: ignore[arg-type]
        with pytest.raises(el.ArgumentError, match="transpose"):
            el.transpose(1.0, axes)  # type: ignore[arg-type]
