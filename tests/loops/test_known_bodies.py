"""A string that was seen before costs no compilation: loops and bodies that record the same share their code."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.loops.trace.captured import trace_key

SPECS = [el.LoopSpec(0, 4), el.LoopSpec(0, 6, 1, (2,))]


def scaled(block: int, names: list[str] | None = None) -> Any:
    """A body that sees `block`, and perhaps a list, from outside."""

    def body(a: Any, b: Any, X: Any) -> None:
        if names is None or names:
            el.tpp.zero(X[a, b * block : b * block + block])

    return body


def loop(string: str = "aBb") -> el.ThreadedLoop:
    return el.ThreadedLoop(SPECS, string, threads=2)


def test_the_same_code_with_the_same_values_is_one_body() -> None:
    assert loop().body(scaled(2)) is loop().body(scaled(2))
    assert loop("bab").body(scaled(2)) is not loop().body(scaled(2))


@pytest.mark.parametrize("other", [1, True, 2.0])
def test_other_values_make_another_body(other: Any) -> None:
    assert loop().body(scaled(2)) is not loop().body(scaled(other))


def test_functions_and_types_of_libraries_are_fixed() -> None:
    tpp, when, integer = el.tpp, el.when, np.int64

    def inner() -> Any:
        def body(a: Any, b: Any, X: Any) -> None:
            with when(a == integer(0)):
                tpp.zero(X[a])

        return body

    assert loop().body(inner()) is loop().body(inner())
    own = {"helper": lambda: 1}
    assert trace_key(eval("lambda a, X: helper()", own)) is None  # Without a module, and it may be changed.


def test_what_may_change_is_traced_again() -> None:
    names = ["X"]
    out = np.ones((4, 6), np.float32)
    loop().body(scaled(1, names))(X=out)
    assert not out.any()
    out[:] = 1
    names.clear()
    loop().body(scaled(1, names))(X=out)
    assert out.all()


def test_a_global_that_changed_makes_another_body(monkeypatch: pytest.MonkeyPatch) -> None:
    def body(a: Any, b: Any, X: Any) -> None:
        el.tpp.unary(OPERATOR, X[a])

    first = loop().body(body)
    monkeypatch.setitem(globals(), "OPERATOR", "zero")
    assert loop().body(body) is not first


class Scaled:
    """A body that sees its object."""

    def __init__(self, operator: str) -> None:
        self.operator = operator

    def body(self, a: Any, b: Any, X: Any) -> None:
        el.tpp.unary(self.operator, X[a])


def test_methods_see_their_objects() -> None:
    out = np.full((4, 6), -1, np.float32)
    loop("ab").body(Scaled("zero").body)
    loop("ab").body(Scaled("abs").body)(X=out)
    assert (out == 1).all()


def test_modules_of_a_user_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = ModuleType("sizes")

    def body(a: Any, b: Any, X: Any) -> None:
        el.tpp.zero(X[a, sizes.begin :])

    sizes.begin = 0
    loop("ab").body(body)
    sizes.begin = 5
    out = np.ones((4, 6), np.float32)
    loop("ab").body(body)(X=out)
    assert out[:, :5].all() and not out[:, 5:].any()


def test_defaults_and_inner_functions_count() -> None:
    def first(a: Any, X: Any, n: int = 1) -> Any:
        return [(lambda: SPECS)() for _ in range(n)]

    assert trace_key(first) is None  # SPECS is a list.
    assert trace_key(lambda a, X, n=1: n) != trace_key(lambda a, X, n=2: n)


OPERATOR = "relu"
