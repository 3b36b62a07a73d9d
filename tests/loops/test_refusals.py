"""Races cannot be written, and what cannot be traced is refused at its line."""

from __future__ import annotations

import functools
import importlib.util
import math
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.loops.trace.index import Index

SPECS = [el.LoopSpec(0, 4), el.LoopSpec(0, 4), el.LoopSpec(0, 4)]
KEPT = Index.symbol("b")
OTHER = el.ThreadedLoop([el.LoopSpec(0, 4)], "A{R:4}")
CAPTURED = np.zeros(3)
HELD = SimpleNamespace(array=CAPTURED, by_name={"x": CAPTURED}, listed=[CAPTURED])


def gemm(a, b, c, A, B, C):
    with el.when(a == 0):
        el.tpp.zero(C[c, b])
    el.tpp.brgemm(A[b, a], B[c, a], C[c, b])


def operands() -> dict[str, Any]:
    return {name: np.ones((4, 4, 2, 2), np.float32) for name in "ABC"}


@pytest.mark.parametrize("string", ["bcA", "ABc", "bAC", "cA{R:2}B{C:2}", "A{L:4}bc"])
def test_a_parallel_loop_over_a_sum_is_refused_with_two_iterations(string: str) -> None:
    given = operands()
    before = given["C"].copy()
    body = el.ThreadedLoop(SPECS, string, threads=None if "{" in string else 2).body(gemm)
    with pytest.raises(el.ScheduleError) as caught:
        body(**given)
    text = str(caught.value)
    assert text.startswith("a race: two threads touch C[0, 0, 0:2, 0:2]")
    first, second = re.findall(r"thread (\d) (?:writes|reads) it at a=(\d), b=(\d), c=(\d)", text)
    assert first[0] != second[0] and first[2:] == second[2:] == ("0", "0") and first[1] != second[1]
    assert "test_refusals.py" in text and string in text
    assert (given["C"] == before).all()


def test_pieces_that_come_as_they_may_get_a_barrier() -> None:
    body = el.ThreadedLoop(SPECS, "aBC@schedule(dynamic,1)", threads=2).body(gemm)
    text = body.show(**operands())
    assert "// a barrier behind loop c0: schedule(dynamic,1) gives blocks to other threads" in text
    assert text.splitlines()[-1].strip() == "barrier"
    static = el.ThreadedLoop(SPECS, "aBC", threads=2).body(gemm).show(**operands())
    assert "every block keeps its thread" in static and "barrier" not in static


@pytest.mark.parametrize("clause", ["dynamic,1", "guided"])
def test_pieces_that_come_as_they_may_do_not_depend_on_their_thread(clause: str) -> None:
    loop = el.ThreadedLoop([el.LoopSpec(0, 20)], f"A@schedule({clause})", threads=2)
    values, partial = np.ones((20, 6)), np.zeros((20, 6))

    def by_thread(a, V, P):
        el.tpp.add(P[loop.get_tid()], V[a], P[loop.get_tid()])

    def under_a_condition(a, V, P):
        with el.when(loop.get_tid_in_parallel_dim("a") == 0):
            el.tpp.add(P[a], V[a], P[a])

    for body in (by_thread, under_a_condition):
        with pytest.raises(el.ScheduleError, match=r"differs from run to run") as caught:
            loop.body(body)(V=values, P=partial)
        assert "test_refusals.py" in str(caught.value) and "P[a]" in str(caught.value)
    assert not partial.any()

    @loop.body
    def by_iteration(a, V, P):
        el.tpp.add(P[a], V[a], P[a])

    by_iteration(V=values, P=partial)
    assert (partial == 1).all()


def test_pieces_that_come_as_they_may_leave_nothing_in_scratch() -> None:
    def carried(a, V):
        total = el.tpp.scratch((6,), "float64")
        with el.when(a == 0):
            el.tpp.zero(total)
        el.tpp.add(total, V[a], total)
        el.tpp.copy(total, V[a])

    def written_first(a, V):
        total = el.tpp.scratch((6,), "float64")
        el.tpp.zero(total)
        el.tpp.add(total, V[a], total)
        el.tpp.copy(total, V[a])

    loop = el.ThreadedLoop([el.LoopSpec(0, 20)], "A@schedule(dynamic,1)", threads=2)
    with pytest.raises(el.ScheduleError, match="scratch is read before this iteration wrote it"):
        loop.body(carried)(V=np.ones((20, 6)))
    loop.body(written_first)(V=np.ones((20, 6)))


def test_captured_arrays_and_their_views_stay_writable() -> None:
    owner = np.zeros((3, 4), np.float32)
    views, first = [owner[1:], owner[:, 1:]], owner[0]

    def body(a, X):
        el.tpp.zero(X[a, : first.size + len(views) - len(owner) + 1])

    el.ThreadedLoop([el.LoopSpec(0, 4)], "a").body(body)(X=np.ones((4, 4), np.float32))
    assert all(array.flags.writeable for array in (owner, first, *views))


def test_blocks_that_end_short_or_interleave_are_no_race() -> None:
    """What is tried, because the flag cannot be proven, is what iterations touch: not whole blocks, nor their gaps."""
    ones, out, flag = np.ones(20, np.float32), np.zeros(20, np.float32), np.zeros(4, np.float32)

    def short(a, X, Y, F):
        el.tpp.add(Y[a : a + 8], X[a : a + 8], Y[a : a + 8])
        with el.when(a == 0):
            el.tpp.add(F, X[0:4], F)

    el.ThreadedLoop([el.LoopSpec(0, 20, 8, (10,))], "Aa", threads=2).body(short)(X=ones, Y=out, F=flag)
    assert out.tolist() == [1] * 20 and flag.tolist() == [1] * 4

    def every_other(a, X, Y):
        el.tpp.add(Y[a : a + 19 : 2], X[a : a + 19 : 2], Y[a : a + 19 : 2])

    el.ThreadedLoop([el.LoopSpec(0, 2)], "A", threads=2).body(every_other)(X=ones, Y=out)
    assert out.tolist() == [2] * 20
    with pytest.raises(el.ScheduleError, match=r"two threads touch Y\[2:19:2\]"):
        el.ThreadedLoop([el.LoopSpec(0, 3, 2)], "A", threads=2).body(
            lambda a, X, Y: el.tpp.copy(X[a : a + 17 : 2], Y[a : a + 17 : 2])
        )(X=ones, Y=out)


def test_captured_arrays_that_would_stay_read_only_are_left_alone() -> None:
    owner = np.zeros(4)
    view = owner[1:]
    owner.flags.writeable = False
    foreign = [np.from_dlpack(np.zeros(4)), np.zeros(4, object), np.zeros(2, "datetime64[s]"), view]
    if importlib.util.find_spec("torch") is not None:
        import torch

        foreign.append(torch.zeros(4).numpy())
    before = [array.flags.writeable for array in foreign]

    def body(a, X):
        el.tpp.zero(X[a, : len(foreign) - len(foreign) + 1])

    el.ThreadedLoop([el.LoopSpec(0, 4)], "a").body(body)(X=np.ones((4, 4), np.float32))
    assert [array.flags.writeable for array in foreign] == before


def test_a_body_may_name_what_is_set_later() -> None:
    out = np.ones((4, 4), np.float32)

    @el.ThreadedLoop([el.LoopSpec(0, 4)], "a").body
    def body(a, X):
        el.tpp.zero(X[a, 0:width])

    width = 2
    body(X=out)
    assert out.sum() == 8


def test_blocks_that_overlap_are_found() -> None:
    values = np.zeros((8, 4), np.float32)

    def overlapping(a, V):
        el.tpp.relu(V[2 * a : 2 * a + 3])

    with pytest.raises(el.ScheduleError, match=r"a race: two threads touch V\[2:5, 0:4\]"):
        el.ThreadedLoop([el.LoopSpec(0, 3)], "A", threads=3).body(overlapping)(V=values)
    el.ThreadedLoop([el.LoopSpec(0, 3)], "A", threads=1).body(overlapping)(V=values)

    def apart(a, b, V):  # Two symbols in one subscript: no proof, but all iterations are tried.
        el.tpp.relu(V[2 * a + b])

    el.ThreadedLoop([el.LoopSpec(0, 4), el.LoopSpec(0, 2)], "AB", threads=3).body(apart)(V=values)


def test_a_call_that_reads_what_it_writes_elsewhere_is_refused() -> None:
    values = np.ones((4, 4), np.float32)
    with pytest.raises(el.OverlapError, match="relu writes"):
        el.ThreadedLoop([el.LoopSpec(0, 3)], "a").body(lambda a, V: el.tpp.relu(V[0:2], V[1:3]))(V=values)


def condition_as_bool(a, X):
    if a == 0:
        el.tpp.zero(X[a])


def index_as_int(a, X):
    el.tpp.zero(X[int(a)])


def printed(a, X):
    print(a)


def formatted(a, X):
    el.tpp.zero(X[a]) if f"{a}" else None


def numpy_of_index(a, X):
    np.sqrt(a)


def numpy_of_tensor(a, X):
    np.maximum(X[a], 0)


def assigned(a, X):
    X[a] = 0


def captured(a, X):
    CAPTURED[1] = 2


def captured_in_a_list(a, X):
    HELD.listed[0][1] = 2


def captured_in_a_dictionary(a, X):
    HELD.by_name["x"][1] = 2


def captured_as_an_attribute(a, X):
    HELD.array[1] = 2


def attribute_of_tensor(a, X):
    X[a].sum()


def key_of_a_dictionary(a, X):
    el.tpp.zero(X[{0: 1}[a]])


def captured_by_index(a, X):
    CAPTURED[a] = 2


def arithmetic(a, X):
    el.tpp.relu(X[a] + X[a])


def comparison_of_tensors(a, X):
    if X[a] == 0:
        el.tpp.zero(X[a])


def fraction_of_index(a, X):
    el.tpp.zero(X[a * 1.5])


def bits_of_index(a, X):
    el.tpp.zero(X[a << 1])


def size_of_index(a, X):
    el.tpp.zero(X[abs(a)])


def truth_as_index(a, X):
    el.tpp.zero(X[True])


def quotient_and_remainder(a, X):
    el.tpp.zero(X[divmod(a, 2)[0]])


def remainder_below(a, X):
    with el.when(a % 2 < 1):
        el.tpp.zero(X[a])


def fraction_of_remainder(a, X):
    with el.when(a % 2 == 0.5):
        el.tpp.zero(X[a])


def conjunction_with_truth(a, X):
    with el.when(True & (a == 0)):
        el.tpp.zero(X[a])


def blocks_from_a_generator(a, X):
    el.tpp.brgemm((x for x in [X]), [X], X)  # pyright: ignore[reportArgumentType]


def product_of_indices(a, X):
    el.tpp.zero(X[a * a])


def quotient(a, X):
    el.tpp.zero(X[a // 2])


def range_of_index(a, X):
    for _ in range(a):
        pass


def math_of_index(a, X):
    math.floor(a)


def condition_that_is_a_bool(a, X):
    with el.when(True):
        el.tpp.zero(X[a])


def condition_that_is_none(a, X):
    with el.when(None):
        el.tpp.zero(X[a])


def foreign_array(a, X):
    el.tpp.relu(CAPTURED)


def open_slice(a, X):
    el.tpp.zero(X[0:a])


def index_of_another_body(a, X):
    el.tpp.zero(X[a, KEPT])


def condition_of_another_body(a, X):
    with el.when(KEPT == 0):
        el.tpp.zero(X[a])


def team_of_another_grid(a, X):
    el.tpp.zero(X[Index.symbol("R")])


def thread_of_another_loop(a, X):
    el.tpp.zero(X[OTHER.get_tid()])


def team_of_another_loop(a, X):
    el.tpp.zero(X[OTHER.get_tid_in_parallel_dim("a")])


@pytest.mark.parametrize(
    ("body", "advice"),
    [
        (index_of_another_body, "own indices"),
        (condition_of_another_body, "own indices"),
        (team_of_another_grid, "own indices"),
        (thread_of_another_loop, "Ask the loop whose body this is"),
        (team_of_another_loop, "Ask the loop whose body this is"),
        (condition_as_bool, "el.when(condition)"),
        (index_as_int, "subscripts"),
        (printed, "loop.run"),
        (formatted, "loop.run"),
        (numpy_of_index, "el.tpp"),
        (numpy_of_tensor, "el.tpp"),
        (assigned, "el.tpp.copy"),
        (captured, "by keyword"),
        (captured_in_a_list, "by keyword"),
        (captured_in_a_dictionary, "by keyword"),
        (captured_as_an_attribute, "by keyword"),
        (attribute_of_tensor, "el.tpp.add"),
        (key_of_a_dictionary, "what Python knows"),
        (captured_by_index, "by keyword"),
        (arithmetic, "el.tpp.add"),
        (comparison_of_tensors, "Compare an index"),
        (fraction_of_index, "integers"),
        (bits_of_index, "affine"),
        (size_of_index, "affine"),
        (truth_as_index, "integers"),
        (quotient_and_remainder, "affine"),
        (remainder_below, "by == and !="),
        (fraction_of_remainder, "integers"),
        (conjunction_with_truth, "Join conditions"),
        (blocks_from_a_generator, "as many blocks"),
        (product_of_indices, "affine"),
        (quotient, "another step"),
        (range_of_index, "own tensors"),
        (math_of_index, "Indices have no value"),
        (foreign_array, "by keyword"),
        (condition_that_is_a_bool, "Compare an index"),
        (condition_that_is_none, "Compare an index"),
        (open_slice, "A[i : i + 8]"),
    ],
)
def test_what_cannot_be_traced_is_refused_where_it_stands(body, advice: str) -> None:
    values = np.ones((4, 4), np.float32)
    with pytest.raises(el.ScheduleError) as caught:
        el.ThreadedLoop([el.LoopSpec(0, 4)], "a").body(body)(X=values)
    text = str(caught.value)
    line = body.__code__.co_firstlineno + 1
    assert f"test_refusals.py:{line}: " in text, text
    assert advice in text and "cannot be traced" in text
    assert CAPTURED.flags.writeable and not CAPTURED.any() and (values == 1).all()


@pytest.mark.parametrize("number", [2**62, 2**63, 2**70])
def test_numbers_beyond_registers_are_refused(number: int) -> None:
    def beyond(relation):
        def body(a, X):
            with el.when(relation(a)):
                el.tpp.zero(X[a])

        return body

    for relation in (lambda a: a < number, lambda a: a % number == 1, lambda a: a * number == 0):
        with pytest.raises(el.ScheduleError, match=r"beyond 2\*\*62"):
            el.ThreadedLoop([el.LoopSpec(0, 4)], "a").body(beyond(relation))(X=np.ones((4, 4), np.float32))


@pytest.mark.parametrize("shape", [(-1, 3), (1.5, 2), "ab", 3, None, (2**40, 2**40)])
def test_scratch_of_no_such_shape_is_refused(shape: Any) -> None:
    def body(a, X):
        el.tpp.zero(el.tpp.scratch(shape))

    with pytest.raises(el.ShapeError, match=r"scratch of shape .*\n.*test_refusals.py"):
        el.ThreadedLoop([el.LoopSpec(0, 4)], "a").body(body)(X=np.ones((4, 4), np.float32))


async def suspended(a, X):
    el.tpp.zero(X[a])


def generating(a, X):
    yield el.tpp.zero(X[a])


@pytest.mark.parametrize("body", [None, max, functools.partial(gemm), np.add, suspended, generating])
def test_a_body_is_a_plain_function(body: Any) -> None:
    with pytest.raises(el.ScheduleError, match="Write a function"):
        el.ThreadedLoop([el.LoopSpec(0, 4)], "a").body(body)


@pytest.mark.parametrize("specs", [None, 3, ["x"], "abc", el.LoopSpec(0, 4), [(0, 4)]])
def test_loops_are_declared_by_specs(specs: Any) -> None:
    with pytest.raises(el.ScheduleError, match="Give a list of LoopSpec"):
        el.ThreadedLoop(specs, "a")


def test_tpp_and_when_belong_inside_a_body() -> None:
    with pytest.raises(el.ScheduleError, match="outside a traced body"):
        el.tpp.zero(np.zeros(3))  # pyright: ignore[reportArgumentType]
    with pytest.raises(AttributeError):
        el.tpp.nothing(1)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, el.ScheduleError, "missing tensors: X"),
        ({"X": np.ones(4, np.float32), "Y": 1}, el.ScheduleError, "unknown ones: Y"),
        ({"X": [1.0]}, el.DTypeError, "X is a list"),
        ({"X": np.ones((4, 4), np.complex64)}, el.DTypeError, "complex64"),
        ({"X": np.broadcast_to(np.float32(1), (4, 4))}, el.EinloomError, "X"),
        ({"X": np.ones((3, 4), np.float32)}, el.ShapeError, "reaches index 3 of axis 0, which has 3"),
    ],
)
def test_arguments_are_checked(given: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        el.ThreadedLoop([el.LoopSpec(0, 4)], "a").body(lambda a, X: el.tpp.zero(X[a]))(**given)


def test_arguments_may_not_overlap() -> None:
    memory = np.ones((5, 4), np.float32)
    body = el.ThreadedLoop([el.LoopSpec(0, 4)], "a").body(lambda a, X, Y: el.tpp.relu(X[a], Y[a]))
    with pytest.raises(el.OverlapError):
        body(X=memory[:4], Y=memory[1:])
