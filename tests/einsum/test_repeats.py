"""Calls whose operands are converted: those like an earlier one are not worked out anew, and mean the same."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.expression import remembered
from einloom.expression.repeats import REPEATS, Repeats
from einloom.jit.interpreter import known_interpreter

RNG = np.random.default_rng(37)
A, B = (RNG.integers(-4, 5, shape).astype("float32") for shape in ((4, 6), (6, 5)))
TYPES = ["bool", "int8", "uint8", "int32", "uint64", "float16", ">f4", "float64", "complex64"]


class Mine(np.ndarray):
    """A subclass."""


@pytest.fixture
def worked_out(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that grows with every call for which types and an expression are looked for."""
    seen: list[str] = []
    original: Any = remembered._expression

    def watched(text: str, *rest: Any) -> Any:
        seen.append(text)
        return original(text, *rest)

    monkeypatch.setattr(remembered, "_expression", watched)
    return seen


CALLS: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "lists": ("ij,jk->ik", (A.tolist(), B.tolist()), {}),
    "arrays in a list": ("ij,jk->ik", ([A, B.astype("float64")],), {}),
    "one list": ("ij->ji", (A.tolist(),), {}),
    "a list behind an array": ("ij,jk->ik", (A, B.tolist()), {}),
    "mixed types": ("ij,jk->ik", (A, B.astype("float64")), {}),
    "integers": ("ij,jk->ik", (A.astype("int32"), B), {}),
    "a subclass": ("ij,jk->ik", (A.view(Mine), B.astype("float64").view(Mine)), {}),
    "another byte order": ("ij,jk->ik", (A.astype(">f4"), B), {}),
    "a number": (",ij->ij", (2.5, A), {}),
    "a number of NumPy's": ("ij,->ij", (A, np.float64(2.5)), {}),
    "no axes": ("ij,jk->", (A, B.astype("int8")), {}),
    "a type": ("ij,jk->ik", (A, B), {"dtype": "float64"}),
    "a narrower type": ("ij,jk->ik", (A, B), {"dtype": "int32", "casting": "unsafe"}),
    "columns": ("ij,jk->ik", (A, B), {"order": "F"}),
    "columns of mixed types": ("ij,jk->ik", (A, B.astype("float64")), {"order": "F"}),
    "as all are": ("ij,jk->ik", (np.asfortranarray(A), np.asfortranarray(B.astype("float64"))), {"order": "A"}),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_third_call_is_not_worked_out(name: str, worked_out: list[str]) -> None:
    equation, operands, keywords = CALLS[name]
    given = operands[0] if name == "arrays in a list" else operands
    expected = np.einsum(equation, *map(np.asarray, given), **keywords)
    for _ in range(4):
        result = el.einsum(equation, *operands, **keywords)
        assert np.array_equal(result, expected) and result.dtype == expected.dtype
        assert type(result) is (np.ndarray if expected.ndim else expected.dtype.type)
        assert result.flags.f_contiguous or keywords.get("order") not in ("F", "A")
    worked_out.clear()
    for _ in range(2):
        assert np.array_equal(el.einsum(equation, *operands, **keywords), expected)
    assert known_interpreter() is None or not worked_out


def test_types_are_told_apart() -> None:
    for _ in range(3):
        for one, other in product(TYPES, TYPES):
            left, right = np.abs(A).astype(one), np.abs(B).astype(other)
            result, expected = el.einsum("ij,jk->ik", left, right), np.einsum("ij,jk->ik", left, right)
            assert result.dtype == expected.dtype.newbyteorder("=") and np.allclose(result, expected)


def outcome(*operands: Any, **keywords: Any) -> tuple[str, bytes]:
    """Return what becomes of a call: an error and its text, or a type and bytes."""
    try:
        result = el.einsum("ij,jk->ik", *operands, **keywords)
    except el.EinloomError as error:
        return type(error).__name__, str(error).encode()
    return str(result.dtype), result.tobytes()


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
def test_rules_of_casting_hold_every_time(casting: Any) -> None:
    for one, wanted in product(TYPES, ["int32", "float32", "float64", "complex64"]):
        el.clear_cache()
        left = np.abs(A).astype(one)
        first, *later = (outcome(left, B, dtype=wanted, casting=casting) for _ in range(4))
        assert later == [first] * 3
        allowed = np.can_cast(left.dtype, wanted, casting) and np.can_cast(B.dtype, wanted, casting)
        assert first[0] == wanted if allowed else first[0] in ("DTypeError", wanted)


def test_out_is_checked_every_time() -> None:
    wide, taken = B.astype("float64"), np.zeros((4, 5))
    for _ in range(3):
        assert el.einsum("ij,jk->ik", A, wide, out=taken) is taken and np.array_equal(taken, A @ B)
        taken[...] = 7
        frozen = taken.view()
        frozen.flags.writeable = False
        for bad, error in [
            (frozen, el.EinloomError),
            (taken[:2], el.ShapeError),
            (taken.astype("float32"), el.DTypeError),
            (taken.tolist(), el.DTypeError),
        ]:
            with pytest.raises(error):
                el.einsum("ij,jk->ik", A, wide, out=bad)  # type: ignore[arg-type]
        assert np.all(taken == 7)


def test_out_may_not_overlap_what_is_converted() -> None:
    memory = np.zeros(64)
    apart, taken, wide = np.ones((4, 6), "float32"), memory[:20].reshape(4, 5), np.ones((6, 5))
    inside = memory.view("float32")[8:32].reshape(4, 6)
    for _ in range(3):
        assert np.all(el.einsum("ij,jk->ik", apart, wide, out=taken) == 6)
        with pytest.raises(el.OverlapError):
            el.einsum("ij,jk->ik", inside, wide, out=taken)
        assert np.all(taken == 6)


def test_an_out_of_another_type_counts() -> None:
    outs = {name: np.zeros((4, 5), name) for name in ("float16", "float32", "float64", "complex64")}
    for _ in range(3):
        for name, out in outs.items():
            el.einsum("ij,jk->ik", A, B, out=out, casting="same_kind")
            assert np.array_equal(out, (A @ B).astype(name))
        with pytest.raises(el.DTypeError):
            el.einsum("ij,jk->ik", A, B, out=np.zeros((4, 5), "int32"), casting="same_kind")


def test_order_follows_every_call() -> None:
    rows = A, B.astype("float64")
    columns = tuple(map(np.asfortranarray, rows))
    for _ in range(3):
        for operands in (columns, rows, (columns[0], rows[1])):
            result = el.einsum("ij,jk->ik", *operands, order="A")
            assert np.array_equal(result, A @ B)
            assert result.flags.f_contiguous == (operands is columns) and result.flags.c_contiguous != (
                operands is columns
            )


def test_strides_alignment_and_shapes_differ() -> None:
    wide = B.astype("float64")
    off = np.zeros(A.nbytes + 1, "uint8")[1:].view("float32").reshape(A.shape)
    off[...] = A
    back = np.repeat(A, 2, 1)[::-1, ::2][::-1]
    readonly = A.copy()
    readonly.flags.writeable = False
    for _ in range(3):
        for same in (A, off, back, readonly):
            assert np.array_equal(el.einsum("ij,jk->ik", same, wide), A @ B)
        assert np.array_equal(el.einsum("ij,jk->ik", A[:3], wide), A[:3] @ B)
        with pytest.raises(el.ShapeError):
            el.einsum("ij,jk->ik", A[:, :5], wide)


def test_what_is_wrong_is_refused_every_time() -> None:
    masked = np.ma.masked_array(A, A > 0)
    for _ in range(3):
        assert np.array_equal(el.einsum("ij,jk->ik", A.tolist(), B), A @ B)
        with pytest.raises(el.DTypeError, match="operand 0 is a masked array"):
            el.einsum("ij,jk->ik", masked, B)
        with pytest.raises(el.ShapeError, match="operand 1 is no array"):
            el.einsum("ij,jk->ik", A, [[1, 2], [3]])
        with pytest.raises(el.DTypeError):
            el.einsum("ij,jk->ik", A, [["a"] * 5] * 6)
        with pytest.raises(el.EquationError):
            el.einsum("ij,jk->ik", A)
        with pytest.raises(el.EquationError):
            el.einsum("ij,jk->ik", [])


def test_numbers_of_an_epilogue_stay_weak() -> None:
    for _ in range(3):
        result = el.einsum("ij,jk->ik", A, B, 2.5, epilogue=(("mul", ""),))
        assert result.dtype == "float32" and np.array_equal(result, 2.5 * (A @ B))


def test_an_equation_remembers_a_bounded_number() -> None:
    for count in range(1, 2 * REPEATS):
        vector = np.ones(count, "float32")
        assert el.einsum("a,a->", vector, np.ones(count)) == count
    known: Any = remembered.remembered("a,a->")
    repeats: Repeats = known._repeats
    assert 0 < len(repeats._known) <= REPEATS


def test_many_threads_at_once() -> None:
    el.clear_cache()
    numbers = np.arange(1, 9)

    def work(thread: int) -> bool:
        good = True
        for turn in range(300):
            extent = int(numbers[(turn + thread) % 8])
            vector = np.full(extent, thread, "float32" if turn % 2 else "int32")
            good &= el.einsum("x,x->", vector, np.ones(extent)) == thread * extent
            good &= bool(np.all(el.einsum(",x->x", 2.0, vector) == 2 * thread))
        return good

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_records_count_for_what_is_compiled_in_their_block(worked_out: list[str]) -> None:
    wide = B.astype("float64")
    for _ in range(3):
        el.einsum("ij,jk->ik", A, wide)
    worked_out.clear()
    with el.settings(records=False):
        el.einsum("ij,jk->ik", A, wide)
    assert worked_out
