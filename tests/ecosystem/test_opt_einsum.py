"""opt_einsum's own tests of contractions pass with `backend="einloom"`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import opt_einsum
import pytest

from tests.soak import soak_count

contractions = pytest.importorskip("opt_einsum.tests.test_contract", reason="this opt_einsum came without its tests")

BACKEND: Any = "einloom"
"""Not among the names that opt_einsum's types know."""

SHARE = 1 / 24
"""So many of a test's cases are tried, all under `make soak`: those that are left out differ in the path alone."""


def cases(test: Callable[..., None]) -> list[dict[str, Any]]:
    """The arguments that opt_einsum's own parametrisation gives a test."""
    found: list[dict[str, Any]] = [{}]
    for mark in vars(test).get("pytestmark", ()):
        names = [name.strip() for name in mark.args[0].split(",")]
        values = [value if len(names) > 1 else (value,) for value in mark.args[1]]
        found = [old | dict(zip(names, value)) for old in found for value in values]
    return [case for case in found if _is_its_own(case.get("optimize"))]


def _is_its_own(optimize: object) -> bool:
    """Whether a way to find paths is opt_einsum's: importing cotengra adds some, not all of which it can call."""
    if not isinstance(optimize, str):
        return True
    return getattr(opt_einsum.paths.get_path_fn(optimize), "__module__", "").startswith("opt_einsum.")


TESTS = (
    "test_compare",
    "test_compare_greek",
    "test_compare_blas",
    "test_compare_blas_greek",
    "test_drop_in_replacement",
    "test_contract_expressions",
    "test_contract_expression_with_constants",
    "test_rand_equation",
    "test_contract_plain_types",
    "test_some_non_alphabet_maintains_order",
    "test_contract_expression_interleaved_input",
)

WITHOUT_ARRAYS = {"test_printing", "test_linear_vs_ssa", "test_contract_path_supply_shapes"}
"""Tests of paths and their texts, in which nothing is contracted."""


def test_all_of_its_contractions_are_tried() -> None:
    assert {name for name in vars(contractions) if name.startswith("test_")} <= {*TESTS, *WITHOUT_ARRAYS}


@pytest.mark.soak
@pytest.mark.parametrize("name", TESTS)
def test_its_contractions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    test = getattr(contractions, name)
    monkeypatch.setattr(contractions, "contract", partial(opt_einsum.contract, backend=BACKEND))
    monkeypatch.setattr(contractions, "contract_expression", expression_by_einloom)
    every = cases(test)
    for case in every[:: len(every) // max(soak_count(len(every), SHARE), 1)]:
        test(**case)


def expression_by_einloom(*given: Any, **options: Any) -> Any:
    """What `contract_expression` gives, evaluated by einloom."""
    expression = opt_einsum.contract_expression(*given, **options)

    class Evaluated:
        def __call__(self, *operands: Any, **kwargs: Any) -> Any:
            return expression(*operands, backend="einloom", **kwargs)

        def __repr__(self) -> str:
            return repr(expression)

        def __str__(self) -> str:
            return str(expression)

    return Evaluated()


def test_einloom_computes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The backend is einloom's: each step of the path is a call of it."""
    from opt_einsum.backends import dispatch

    import einloom as el

    called: list[str] = []
    for name in ("tensordot", "einsum"):

        def told(*given: Any, name: str = name, **options: Any) -> Any:
            called.append(name)
            return getattr(el, name)(*given, **options)

        monkeypatch.setitem(dispatch._cached_funcs, (name, "einloom"), told)
    a, b, c = (np.random.default_rng(3).random((4, 4)) for _ in range(3))
    result = opt_einsum.contract("ab,bc,ca,cd->ad", a, b, c, a, backend=BACKEND)
    assert np.allclose(result, np.einsum("ab,bc,ca,cd->ad", a, b, c, a), rtol=1e-12)
    assert len(called) == 3 and set(called) == {"tensordot", "einsum"}
