"""What an equation may be, and what `casting=`, `order=`, `dtype=` and `memory_limit=` ask for."""

from __future__ import annotations

import itertools
import math
from typing import Any, Literal

import numpy as np
import opt_einsum
import pytest

import einloom as el

RNG = np.random.default_rng(7)
A = RNG.random((3, 4))
B = RNG.random((4, 5))
AB = A @ B


@pytest.mark.parametrize("labels", ["list", "tuple", "array", "mixed"])
def test_interleaved_labels_are_any_hashable_values(labels: str) -> None:
    kinds: dict[str, list[Any]] = {
        "list": [["x", (1, 2)], [(1, 2), None], ["x", None]],
        "tuple": [(0, 1), (1, 2), (0, 2)],
        "array": [np.array([7, 1000]), np.array([1000, 3]), np.array([7, 3])],
        "mixed": [[7, frozenset("a")], (frozenset("a"), 2.5), [7, 2.5]],
    }
    first, second, output = kinds[labels]
    assert np.allclose(el.einsum(A, first, B, second, output), AB, rtol=1e-14)


@pytest.mark.parametrize("arguments", [(A, [0, 1], B), (A, B, [0, 1]), (None, A), (b"ab->ba", A)])
def test_operands_where_labels_belong(arguments: Any) -> None:
    """The message spoke of a label that is not hashable: a row of the operand."""
    with pytest.raises(el.EquationError, match=r"(?s)must alternate.*is a ndarray"):
        el.einsum(*arguments)


def test_an_ellipsis_in_the_interleaved_form() -> None:
    stack = RNG.random((2, 3, 4))
    assert np.allclose(el.einsum(stack, [..., 0, 1], B, [1, 2], [..., 0, 2]), stack @ B, rtol=1e-14)


def test_more_labels_than_letters() -> None:
    """A chain of 70 matrices has 71 labels."""
    chain = [RNG.random((2, 2)) for _ in range(70)]
    terms = ["".join(map(opt_einsum.get_symbol, pair)) for pair in itertools.pairwise(range(71))]
    ends = opt_einsum.get_symbol(0) + opt_einsum.get_symbol(70)
    expected = np.linalg.multi_dot(chain)
    assert np.allclose(el.einsum(",".join(terms) + "->" + ends, *chain), expected, rtol=1e-12)
    pairs = [each for n, matrix in enumerate(chain) for each in (matrix, [n, n + 1])]
    assert np.allclose(el.einsum(*pairs, [0, 70]), expected, rtol=1e-12)


def test_operands_in_a_list_as_torch_takes_them() -> None:
    for given in ([A, B], (A, B), [A, B]):  # also where the equation is known
        assert np.allclose(el.einsum("ij,jk->ik", given), AB, rtol=1e-14)
    assert np.array_equal(el.einsum("ij->ji", [[1.0, 2.0]]), [[1.0], [2.0]])  # a nested sequence, as in NumPy


@pytest.mark.parametrize(("order", "contiguous"), [("C", "C"), ("f", "F"), ("A", "C"), ("K", "C")])
def test_a_fresh_result_lies_as_order_says(order: str, contiguous: str) -> None:
    result = el.einsum("ij,jk->ik", A, B, order=order)
    assert result.flags[f"{contiguous}_CONTIGUOUS"] and np.allclose(result, AB, rtol=1e-14)


def test_order_a_follows_operands_that_all_lie_in_fortrans_order() -> None:
    turned = [np.asfortranarray(operand) for operand in (A, B)]
    assert el.einsum("ij,jk->ik", *turned, order="A").flags.f_contiguous
    assert el.einsum("ij,jk->ik", A, turned[1], order="A").flags.c_contiguous


Casting = Literal["same_kind", "unsafe"]
CASTINGS: tuple[Casting, ...] = ("same_kind", "unsafe")


@pytest.mark.parametrize("casting", CASTINGS)
@pytest.mark.parametrize("target", ["int8", "int32", "uint64", "float64", "complex64"])
@pytest.mark.parametrize("source", ["bool", "int8", "int16", "int64"])
def test_an_out_of_another_type_promotes(source: str, target: str, casting: Casting) -> None:
    """Sums of bool are counted in int8, those of int16 do not wrap in float64: `out` is an operand, as for NumPy."""
    array = np.random.default_rng(3).integers(0, 2 if source == "bool" else 100, (40, 7)).astype(source)
    for equation, operands in (("mk->k", [array]), ("mk,mk->k", [array, array])):
        found, expected = np.zeros(7, target), np.zeros(7, target)
        try:
            np.einsum(equation, *operands, out=expected, casting=casting)
        except TypeError:
            with pytest.raises(el.DTypeError, match="casting"):
                el.einsum(equation, *operands, out=found, casting=casting)
            continue
        el.einsum(equation, *operands, out=found, casting=casting)
        assert np.array_equal(found, expected)


def test_dtype_and_casting() -> None:
    with pytest.raises(el.DTypeError, match="casting='safe'"):
        el.einsum("ij,jk->ik", A, B, dtype="float32")
    narrow = el.einsum("ij,jk->ik", A, B, dtype="float32", casting="same_kind")
    assert narrow.dtype == np.float32 and np.allclose(narrow, AB, rtol=1e-6)
    with pytest.raises(el.DTypeError):
        el.einsum("ij,jk->ik", A.astype("f4"), B, casting="no")


def test_integers_are_converted_where_floats_are_computed_in() -> None:
    whole = np.arange(12).reshape(3, 4)
    result = el.einsum("ij,jk->ik", whole, B)
    assert result.dtype == np.float64 and np.allclose(result, whole @ B, rtol=1e-14)


def test_out_of_another_type_takes_what_casting_allows() -> None:
    out = np.full((3, 5), 7, "float32")
    for casting in ("safe", "no"):
        with pytest.raises(el.DTypeError):
            el.einsum("ij,jk->ik", A, B, out=out, casting=casting)
    assert (out == 7).all()
    assert el.einsum("ij,jk->ik", A, B, out=out, casting="same_kind") is out
    assert np.allclose(out, AB, rtol=1e-6)
    whole = np.full((3, 5), 7)
    with pytest.raises(el.DTypeError, match="same_kind"):
        el.einsum("ij,jk->ik", A, B, out=whole, casting="same_kind")
    assert np.array_equal(el.einsum("ij,jk->ik", A, B, out=whole, casting="unsafe"), AB.astype(int))


def test_memory_limit_bounds_intermediates() -> None:
    shapes = [(50, 2), (2, 50), (50, 50, 3)]
    equation = "ab,bc,acd->d"
    sliced = el.compile(equation, *shapes, memory_limit=200)
    assert max(math.prod(step.shape) for step in sliced._plan.steps[:-1]) <= 200
    assert el.compile(equation, *shapes).slicing is None
    assert el.contract_path(equation, *shapes, memory_limit=200)[0] == [(0, 1, 2)]


def test_a_path_that_is_none_is_a_runtime_error_as_well() -> None:
    with pytest.raises(RuntimeError):
        el.einsum("ab,bc,cd->ad", A, B, np.ones((5, 2)), optimize=["einsum_path", (0, 1)])
