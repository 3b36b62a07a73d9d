"""Independent subtrees side by side: right results however they are called, and the same bits as often as one likes."""

from __future__ import annotations

import pickle
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.expression import recipe
from einloom.jit.host import host
from einloom.plan.lanes import in_lanes

Array = np.ndarray[Any, Any]

EQUATION = "ab,bc,cd,de,ef,fg,gh,hi->ai"
PATH = [(0, 1)] * 7

needs_two = pytest.mark.skipif(host().cores < 2, reason="threads beyond the cores are none")


def operands(extent: int, dtype: str = "float32") -> list[Array]:
    rng = np.random.default_rng(extent)
    return [rng.integers(-1, 2, (extent, extent)).astype(dtype) for _ in range(8)]


def expected(given: list[Array]) -> Array:
    """Products of whole numbers, in float64."""
    return np.linalg.multi_dot([each.astype(complex if each.dtype.kind == "c" else float) for each in given])


def error_bound(given: list[Array]) -> Array:
    """How far sums in the operands' type may be off."""
    terms = 8 * len(given[0])
    return 2 * terms * np.finfo(given[0].dtype).eps * np.linalg.multi_dot([abs(each).astype(float) for each in given])


@needs_two
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("extent", [70, 91, 150])
def test_results(extent: int, dtype: str) -> None:
    given = operands(extent, dtype)
    function = el.compile(EQUATION, *given, optimize=PATH, threads=2)
    assert "lane 0" in function.show("tree") and "lane 1" in function.show("tree")
    right, out = expected(given), np.empty((extent, extent), dtype)
    bound = error_bound(given)
    first = function(*given)
    assert (abs(first - right) <= bound).all()
    for _ in range(3):  # Through Python, then through generated code.
        assert function(*given, out=out) is out
        assert np.array_equal(out, first) and np.array_equal(function(*given), first)


@needs_two
def test_more_scratch_than_generated_entries_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "in_lanes", lambda plan, threads, _: in_lanes(plan, threads, 2**21))  # Whatever L2 is.
    given = operands(320)
    function = el.compile(EQUATION, *given, optimize=PATH, threads=2)
    alone = el.compile(EQUATION, *given, optimize=PATH, threads=1)
    assert "lane 1" in function.show("tree") and "lane 1" not in alone.show("tree")
    bound = error_bound(given)
    for each in (function, alone, function, function):  # Through Python, then through generated code.
        assert (abs(each(*given) - expected(given)) <= bound).all()


def _in_child(queue: Any, function: Any, given: list[Array]) -> None:
    queue.put(function(*given))


@needs_two
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_in_another_process(method: Any) -> None:
    given = operands(80)
    function = el.compile(EQUATION, *given, optimize=PATH, threads=2)
    first = function(*given)
    context = get_context(method)
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue, function, given))
    child.start()
    assert np.array_equal(queue.get(timeout=120), first)
    child.join()
    assert np.array_equal(pickle.loads(pickle.dumps(function))(*given), first)


def test_the_interpreter_takes_no_lanes() -> None:
    given = operands(5)
    function = el.compile(EQUATION, *given, optimize=PATH, threads=2, target="interpreter")
    assert np.array_equal(function(*given), expected(given))
