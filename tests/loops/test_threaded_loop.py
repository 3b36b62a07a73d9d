"""`el.ThreadedLoop` with Python bodies: indices, helpers, init and term, in an order that never changes."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.loops.plot import owners

SPECS = [el.LoopSpec(0, 6), el.LoopSpec(0, 8, 1, (4, 2)), el.LoopSpec(0, 8, 1, (4,))]


def test_a_gemm_with_a_python_body() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((8, 6)), rng.standard_normal((6, 8))
    c = np.full((8, 8), np.nan)

    def body(k: int, m: int, n: int) -> None:
        if k == 0:
            c[m, n] = 0
        c[m, n] += a[m, k] * b[k, n]

    for string in ("bcabcb", "bcaBCb", "bcaBCb@schedule(dynamic,1)", "bc|aBCb", "bC{R:3}aB{C:2}cb"):
        c[:] = np.nan
        el.ThreadedLoop(SPECS, string, threads=None if "{" in string else 3).run(body)
        np.testing.assert_allclose(c, a @ b, rtol=1e-12)


def test_init_and_term_run_once_for_each_thread_around_its_iterations() -> None:
    loop = el.ThreadedLoop([el.LoopSpec(0, 2), el.LoopSpec(0, 4)], "aB|", threads=2)
    seen: list[tuple] = []
    loop.run(
        lambda a, b: seen.append((loop.get_tid(), a, b)),
        init=lambda: seen.append((loop.get_tid(), "init")),
        term=lambda: seen.append((loop.get_tid(), "term")),
    )
    assert seen == [
        *[(0, "init"), (0, 0, 0), (0, 0, 1), (1, "init"), (1, 0, 2), (1, 0, 3)],
        *[(0, 1, 0), (0, 1, 1), (1, 1, 2), (1, 1, 3), (0, "term"), (1, "term")],
    ]


def test_helpers_with_a_grid() -> None:
    loop = el.ThreadedLoop(SPECS, "bC{R:5}B{C:4}cbA{L:3}")
    assert [int(loop.get_loop_par_type(letter)) for letter in "abc"] == [4, 3, 2]
    assert [loop.get_loop_parallel_degree(letter) for letter in "abc"] == [3, 4, 5]
    teams: dict[int, tuple[int, ...]] = {}
    loop.run(
        lambda *_: None,
        init=lambda: teams.update({loop.get_tid(): tuple(map(loop.get_tid_in_parallel_dim, "abc"))}),
    )
    assert len(set(teams.values())) == 60 and teams[13] == (0, 1, 3)


def test_helpers_with_collapse_and_without_parallelism() -> None:
    loop = el.ThreadedLoop(SPECS, "bcaBCb", threads=3)
    assert [int(loop.get_loop_par_type(letter)) for letter in "abc"] == [0, 1, 1]
    seen = set()
    loop.run(lambda *_: seen.add(tuple(map(loop.get_tid_in_parallel_dim, "abc"))))
    assert seen == {(-1, thread, thread) for thread in range(3)}
    with pytest.raises(el.ScheduleError, match="no grid of threads"):
        loop.get_loop_parallel_degree("b")
    with pytest.raises(el.ScheduleError, match="there is no loop 'd'"):
        loop.get_loop_par_type("d")


def test_get_tid_belongs_inside_a_body() -> None:
    loop = el.ThreadedLoop(SPECS, "abbbcc")
    with pytest.raises(el.ScheduleError, match="no thread runs a body"):
        loop.get_tid()
    with pytest.raises(ZeroDivisionError):
        loop.run(lambda a, b, c: 1 / a)
    with pytest.raises(el.ScheduleError, match="no thread runs a body"):
        loop.get_tid()


def test_a_python_body_asks_its_own_loop_while_another_body_is_traced() -> None:
    seen = list[int]()
    inner = el.ThreadedLoop([el.LoopSpec(0, 2)], "A{R:2}")

    def body(a: Any, X: Any) -> None:
        inner.run(lambda a: seen.append(inner.get_tid_in_parallel_dim("a")))
        el.tpp.zero(X[a])

    el.ThreadedLoop([el.LoopSpec(0, 2)], "A", threads=2).body(body)(X=np.ones((2, 2), np.float32))
    assert seen == [0, 1]


@pytest.mark.parametrize("string", ["bcaBCb", "bC{R:5}B{C:4}cba", "a[0,9,3,()]bcbcb|"])
def test_loops_pickle_and_copy(string: str) -> None:
    loop = el.ThreadedLoop(SPECS, string)
    assert pickle.loads(pickle.dumps(loop)).nest == copy.deepcopy(loop).nest == loop.nest


def test_threads_follow_the_settings() -> None:
    with el.settings(threads=3):
        assert el.ThreadedLoop(SPECS, "Abbbcc").nest.threads == 3


def test_show_and_repr() -> None:
    loop = el.ThreadedLoop(SPECS, "bcaBCb", threads=2)
    assert loop.show().splitlines()[4] == "      #pragma omp for collapse(2) nowait"
    assert repr(loop) == "ThreadedLoop('bcaBCb', 0:6:1, 0:8:1, 0:8:1, 2 threads)"


def test_owners_and_their_picture(tmp_path) -> None:
    loop = el.ThreadedLoop([el.LoopSpec(0, 4), el.LoopSpec(0, 2)], "A{R:2}B{C:2}")
    cells = owners(loop.nest, "a", "b")
    assert cells == {(a, b): [2 * (a // 2) + b] for a in range(4) for b in range(2)}
    pytest.importorskip("matplotlib")
    loop.plot("a", "b", str(tmp_path / "owners.png"))
    assert (tmp_path / "owners.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(el.ScheduleError, match="loop a twice"):
        loop.plot("a", "a")
