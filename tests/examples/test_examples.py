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
