"""Generated entries: they take the calls that they are for, leave all others to Python, and keep the books."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.config import set_process_limit
from einloom.execution import Execution
from einloom.expression import Expression
from einloom.expression.recipe import Recipe, Strides
from einloom.jit.interpreter import known_interpreter
from einloom.jit.scratch import scratch_word
from einloom.primitives.callables import PrimitiveKernel

from ..emulation import times
from ..jit.processes import exit_code_in_child, python

pytestmark = pytest.mark.skipif(known_interpreter() is None, reason="this interpreter has no entries")

RNG = np.random.default_rng(3)
A = RNG.integers(-3, 4, (8, 6)).astype(np.float32)
B = RNG.integers(-3, 4, (6, 5)).astype(np.float32)
AB = A @ B


@pytest.fixture
def slow_calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A list that grows with every call that comes to Python."""
    seen: list[str] = []
    for owner, name in ((Expression, "compute"), (Execution, "_check_names"), (PrimitiveKernel, "_bound")):
        original = getattr(owner, name)

        def watched(self: Any, *arguments: Any, original: Any = original, kind: str = owner.__name__) -> Any:
            seen.append(kind)
            return original(self, *arguments)

        monkeypatch.setattr(owner, name, watched)
    yield seen


def small_gemm(**changes: Any) -> el.TensorOperation:
    config: dict[str, Any] = {
        "dtype": "float32",
        "prim_first_touch": "zero",
        "prim_main": "gemm",
        "dim_types": ("m", "n", "k"),
        "exec_types": ("prim", "prim", "prim"),
        "dim_sizes": (5, 8, 6),
        "strides_in0": (1, 0, 5),
        "strides_in1": (0, 6, 1),
        "strides_out": (1, 5, 0),
    }
    return el.TensorOperation(el.TensorOperationConfig(**config | changes))


def callables() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]:
    """Calls of every kind of callable that has entries."""
    out, flat = np.zeros((8, 5), np.float32), np.zeros((8, 5), np.float32)
    f = el.compile("ab,bc->ac", A, B)
    return {
        "expression": (f, (A, B), {}),
        "expression with out": (f, (A, B), {"out": out}),
        "expression without out": (f, (A, B), {"out": None}),
        "scalar": (el.compile("ab,ab->", A, A), (A, A), {}),
        "three operands": (el.compile("ab,bc,dc->ad", A, B, AB), (A, B, AB), {"out": np.zeros((8, 8), np.float32)}),
        "copy of pairs": (el.compile("ab->ba", A.astype("c16")), (A.astype("c16"),), {}),
        "execute": (small_gemm().execute, (B, A, flat), {}),
        "brgemm": (el.primitives.brgemm(m=5, n=8, k=6, beta=0), (B, A, flat, 5, 6, 5), {}),
        "zero": (el.primitives.unary("zero", m=5, n=8), (None, flat, 0, 5), {}),
        "in place": (el.primitives.unary("relu", m=5, n=8), (flat, flat, 5, 5), {}),
    }


@pytest.mark.parametrize("name", callables())
def test_the_third_call_does_not_come_to_python(name: str, slow_calls: list[str]) -> None:
    call, arguments, keywords = callables()[name]
    first = call(*arguments, **keywords)
    kept = None if first is None else np.array(first)
    call(*arguments, **keywords)
    assert len(slow_calls) == 2
    for _ in range(3):
        again = call(*arguments, **keywords)
        assert type(again) is type(first) and (kept is None or np.array_equal(again, kept))
        given = keywords.get("out", arguments[-1] if "execute" in name else None)
        assert given is None or again is given
    assert len(slow_calls) == 2


def test_einsum_enters_by_its_equation(slow_calls: list[str]) -> None:
    el.clear_cache()
    out = np.zeros((8, 5), np.float32)
    for turn in range(5):
        assert np.array_equal(el.einsum("ab,bc->ac", A, B), AB)
        assert el.einsum("ab,bc->ac", A, B, out=out) is out and np.array_equal(out, AB)
        assert np.array_equal(el.einsum("ab,bc->ac", A[:3], B), AB[:3])
        assert len(slow_calls) == 3 * min(turn + 1, 2)
    assert el.einsum("ab,bc->ac", A.astype(float), B.astype(float)).dtype == np.float64
    with pytest.raises(el.ShapeError):
        el.einsum("ab,bc->ac", B, A[:7])


def test_where_arrays_begin_compiles_nothing(slow_calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Strides | None] = []
    original = Recipe.compile

    def watched(self: Recipe, strides: tuple[Strides, ...], out: Strides | None, threads: int) -> Any:
        compiled.append(out)
        return original(self, strides, out, threads)

    monkeypatch.setattr(Recipe, "compile", watched)
    f, memory = el.compile("ab,bc->ac", A, B, threads=1), np.zeros(200, np.float32)
    for first in (0, 0, *range(40)):
        out = memory[first : first + 40].reshape(8, 5)
        assert f(A, B, out=out) is out and np.array_equal(out, AB)
    assert (len(slow_calls), compiled) == (2, [None])
    rows = memory[:80].reshape(8, 10)
    for first in (0, 0, 1, 2, 5):  # Other strides: one more program, and one more entry with the second call.
        assert np.array_equal(f(A, B, out=rows[:, first : first + 5]), AB)
    assert (len(slow_calls), compiled) == (4, [None, (10, 1)])


class Labelled(np.ndarray):
    """A subclass, which no entry takes."""


def others() -> dict[str, tuple[tuple[Any, ...], dict[str, Any], type[Exception] | None]]:
    """Calls of an expression with entries for (A, B) and (A, B, out=): none may enter."""
    memory = np.zeros(200, np.float32)
    locked = np.zeros((8, 5), np.float32)
    locked.flags.writeable = False
    odd = np.zeros(8 * 5 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(8, 5)
    wrong_place = np.zeros(8 * 6 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(8, 6)
    wrong_place[...] = A
    memory[:48] = A.ravel()
    return {
        "other strides": ((np.asfortranarray(A), B), {}, None),
        "not aligned": ((wrong_place, B), {}, None),
        "subclass": ((A.view(Labelled), B), {}, None),
        "big-endian": ((A.astype(">f4"), B), {}, None),
        "list": ((A.tolist(), B), {}, el.DTypeError),
        "wider": ((A.astype("f8"), B), {}, el.DTypeError),
        "other shape": ((A[:7], B), {}, el.ShapeError),
        "one more axis": ((A[None], B), {}, el.ShapeError),
        "too few": ((A,), {}, el.EquationError),
        "too many": ((A, B, B), {}, el.EquationError),
        "None by another keyword": ((A, B), {"into": None}, TypeError),
        "None by two keywords": ((A, B), {"out": None, "into": None}, TypeError),
        "None for an operand": ((A,), {"out": None}, el.EquationError),
        "out of other strides": ((A, B), {"out": np.zeros((5, 8), np.float32).T}, None),
        "out not aligned": ((A, B), {"out": odd}, None),
        "out read-only": ((A, B), {"out": locked}, el.StrideError),
        "out of another type": ((A, B), {"out": np.zeros((8, 5))}, el.DTypeError),
        "out over an operand": ((memory[:48].reshape(8, 6), B), {"out": memory[44:84].reshape(8, 5)}, el.OverlapError),
        "out before an operand": ((memory[:48].reshape(8, 6), B), {"out": memory[48:88].reshape(8, 5)}, None),
        "another keyword": ((A, B), {"into": locked}, TypeError),
        "two keywords": ((A,), {"out": locked, "other": B}, TypeError),
    }


@pytest.mark.parametrize("name", others())
def test_what_is_unexpected_goes_to_python(name: str) -> None:
    arguments, keywords, error = others()[name]
    f, out = el.compile("ab,bc->ac", A, B), np.zeros((8, 5), np.float32)
    for _ in range(3):
        f(A, B)
        f(A, B, out=out)
    if error is not None:
        with pytest.raises(error):
            f(*arguments, **keywords)
        assert not any(
            np.any(thing) for key, thing in keywords.items() if key in ("out", "into") and name != "out over an operand"
        )
    else:
        for _ in range(4):  # an entry for it comes in between
            assert np.array_equal(f(*arguments, **keywords), AB)


def test_any_number_of_signatures() -> None:
    """More than an object has entries for; and what comes back after them."""
    f = el.compile("ab,bc->ac", A, B)
    for step in range(1, 30):
        wide = np.zeros((8, 6 * step), np.float32)
        wide[:, ::step] = A
        for _ in range(3):
            assert np.array_equal(f(wide[:, ::step], B), AB)
    assert np.array_equal(f(A, B), AB)


@pytest.mark.parametrize("name", callables())
def test_references_are_balanced(name: str) -> None:
    call, arguments, keywords = callables()[name]
    things = [*arguments, *keywords.values(), None, np.dtype("f4"), np.ndarray, call, "out", ()]

    def many(count: int) -> list[int]:
        for _ in range(count):
            call(*arguments, **keywords)
        return [sys.getrefcount(thing) for thing in things]

    many(3)
    before, after = many(100), many(2000)
    assert all(abs(now - then) < 20 for then, now in zip(before, after)), (before, after)
    result = call(*arguments, **keywords)
    if result is not None and all(result is not thing for thing in things):
        assert sys.getrefcount(result) == 2


def test_results_are_freed() -> None:
    a = np.zeros((200, 100))
    f = el.compile("ab->ba", a)
    for _ in range(3):
        f(a)
    alive = weakref.ref(f(a))
    assert alive() is None


def test_what_has_entries_dies_with_its_last_reference() -> None:
    def used() -> Any:
        f = el.compile("ab,bc->ac", A, B)
        for _ in range(3):
            f(A, B)
        return weakref.ref(f)

    assert used()() is None
    f: Any = el.compile("ab,bc->ac", A, B)
    f.itself = f
    alive = weakref.ref(f)
    del f
    gc.collect()
    assert alive() is None


def test_a_subclass_has_its_own_call() -> None:
    class Doubled(Expression):
        def __call__(self, *operands: Any, out: Any = None) -> Any:
            return 2 * super().__call__(*operands, out=out)

    f = Doubled("ab,bc->ac", (A.shape, B.shape), "float32")
    assert all(np.array_equal(f(A, B), 2 * AB) for _ in range(5))


BIG = RNG.integers(-3, 4, (160, 160)).astype(np.float64)


def test_settings_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    f = el.compile("ab,bc->ac", BIG, BIG)
    asked: list[int] = []
    variant = Expression._variant

    def watched(self: Any, strides: Any, output: Any, threads: int) -> Any:
        asked.append(threads)
        return variant(self, strides, output, threads)

    monkeypatch.setattr(Expression, "_variant", watched)
    expected = BIG @ BIG

    def check(threads: int) -> None:
        asked.clear()
        for _ in range(4):
            assert np.array_equal(f(BIG, BIG), expected)
        assert set(asked) <= {threads} and len(asked) <= 2

    with el.settings(threads=1):
        check(1)
        asked.clear()
        f(BIG, BIG)
        assert not asked
    with el.settings(threads=2):
        f(BIG, BIG)
        assert asked == [2]
        check(2)
    try:
        set_process_limit(3)
        check(3)
        set_process_limit(1)
        check(1)
    finally:
        set_process_limit(None)


def test_many_threads_are_inside_at_once() -> None:
    """With scratch, which one call at a time takes, and without; the interpreter's lock is let go of."""
    wide = np.asfortranarray(BIG)
    f, g = el.compile("ab,cb->ac", wide, BIG, threads=1), el.compile("ab,bc,cd->ad", A, B, B.T.copy())
    expected, small = BIG @ BIG.T, AB @ B.T
    failures: list[str] = []

    def work() -> None:
        out = np.zeros_like(BIG)
        for _ in range(times(60)):
            f(wide, BIG, out=out)
            if not np.array_equal(out, expected) or not np.array_equal(g(A, B, B.T.copy()), small):
                failures.append("wrong")

    workers = [threading.Thread(target=work) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures


def test_scratch_is_put_back_and_whole_in_a_forked_child() -> None:
    import ctypes

    word = ctypes.c_uint64.from_address(scratch_word(1000))
    address = word.value
    assert address % 4096 == 0 and address
    word.value = 0  # as if another thread of the parent had it
    code = exit_code_in_child(lambda: word.value == address)
    word.value = address
    assert code == 0


def test_an_entry_for_a_team_works_in_a_forked_child() -> None:
    f = el.compile("ab,bc->ac", BIG, BIG, threads=2)
    expected = BIG @ BIG
    for _ in range(3):
        f(BIG, BIG)
    out = np.zeros_like(BIG)
    f(BIG, BIG, out=out)
    assert exit_code_in_child(lambda: np.array_equal(f(BIG, BIG), expected) and f(BIG, BIG, out=out) is out) == 0
    assert np.array_equal(f(BIG, BIG), expected)


def test_signals_are_handled_after_the_call() -> None:
    seen: list[float] = []
    side = times(700, 200)  # About as long as the timer waits.
    large = np.ones((side, side))
    f = el.compile("ab,bc->ac", large, large, threads=1)
    for _ in range(3):
        f(large, large)
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(time.monotonic()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        result = f(large, large)
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert result[0, 0] == result[-1, -1] == side
    finally:
        signal.signal(signal.SIGALRM, before)
    assert len(seen) <= 1


def test_an_interrupt_leaves_everything_whole() -> None:
    f, out = el.compile("ab,bc->ac", BIG, BIG, threads=1), np.zeros_like(BIG)
    expected = BIG @ BIG

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(10):
            with pytest.raises(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 0.005)
                while True:
                    f(BIG, BIG, out=out)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert np.array_equal(f(BIG, BIG, out=out), expected)


UNKNOWN = """
import sys
sys.implementation.name = "another"
import numpy as np
import einloom as el
from einloom.jit.interpreter import known_interpreter
assert known_interpreter() is None
a = np.arange(12, dtype="f4").reshape(3, 4)
f, out = el.compile("ab,cb->ac", a, a), np.zeros((3, 3), "f4")
relu = el.primitives.unary("relu", m=3, n=4)
for _ in range(4):
    assert np.array_equal(f(a, a), a @ a.T) and f(a, a, out=out) is out and np.array_equal(out, a @ a.T)
    assert np.array_equal(el.einsum("ab,cb->ac", a, a), a @ a.T)
    other = np.zeros_like(a)
    relu(a, other, 3, 3)
    assert np.array_equal(a, other)
print("right")
"""


def test_an_unknown_interpreter_goes_through_ctypes() -> None:
    assert python(UNKNOWN) == "right"


def test_a_layout_that_is_not_this_ones_is_seen() -> None:
    from dataclasses import fields, replace

    from einloom.jit.interpreter import looks_right

    layout = known_interpreter()
    assert layout is not None and looks_right(layout)
    moved = [field.name for field in fields(layout) if field.name not in ("functions", "has_entries", "entry")]
    for name in moved:
        other = 1 if name == "writeable" else getattr(layout, name) + 8
        assert not looks_right(replace(layout, **{name: other})), name


def test_an_object_that_is_made_anew_leaves_its_entries() -> None:
    """What its code points to stays, and calls ask Python again."""
    first, second = np.arange(36, dtype="f4").reshape(6, 6), np.arange(36, 72, dtype="f4").reshape(6, 6)
    f = el.compile("ab,bc->ac", first, second)
    for _ in range(4):
        f(first, second)
    f.__init__("ab,cb->ac", ((6, 6), (6, 6)), "float32")  # type: ignore[misc]
    gc.collect()
    for _ in range(4):
        assert np.array_equal(f(first, second), first @ second.T)
