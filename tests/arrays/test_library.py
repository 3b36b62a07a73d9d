"""Arrays of other kinds and libraries: how they come in, what is refused, and how results go out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.arrays.library import incoming

A = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_subclasses_become_arrays() -> None:
    result = el.einsum("ab->ba", np.matrix(A))
    assert type(result) is np.ndarray and np.array_equal(result, A.T)
    out = np.matrix(np.zeros((3, 2), np.float32))
    assert el.einsum("ab->ba", A, out=out) is out and np.array_equal(out, A.T)


def test_masked_arrays_are_refused() -> None:
    masked = np.ma.masked_array(A, A > 2)
    with pytest.raises(el.DTypeError, match="mask would be lost"):
        el.einsum("ab->ba", masked)
    with pytest.raises(el.DTypeError, match="mask would be lost"):
        el.einsum("ab->ba", A, out=np.ma.masked_array(np.zeros((3, 2), np.float32)))


@pytest.mark.filterwarnings("ignore::einloom.FallbackWarning")
def test_structured_types_copy() -> None:
    records = np.zeros((2, 3), [("tag", "i2"), ("value", "f8", 2)])
    records["tag"], records["value"][..., 1] = A, A
    result = el.einsum("ab->ba", records)
    assert result.dtype == records.dtype and np.array_equal(result, records.T)
    objects = np.zeros((2, 3), [("tag", "O"), ("value", "f8")])
    assert np.array_equal(el.einsum("ab->ba", objects), objects.T)


@pytest.mark.parametrize("call", ["expression", "einsum"])
def test_wider_floats_do_not_narrow(call: str) -> None:
    f = el.compile("ab->ab", A)
    wide = A.astype(np.float64)
    with pytest.raises(el.DTypeError, match="astype"):
        f(wide) if call == "expression" else el.einsum("ab,bc->ac", wide, wide.T, dtype="float32")
    g = el.compile("ab,cb->ac", wide, wide)
    assert np.array_equal(g(A, wide), wide @ wide.T)  # narrower ones widen


@pytest.mark.parametrize("thing", [[[1], [2, 3]], object(), {"a": 1}, "text"])
def test_what_is_no_array(thing: Any) -> None:
    with pytest.raises((el.ShapeError, el.DTypeError)):
        el.einsum("ab,bc->ac", thing, A)


class Exported:
    """An array that can only be had through DLPack, of the form before version 1."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, *, stream: Any = None) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16", "complex128", "bool", "int64"])
def test_memory_comes_in_through_dlpack(dtype: str) -> None:
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    for view in (array, array[:, ::-1], array.T[::2], array[:0], np.asarray(array[0, 0, 0])):
        given = incoming(Exported(view), "operand 0")
        assert np.array_equal(given.array, view) and given.dtype == dtype
        assert given.array.size == 0 or np.shares_memory(given.array, view)


def test_what_a_library_keeps_to_itself() -> None:
    class Refuses(Exported):
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("not today")

    with pytest.raises(el.DTypeError, match="not today"):
        el.einsum("ab,cb->ac", A, Refuses(A))


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


def test_torch_comes_in_and_goes_out(torch: Any) -> None:
    a, out = torch.arange(6.0).reshape(2, 3), torch.empty(3, 2)
    result = el.einsum("ab->ba", a)
    assert isinstance(result, torch.Tensor) and torch.equal(result, a.T)
    assert el.einsum("ab->ba", a, out=out) is out and torch.equal(out, a.T)
    f = el.compile("ab,cb->ac", a, a)
    squares = torch.empty(2, 2)
    assert f(a, a, out=squares) is squares and torch.equal(squares, a @ a.T)
    assert torch.equal(f(a, a), a @ a.T)
    with pytest.raises(el.OverlapError):
        el.einsum("ab->ab", a, out=a)


def test_a_negative_of_its_memory_is_refused(torch: Any) -> None:
    """Where memory is all that counts; `einsum` resolves it."""
    imaginary = torch.complex(torch.ones(2, 2), torch.full((2, 2), 3.0)).conj().imag
    with pytest.raises(el.DTypeError, match="resolve_neg"):
        el.primitives.unary("relu", m=2, n=2)(imaginary, torch.empty(2, 2), 2, 2)
    assert torch.equal(el.einsum("ab->ba", imaginary), imaginary.T)


def test_torch_through_operations_and_primitives(torch: Any) -> None:
    a, b = torch.arange(-6.0, 6.0), torch.empty(12)
    el.primitives.unary("relu", m=3, n=4)(a, b, 3, 3)
    assert torch.equal(b, a.relu())
    config = el.TensorOperationConfig(
        dtype="float32",
        prim_main="relu",
        dim_types=("c", "c"),
        exec_types=("prim", "prim"),
        dim_sizes=(3, 4),
        strides_in0=(4, 1),
        strides_in1=None,
        strides_out=(1, 3),
    )
    assert el.TensorOperation(config).execute(a, None, b) is b
    assert torch.equal(b.reshape(4, 3), a.relu().reshape(3, 4).T)


def test_bfloat16_moves(torch: Any) -> None:
    a = torch.arange(6.0).reshape(2, 3).to(torch.bfloat16)
    result = el.einsum("ab->ba", a)
    assert result.dtype == torch.bfloat16 and torch.equal(result, a.T)
    out = torch.empty(3, 2, dtype=torch.bfloat16)
    f = el.compile("ab->ba", a)
    assert "bfloat16" in repr(f) and f(a, out=out) is out and torch.equal(out, a.T)
    with pytest.raises(el.DTypeError, match="out has type float16"):
        f(a, out=torch.empty(3, 2, dtype=torch.float16))
    with pytest.raises(el.DTypeError, match="uint16"):
        f(np.zeros((2, 3), np.uint16))


class Standard(Exported):
    """An array of the array API standard, of a library that is called like this module."""

    def __array_namespace__(self, **options: Any) -> Any:
        return Namespace


class Namespace:
    @staticmethod
    def from_dlpack(array: Any) -> Standard:
        return Standard(np.from_dlpack(array))


def test_arrays_of_the_standard_go_out_as_they_came() -> None:
    result = el.einsum("ab->ba", Standard(A))
    assert type(result) is Standard and np.array_equal(result.array, A.T)
    f = el.compile("ab,cb->ac", A, A)
    assert type(f(Standard(A), A)) is Standard and np.array_equal(f(Standard(A), A).array, A @ A.T)


def test_results_of_a_library_that_takes_none_are_numpys() -> None:
    """An AttributeError told that its module has no `from_dlpack`, when all was computed."""
    f = el.compile("ab,cb->ac", A, A)
    for result in (el.einsum("ab,cb->ac", Exported(A), A), f(Exported(A), A)):
        assert type(result) is np.ndarray and np.array_equal(result, A @ A.T)


def test_the_array_interface_is_enough() -> None:
    class Interface:
        __array_interface__ = A.__array_interface__

    assert np.array_equal(el.einsum("ab->ba", Interface()), A.T)
