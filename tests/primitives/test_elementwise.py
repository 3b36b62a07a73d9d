"""Element-wise primitives and reductions through the public interface: results, refusals, sizes of the code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.ir import meanings
from einloom.kernels.elementwise.reduce import OPERATORS as REDUCTIONS


def random(count: int, dtype: str = "float32", seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=count).astype(dtype)


@pytest.mark.parametrize("layout", ["col", "row"])
@pytest.mark.parametrize("op", [op for op in meanings.UNARY if op != "zero"])
def test_unary(op: str, layout: str) -> None:
    a, b = random(5 * 7), np.zeros(40, np.float32)
    el.primitives.unary(op, m=5, n=7, b=layout)(a, b, 5, 5 if layout == "col" else 8)
    result = b[:35].reshape(7, 5) if layout == "col" else b.reshape(5, 8)[:, :7].T
    np.testing.assert_allclose(result, meanings.UNARY[op](a.reshape(7, 5).astype(float)), rtol=1e-5, atol=1e-6)


def test_parameters() -> None:
    a, b = random(12), np.zeros(12, np.float32)
    el.primitives.unary("leaky_relu", m=4, n=3, alpha=0.25)(a, b, 4, 4)
    assert np.array_equal(b, np.where(a > 0, a, np.float32(0.25) * a))
    el.primitives.unary("elu", m=4, n=3, alpha=2)(a, b, 4, 4)
    np.testing.assert_allclose(b, np.where(a > 0, a, 2 * np.expm1(a)), rtol=1e-6)


@pytest.mark.parametrize("layout", ["col", "row"])
@pytest.mark.parametrize("types", [("float32", "float64"), ("float64", "float32")])
def test_conversions(types: tuple[str, str], layout: str) -> None:
    a, b = random(21 * 10, types[0]), np.zeros(210, types[1])
    kernel = el.primitives.unary("identity", m=21, n=10, dtype=types, b=layout)
    kernel(a, b, 21, 21 if layout == "col" else 10)
    result = b if layout == "col" else b.reshape(21, 10).T.ravel()
    assert np.array_equal(result, a.astype(types[1]))
    assert f"{types[0]} to {types[1]}" in repr(kernel)


@pytest.mark.parametrize("broadcast", ["none", "row", "col", "scalar"])
@pytest.mark.parametrize("op", meanings.BINARY)
def test_binary(op: str, broadcast: str) -> None:
    a, b, c = random(30), random(30, seed=1), random(30, seed=2)
    a[::4] = b[::4]
    matrix = b.reshape(6, 5)
    second = {"none": matrix, "row": b[:6, None], "col": b[None, :5], "scalar": b[0]}[broadcast]
    third = [c.reshape(6, 5).copy()] if op == "muladd" else []
    expected = meanings.BINARY[op](a.reshape(6, 5), np.broadcast_to(second, (6, 5)), *third)
    el.primitives.binary(op, m=5, n=6, broadcast=broadcast)(a, b, c, 5, 5 if broadcast == "none" else 1, 5)
    np.testing.assert_allclose(c.reshape(6, 5), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ternary(dtype: str) -> None:
    a, b, c = (random(20 * 3, dtype, seed) for seed in range(3))
    d = np.zeros(60, dtype)
    el.primitives.ternary("muladd", m=20, n=3, dtype=dtype)(a, b, c, d, 20, 20, 20, 20)
    np.testing.assert_allclose(d, a * b + c, rtol=1e-4, atol=1e-6)
    a[::3] = 0
    el.primitives.ternary("select", m=20, n=3, dtype=dtype)(a, b, c, d, 20, 20, 20, 20)
    assert np.array_equal(d, np.where(a, b, c))


@pytest.mark.parametrize("axis", ["m", "n"])
@pytest.mark.parametrize("op", REDUCTIONS)
def test_reduce(op: str, axis: str) -> None:
    a = random(40 * 9)
    b = np.zeros(37 if axis == "n" else 9, np.float32)
    el.primitives.reduce(op, m=37, n=9, axis=axis)(a, b, 40)
    expected = meanings.REDUCE[op](a.reshape(9, 40)[:, :37].astype(float), 0 if axis == "n" else 1)
    np.testing.assert_allclose(b, expected, rtol=1e-4, atol=1e-5)


def test_reductions_of_nothing_and_of_nan() -> None:
    b = np.full(3, 7, np.float32)
    el.primitives.reduce("sum", m=3, n=0, axis="n")(random(1), b, 3)
    assert np.array_equal(b, [0, 0, 0])
    el.primitives.reduce("prod", m=0, n=3, axis="m")(random(1), b, 1)
    assert np.array_equal(b, [1, 1, 1])
    a = np.array([1, np.nan, 3, 4, 5, np.inf], np.float32)
    el.primitives.reduce("max", m=2, n=3, axis="n")(a, b, 2)
    assert b[0] == 5 and np.isnan(b[1])


def test_in_place() -> None:
    a, b = random(20), random(20, seed=1)
    first = a.copy()
    el.primitives.unary("exp", m=4, n=5)(a, a, 4, 4)
    np.testing.assert_allclose(a, np.exp(first), rtol=1e-6)
    first = a.copy()
    el.primitives.binary("sub", m=4, n=5)(b, a, a, 4, 4, 4)
    assert np.array_equal(a, b - first)
    el.primitives.ternary("select", m=4, n=5)(a, b, a, a, 4, 4, 4, 4)
    assert np.array_equal(a, np.where(b - first, b, b - first))
    single = random(4)
    el.primitives.unary("negate", m=4, n=1)(single, single, 4, 9)  # One column: leading dimensions do not matter.


@pytest.mark.parametrize("types", [("float32", "float64"), ("float64", "float32")], ids="-to-".join)
@pytest.mark.parametrize("layout", ["col", "row"])
def test_operators_of_two_types_compute_in_the_wider_one(vector: str, types: tuple[str, str], layout: str) -> None:
    a = random(35).astype(types[0])
    b = np.zeros(35, types[1])
    el.primitives.unary("exp", m=7, n=5, dtype=types, b=layout, isa=vector)(a, b, 7, 7 if layout == "col" else 5)
    wide = np.exp(a.astype(np.float64)).reshape(5, 7)
    wanted = wide if layout == "col" else wide.T
    epsilon = np.finfo(types[1]).eps
    assert np.allclose(b.reshape(wanted.shape), wanted, rtol=2 * epsilon, atol=0)


def refused_calls() -> dict[str, tuple[type[Exception], str, Any, tuple[Any, ...]]]:
    """Calls of kernels (4, 5); the last array of each must stay as it is."""
    both, a, b, c = random(60), random(20), random(20, seed=1), random(20, seed=2)
    locked = c.copy()
    locked.flags.writeable = False
    p = el.primitives
    exp, add = p.unary("exp", m=4, n=5), p.binary("add", m=4, n=5)
    turned, sums = p.unary("identity", m=4, n=5, b="row"), p.reduce("sum", m=4, n=5, axis="n")
    where, wide = p.ternary("select", m=4, n=5), p.unary("identity", m=4, n=5, dtype=("float32", "float64"))
    broadcast = p.binary("add", m=4, n=5, broadcast="row")
    return {
        "shifted": (el.OverlapError, "b shares memory", exp, (both, both[1:21], 4, 4)),
        "other leading dimension": (el.OverlapError, "b shares memory", exp, (both[:30], both[:30], 6, 4)),
        "transposed in place": (el.OverlapError, "b shares memory", turned, (a, a, 4, 5)),
        "second operand": (el.OverlapError, "c shares memory with b", add, (a, both, both[4:24], 4, 4, 4)),
        "broadcast operand": (el.OverlapError, "c shares memory with b", broadcast, (a, c, c, 4, 4, 4)),
        "third operand": (el.OverlapError, "d shares memory with c", where, (a, b, both, both[2:], 4, 4, 4, 4)),
        "reduced operand": (el.OverlapError, "b shares memory", sums, (a, a, 4)),
        "read-only": (el.StrideError, "b is read-only", exp, (a, locked, 4, 4)),
        "too short": (el.StrideError, "b: elements 0 to 23", exp, (a, c, 4, 5)),
        "leading dimension": (el.StrideError, "ld_a is 3", exp, (a, c, 3, 4)),
        "row's leading dimension": (el.StrideError, "ld_b is 4", turned, (a, c, 4, 4)),
        "type": (el.DTypeError, "a has type float64", exp, (a.astype(float), c, 4, 4)),
        "converted type": (el.DTypeError, "b has type float32, not float64", wide, (a, c, 4, 4)),
        "too few results": (el.StrideError, "b: elements 0 to 3", sums, (a, c[:3], 4)),
        "arguments": (el.ShapeError, "takes 3 arguments", sums, (a, c, 4, 1)),
        "no integer": (el.DTypeError, "ld_d is a float", where, (a, b, b, c, 4, 4, 4, 4.0)),
    }


@pytest.mark.parametrize("name", refused_calls())
def test_wrong_arguments_raise_and_write_nothing(name: str) -> None:
    error, message, kernel, arguments = refused_calls()[name]
    output = [argument for argument in arguments if isinstance(argument, np.ndarray)][-1]
    before = output.copy()
    with pytest.raises(error, match=message):
        kernel(*arguments)
    assert np.array_equal(output, before)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda p: p.unary("cbrt", m=1, n=1), el.ArgumentError, "gelu_tanh"),
        (lambda p: p.unary("exp", m=1, n=1, b="diagonal"), el.ArgumentError, "'col', 'row'"),
        (lambda p: p.unary("exp", m=1, n=1, dtype=("float32",)), el.DTypeError, "pair"),
        (lambda p: p.unary("exp", m=1, n=1, dtype="S3"), el.DTypeError, "float32, float64"),
        (lambda p: p.unary("exp", m=1, n=1, dtype="int8"), el.UnsupportedTarget, "no exp of int32"),
        (lambda p: p.unary("exp", m=1, n=1, alpha=1), el.UnsupportedTarget, "leaky_relu, elu"),
        (lambda p: p.unary("elu", m=1, n=1, alpha="big"), el.ArgumentError, "a number"),
        (lambda p: p.unary("exp", m=1, n=1, isa="mmx"), el.UnsupportedTarget, "avx512, avx2"),
        (lambda p: p.binary("power", m=1, n=1), el.ArgumentError, "muladd"),
        (lambda p: p.ternary("median", m=1, n=1), el.ArgumentError, "select"),
        (lambda p: p.reduce("mean", m=1, n=1, axis="m"), el.ArgumentError, "sum_of_squares"),
        (lambda p: p.reduce("sum", m=1, n=1, axis="k"), el.ArgumentError, "'m', 'n'"),
        (lambda p: p.reduce("max", m=2, n=0, axis="n"), el.ShapeError, "no elements"),
        (lambda p: p.reduce("sum", m=-2, n=1, axis="n"), el.ShapeError, "m is -2"),
    ],
)
def test_what_does_not_exist_says_what_does(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make(el.primitives)


@pytest.mark.parametrize("isa", ["avx512", "avx2", "neon"])
def test_kernels_stay_small(isa: str) -> None:
    p = el.primitives
    for m, n in ((128, 128), (127, 127), (97, 3), (1, 128)):
        for dtype in ("float32", "float64"):
            kernels = [
                p.unary(op, m=m, n=n, dtype=dtype, b=b, isa=isa) for op in meanings.UNARY for b in ("col", "row")
            ]
            kernels += [p.binary(op, m=m, n=n, dtype=dtype, isa=isa) for op in meanings.BINARY]
            kernels += [p.ternary(op, m=m, n=n, dtype=dtype, isa=isa) for op in meanings.TERNARY]
            kernels += [p.reduce(op, m=m, n=n, axis=axis, dtype=dtype, isa=isa) for op in REDUCTIONS for axis in "mn"]
            assert max(len(kernel.code) for kernel in kernels) <= 16384
