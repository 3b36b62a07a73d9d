"""Pickles, copies and other processes: what people hand to workers computes the same there."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.config import current_settings

A = np.random.default_rng(23).random((6, 5)).astype(np.float32)
CONFIG = el.TensorOperationConfig(
    dtype="float32",
    prim_first_touch="zero",
    prim_main="gemm",
    dim_types=("m", "n", "k"),
    exec_types=("prim", "prim", "prim"),
    dim_sizes=(6, 6, 5),
    strides_in0=(1, 0, 6),
    strides_in1=(0, 5, 1),
    strides_out=(1, 6, 0),
)
COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("how", COPIES)
def test_values_are_the_same_afterwards(how: str) -> None:
    f = el.compile("ab,cb->ac", A, A)
    with el.settings(threads=2):
        settings = current_settings()
    for value in (f.schedule, CONFIG, settings, el.LoopSpec(0, 8, 2), el.Budget(evaluations=3), el.jit.host()):
        assert COPIES[how](value) == value
    error = COPIES[how](el.ShapeError("axis k has two extents"))
    assert type(error) is el.ShapeError and str(error) == "axis k has two extents"


@pytest.mark.parametrize("how", COPIES)
def test_callables_compute_the_same_afterwards(how: str) -> None:
    expected = A @ A.T
    f = COPIES[how](el.compile("ab,cb->ac", A, A, expected[0], epilogue=(("add", "c"),)))
    assert np.allclose(f(A, A, expected[0]), expected + expected[0], rtol=1e-6)
    out = np.empty((6, 6), np.float32)
    operation = COPIES[how](el.TensorOperation(CONFIG, threads=1))
    assert np.allclose(operation.execute(A.T.copy(), A, out), expected, rtol=1e-6)
    kernel = COPIES[how](el.primitives.unary("relu", m=5, n=6))
    kernel(A - 0.5, out, 5, 5)
    assert np.array_equal(out.ravel()[:30].reshape(6, 5), np.maximum(A - 0.5, 0))


def test_given_schedules_go_along() -> None:
    text = str(el.compile("ab,cb->ac", A, A).schedule)
    assert str(pickle.loads(pickle.dumps(el.compile("ab,cb->ac", A, A, schedule=text))).schedule) == text


@pytest.mark.parametrize("limit", [None, 20], ids=["whole", "in slices"])
def test_paths_go_along_whatever_found_them(limit: int | None) -> None:
    found = iter([[(1, 2), (0, 1)], [(0, 1), (0, 1)]])
    matrices: list[Any] = [A[:5], A.T, A]
    f = el.compile("ab,bc,cd->ad", *matrices, optimize=lambda *problem: next(found), memory_limit=limit)
    loaded = pickle.loads(pickle.dumps(f))
    assert loaded.path == f.path == ((1, 2), (0, 1)) and loaded.slicing == f.slicing
    assert np.array_equal(loaded(*matrices), f(*matrices))


def computed(f: Callable[..., Any], array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What an expression, and `einsum`, give in this process."""
    return f(array, array), el.einsum("ab,cb->ac", array, array)


@pytest.mark.parametrize("start", ["spawn", "fork"])
@pytest.mark.filterwarnings("ignore:.*multi-?threaded:DeprecationWarning", "ignore:.*os.fork:RuntimeWarning")
def test_workers_compute_the_same(start: str) -> None:
    f = el.compile("ab,cb->ac", A, A)
    expected = f(A, A)
    with ProcessPoolExecutor(1, multiprocessing.get_context(start)) as pool:
        for found in pool.submit(computed, f, A).result(timeout=100):
            assert np.array_equal(found, expected)


def test_einsum_of_numpy_can_be_replaced_in_a_script(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code of others finds it there: NumPy's results but for views, which einloom never returns."""
    expected = np.einsum("ij,kj->ik", A, A)
    view = np.einsum("ii->i", A[:5])
    monkeypatch.setattr(np, "einsum", el.einsum)
    assert np.allclose(np.einsum("ij,kj->ik", A, A), expected, rtol=1e-6)
    assert np.allclose(np.einsum(A, [0, 1], A, [2, 1], [0, 2], optimize="optimal"), expected, rtol=1e-6)
    diagonal = np.einsum("ii->i", A[:5])
    assert np.array_equal(diagonal, view) and not np.shares_memory(diagonal, A)


@pytest.mark.parametrize("before", [0, 1, 2], ids=["never called", "called once", "called twice"])
def test_objects_that_die_with_python_compute(before: int) -> None:
    """It imports nothing more then: no entry is made, and where there is no team yet one thread does all."""
    program = f"""
import numpy as np, einloom as el
A = np.ones((600, 600), "float32")
f = el.compile("ab,bc->ac", A, A, threads=2)
class Last:
    def __init__(self): self.had = f, A, np.empty_like(A), print
    def __del__(self):
        f, A, out, print = self.had
        print(*(f(A, A, **options)[0, -1] for options in ({{}}, {{}}, {{"out": out}}, {{"out": out}}, {{}})))
last = Last()
for _ in range({before}): f(A, A)
"""
    variables = os.environ | {"EINLOOM_CACHE": "off"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=variables)
    assert (done.returncode, done.stdout, done.stderr) == (0, " ".join(["600.0"] * 5) + "\n", "")
