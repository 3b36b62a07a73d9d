"""Bad input gets an error that says where, what and what to do; nothing is written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import einloom as el

A = np.ones((4, 5), np.float32)
B = np.ones((5, 6), np.float32)


def raises(kind: type[Exception], call: Callable[[], Any]) -> str:
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, el.EinloomError)
    return str(caught.value)


def test_unknown_label_in_the_output() -> None:
    message = raises(el.EquationError, lambda: el.einsum("ab,bc->ad", A, B))
    assert message.splitlines()[1:3] == ["  ab,bc->ad", "          ^"]


def test_two_extents_of_one_label() -> None:
    message = raises(el.ShapeError, lambda: el.einsum("ab,bc->ac", A, np.ones((7, 6), np.float32)))
    lines = message.splitlines()
    assert lines[1:3] == ["  ab,bc->ac", "   ^ ^      5 in operand 0, shape (4, 5); 7 in operand 1, shape (7, 6)"]


@pytest.mark.parametrize(
    ("equation", "column"), [("a1,bc->ac", 1), ("ab,bc->a_", 8), ("ab,bc->a->c", 8), ("ab.,bc->ac", 2)]
)
def test_characters_that_are_no_labels(equation: str, column: int) -> None:
    message = raises(el.EquationError, lambda: el.einsum(equation, A, B))
    assert message.splitlines()[2] == "  " + " " * column + "^"


@pytest.mark.parametrize("equation", ["ab,bc-ac", "ab,bc>ac", "ab,bc=ac", "ab,bc→ac"])
def test_other_arrows(equation: str) -> None:
    assert "`->`" in raises(ValueError, lambda: el.einsum(equation, A, B))


@pytest.mark.parametrize("operator", ["add", "scale"])
def test_operators_that_lack_their_operand(operator: str) -> None:
    message = raises(el.ArgumentError, lambda: el.einsum("ab,bc->ac", A, B, epilogue=(operator,)))
    assert f"('{operator}', labels)" in message
    message = raises(el.EquationError, lambda: el.einsum("ab,bc->ac", A, B, epilogue=(("add", "c"),)))
    assert "2 in the equation, 1 in the call" in message and "epilogue" in message


def test_out_by_position() -> None:
    message = raises(el.EquationError, lambda: el.compile("ab,bc->ac", A, B)(A, B, np.empty((4, 6), np.float32)))
    assert "2 in the expression, 3 in the call" in message and "out=" in message


@pytest.mark.parametrize("equation", ["ab->ab", "ab,bc,cd->ad", ""])
def test_another_number_of_operands(equation: str) -> None:
    raises(el.EquationError, lambda: el.einsum(equation, A, B))


@pytest.mark.parametrize("equation", ["abc,bc->ac", "a,bc->ac", "ab,bcd...->ac"])
def test_another_number_of_axes(equation: str) -> None:
    message = raises(el.ShapeError, lambda: el.einsum(equation, A, B))
    assert "^" in message and "axes" in message


def test_repeated_output_label() -> None:
    assert "twice" in raises(el.EquationError, lambda: el.einsum("ab,bc->aa", A, B))


@pytest.mark.parametrize("dtype", ["longdouble", "object", "U3", "datetime64[s]"])
def test_types_without_code(dtype: str) -> None:
    with el.settings(fallback="error"):
        message = raises(el.DTypeError, lambda: el.einsum("ab,bc->ac", A.astype(dtype), B.astype(dtype)))
    assert "ab,bc->ac" in message and "float32" in message


def overlapping_views() -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    memory = np.ones(200, np.float32)
    a = memory[:20].reshape(4, 5)
    return [(a, B, memory[10:34].reshape(4, 6)), (a, B, memory[:24].reshape(4, 6))]


def read_only() -> np.ndarray:
    array = np.full((4, 6), 7, np.float32)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("kind", "out"),
    [
        (el.ShapeError, np.full((4, 5), 7, np.float32)),
        (el.ShapeError, np.full((3, 6), 7, np.float32)),
        (el.DTypeError, np.full((4, 6), 7, np.float64)),
        (el.StrideError, read_only()),
        (el.StrideError, np.lib.stride_tricks.as_strided(np.full(9, 7, np.float32), (4, 6), (4, 4))),
        (el.DTypeError, [[7.0]]),
    ],
)
def test_outputs_that_cannot_take_the_result(kind: type[Exception], out: Any) -> None:
    before = np.array(out)
    message = raises(kind, lambda: el.einsum("ab,bc->ac", A, B, out=out))
    assert "ab,bc->ac" in message
    assert np.array_equal(before, np.array(out))


@pytest.mark.parametrize(
    ("dtype", "works"), [("float64", True), ("complex128", True), ("float16", False), (">f8", False)]
)
def test_an_out_of_a_wider_type_is_advised_to_be_computed_in(dtype: str, works: bool) -> None:
    a, b, out = np.ones((3, 4), "float32"), np.ones((4, 5), "float32"), np.zeros((3, 5), dtype)
    message = raises(el.DTypeError, lambda: el.einsum("ab,bc->ac", a, b, out=out))
    assert message.endswith(f'Convert the array, or compute in its type: dtype="{dtype}".' if works else "the array.")
    if works:
        assert (el.einsum("ab,bc->ac", a, b, out=out, dtype=dtype) == 4).all()


@pytest.mark.parametrize("case", overlapping_views())
def test_outputs_that_share_memory_with_an_operand(case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    a, b, out = case
    before = out.copy()
    raises(el.OverlapError, lambda: el.einsum("ab,bc->ac", a, b, out=out))
    assert np.array_equal(before, out)


def test_interleaved_lattices_do_not_overlap() -> None:
    memory = np.arange(48, dtype=np.float32)
    out, a = memory[::2].reshape(4, 6), memory[1::2].reshape(4, 6)
    expected = a.copy()
    assert el.einsum("ab->ab", a, out=out) is out
    assert np.array_equal(out, expected)


def test_sizes_that_overflow() -> None:
    message = raises(el.ShapeError, lambda: el.compile("ab,cd->abcd", (2**31, 2**31), (2**31, 2**31)))
    assert "ab,cd->abcd" in message


def test_a_call_with_other_shapes() -> None:
    f = el.compile("ab,bc->ac", A, B)
    assert "compiled for" in raises(el.ShapeError, lambda: f(A, np.ones((5, 7), np.float32)))


def test_unknown_target_and_schedule() -> None:
    raises(el.UnsupportedTarget, lambda: el.compile("ab,bc->ac", A, B, target="tpu"))
    message = raises(el.ScheduleError, lambda: el.compile("ab,bc->ac", A, B, schedule="seq a:1 what prim m=c"))
    assert "^^^^" in message


def test_a_host_without_vector_instructions() -> None:
    """There the compiler says what it needs, and the interpreter still works."""
    code = (
        "import numpy as np, einloom as el\n"
        "a = np.ones((2, 3)); b = np.ones((3, 4))\n"
        "assert el.compile('ab,bc->ac', a, b, target='interpreter')(a, b)[0, 0] == 3\n"
        "try:\n"
        "    el.einsum('ab,bc->ac', a, b)\n"
        "except el.UnsupportedTarget as error:\n"
        "    assert 'AVX2' in str(error) and 'interpreter' in str(error) and 'ab,bc->ac' in str(error)\n"
        "else:\n"
        "    raise SystemExit('no error')\n"
    )
    environment = {**os.environ, "EINLOOM_ISA": "none"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
