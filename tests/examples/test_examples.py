"""The examples run as their first lines say, on small sizes, and compute what NumPy does."""

from __future__ import annotations

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


def test_examples_are_short() -> None:
    assert {path.name for path in FOLDER.glob("*.py") if len(path.read_text().splitlines()) > 80} == set()


LAYERS = {
    "3x3": ("2", "6", "7", "32", "16", "3", "3", "1", "1", "1", "1", "16", "8", "1", "1", "1", "1", "1", "0", "400"),
    "1x1 by 2": ("2", "7", "8", "16", "48", "1", "1", "2", "2", "0", "0", "16", "16", "1", "2", "1", "1", "1"),
    "5x3 by 2, 1": ("1", "9", "6", "32", "16", "5", "3", "2", "1", "2", "1", "8", "16", "1", "1", "2", "1", "1"),
}
"""N H W C K R S, strides, padding, bc bk, parts of h w c k, rows, and what is not needed."""


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize(
    ("example", "string"),
    [
        ("conv_fwd", "Abcdefg"),
        ("conv_fwd", "aCDbefg"),
        ("conv_fwd", "A{R:2}bC{C:2}defg"),
        ("conv_fwd", "abcDefg@schedule(dynamic,1)"),
        ("conv_bwd", "Acbdefg"),
        ("conv_bwd", "dABcefg"),
        ("conv_upd", "CBadefg"),
        ("conv_upd", "aFGbcde"),
    ],
    indirect=["example"],
)
def test_convolutions(example: ModuleType, string: str, layer: str) -> None:
    summed = 2 * 9 * 8 * 48
    with el.settings(threads=2):
        assert example.main(string, *LAYERS[layer]) < 2 * summed * EPSILON


@pytest.mark.parametrize(
    ("example", "string"),
    [("conv_fwd", "aBcdefg"), ("conv_bwd", "abcDefg"), ("conv_bwd", "abcdeFg"), ("conv_upd", "Abcdefg")],
    indirect=["example"],
)
def test_convolutions_whose_threads_would_race_are_refused(example: ModuleType, string: str) -> None:
    with el.settings(threads=2), pytest.raises(el.ScheduleError, match="a race"):
        example.main(string, *LAYERS["5x3 by 2, 1" if string == "aBcdefg" else "3x3"])


@pytest.mark.parametrize("example", ["conv_fwd"], indirect=True)
def test_blocks_that_do_not_divide_a_layer_are_refused(example: ModuleType) -> None:
    with pytest.raises(el.ScheduleError, match="do not divide"):
        example.main("Abcdefg", "2", "6", "7", "30", "16", "3", "3", *"1111", "16", "8")


@pytest.mark.parametrize("example", ["block_sparse_gemm"], indirect=True)
@pytest.mark.parametrize("zeros", ["0", "50", "90", "100"])
@pytest.mark.parametrize("string", ["BA", "bAb", "A{R:2}B{C:2}", "ab"])
def test_block_sparse_products(example: ModuleType, string: str, zeros: str) -> None:
    assert example.main(string, "64", "48", "96", "16", "8", "16", zeros) < 2 * 96 * EPSILON


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
