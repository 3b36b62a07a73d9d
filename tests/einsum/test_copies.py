"""Permutations and copies of elements of any type: every bit arrives, whatever the type makes of it."""

from __future__ import annotations

import numpy as np
import pytest

import einloom as el

TYPES = (
    "int8",
    "bool",
    "float16",
    ">u2",
    "S3",
    "S10",
    "int32",
    "uint32",
    "int64",
    "complex64",
    "complex128",
    "datetime64[s]",
    ">i4",
    "S12",
    "longdouble",
    "U4",
)
EQUATIONS = ("ab->ba", "abc->cab", "abcd->dcba", "abcd->acbd", "ab->ab", "aab->ba")


def _bits(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    kind = np.dtype(dtype)
    raw = np.random.default_rng(7).integers(0, 256, int(np.prod(shape)) * kind.itemsize, np.uint8)
    return np.frombuffer(raw.tobytes(), kind).reshape(shape)


@pytest.mark.parametrize("dtype", TYPES)
def test_every_bit_arrives(dtype: str) -> None:
    sizes = {"a": 19, "b": 5, "c": 33, "d": 3}
    for equation in EQUATIONS:
        labels, result = equation.split("->")
        array = _bits(tuple(sizes[label] for label in labels), dtype)
        for operand in (array, array[..., ::-1]):
            wanted = operand.diagonal() if labels == "aab" else operand.transpose([labels.index(x) for x in result])
            given = el.einsum(equation, operand)
            assert given.dtype == array.dtype
            assert given.tobytes() == np.ascontiguousarray(wanted).tobytes()


def test_types_that_numpy_lacks_stay_what_they_are() -> None:
    types = pytest.importorskip("ml_dtypes")
    for dtype in (types.bfloat16, types.float8_e4m3fn):
        array = np.arange(12).reshape(3, 4).astype(dtype)
        result = el.einsum("ab->ba", array)
        assert result.dtype == array.dtype and np.array_equal(result, array.T)
        out = np.empty((4, 3), dtype)
        assert el.einsum("ab->ba", array, out=out) is out and np.array_equal(out, array.T)
        assert el.compile("ab->ba", array)(array).dtype == array.dtype


@pytest.mark.parametrize(("shape", "dtype"), [((700, 600), "complex128"), ((1501, 1607), "u1"), ((1203, 1001), "u2")])
def test_large_copies_arrive(shape: tuple[int, int], dtype: str) -> None:
    array = _bits(shape, dtype)
    out = np.empty(shape[::-1], dtype)
    assert el.einsum("ab->ba", array, out=out) is out
    assert out.tobytes() == array.T.tobytes()
    assert el.compile("ab->ba", array, target="interpreter")(array).tobytes() == out.tobytes()


@pytest.mark.parametrize("dtype", ["u1", "u2", "S3", "float32", "float64", "complex64", "complex128", "S12"])
def test_large_arrays_at_any_address(dtype: str) -> None:
    """Streamed stores need elements at multiples of their size; operands and outputs need not lie so."""
    kind = np.dtype(dtype)
    array = _bits((300, 301), dtype)
    for shift in range(1, kind.itemsize + 1, max(kind.itemsize // 4, 1)):
        memory = bytearray(array.nbytes + 32)
        out = np.frombuffer(memory, kind, array.size, shift).reshape(301, 300)
        assert el.einsum("ab->ba", array, out=out) is out
        assert out.tobytes() == array.T.tobytes()
        assert not any(memory[:shift]) and not any(memory[shift + array.nbytes :])
        moved = np.frombuffer(bytearray(shift) + array.tobytes(), kind, array.size, shift).reshape(array.shape)
        assert el.einsum("ab->ba", moved).tobytes() == array.T.tobytes()


@pytest.mark.parametrize(
    ("equation", "dtype"),
    [("ab->a", "longdouble"), ("ab->", "S3"), ("ab->ba", "object"), ("ab,ab->ab", "clongdouble"), ("ab->ba", "V0")],
)
def test_what_has_no_code_is_refused(equation: str, dtype: str) -> None:
    with pytest.raises(el.DTypeError), el.settings(fallback="error"):
        el.einsum(equation, *[np.zeros((3, 4), dtype)] * (1 + equation.count(",")))
