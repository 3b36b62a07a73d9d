"""The examples run as their first lines say, on small sizes, and compute what NumPy does."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import einloom as el

FOLDER = Path(__file__).resolve().parents[2] / "examples"

EPSILON = np.finfo(np.float32).eps
SMALL = ("96", "64", "128", "16", "8", "16", "4", "1")  # M N K bm bn bk, parts of the sum, layers
BACKWARD = ("96", "64", "128", "16", "8", "16", "2")  # M N K bm bn bk, parts of the sum
SQUARE = ("64", "32", "64", "16", "8", "16", "2")


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> ModuleType:
    """Import a script of the examples' folder, where it finds its neighbours."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module(request.param)


@pytest.mark.parametrize("example", ["gemm_forward"], indirect=True)
@pytest.mark.parametrize("string", ["aCBc", "bcaBCb", "C{R:2}aB{C:2}c", "aBC@schedule(dynamic,1)", "cba"])
def test_gemm_forward(example: ModuleType, string: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert example.main(string, *SMALL) < 2 * 128 * EPSILON
    assert "GFLOP/s" in capsys.readouterr().out


@pytest.mark.parametrize("example", ["gemm_forward"], indirect=True)
def test_a_perceptron_of_several_layers(example: ModuleType) -> None:
    assert example.main("aCBc", *SQUARE, "5") < 2 * 5 * 64 * EPSILON


@pytest.mark.parametrize("example", ["gemm_forward"], indirect=True)
def test_a_wrong_string_is_refused(example: ModuleType) -> None:
    with pytest.raises(el.ScheduleError, match="a race"):
        example.main("Acb", *SQUARE, "1")


@pytest.mark.parametrize("example", ["blockings"], indirect=True)
def test_the_rule_of_blockings(example: ModuleType) -> None:
    assert doctest.testmod(example).failed == 0


def test_examples_are_short() -> None:
    assert {path.name for path in FOLDER.glob("*.py") if len(path.read_text().splitlines()) > 80} == set()


@pytest.mark.parametrize("example", ["gemm_bwd"], indirect=True)
@pytest.mark.parametrize("private", ["0", "1"])
@pytest.mark.parametrize("string", ["bCAc", "CAb", "bcA{R:2}C{C:2}", "bAC@schedule(dynamic,1)"])
def test_gemm_backward_by_data(example: ModuleType, string: str, private: str) -> None:
    assert example.main(string, *BACKWARD, private, "400") < 2 * 96 * EPSILON


@pytest.mark.parametrize("example", ["gemm_upd"], indirect=True)
@pytest.mark.parametrize(
    ("string", "partials"),
    [("cABa", "0"), ("bac", "0"), ("CAb", "2"), ("C{R:3}aB{C:2}", "3"), ("A{R:2}cB{C:2}", "0"), ("abC", "2")],
)
def test_gemm_backward_by_weights(example: ModuleType, string: str, partials: str) -> None:
    with el.settings(threads=2):
        assert example.main(string, *BACKWARD, "0", partials, "400") < 2 * 64 * EPSILON


@pytest.mark.parametrize("example", ["gemm_upd"], indirect=True)
@pytest.mark.parametrize(("string", "partials"), [("cABa", "2"), ("CAb", "0"), ("CAb", "3"), ("C{R:3}ab", "2")])
def test_another_number_of_partial_results_is_refused(example: ModuleType, string: str, partials: str) -> None:
    with el.settings(threads=2), pytest.raises(el.ScheduleError, match="partial results"):
        example.main(string, *BACKWARD, "0", partials, "400")
