"""The examples run as their first lines say, on small sizes, and compute what NumPy does."""

from __future__ import annotations

import importlib
import timeit
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import einloom as el

from ..soak import soak_count

FOLDER = Path(__file__).resolve().parents[2] / "examples"

EPSILON = float(np.finfo(np.float32).eps)
SMALL = ("96", "64", "128", "16", "8", "16", "4", "1", "2")  # M N K bm bn bk, parts of the sum, layers, runs
BACKWARD = ("96", "64", "128", "16", "8", "16", "2")  # M N K bm bn bk, parts of the sum
SQUARE = ("64", "32", "64", "16", "8", "16", "2")


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> ModuleType:
    """Import a script of the examples' folder, where it finds its neighbours."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module(request.param)


def run(example: ModuleType, *arguments: str) -> float:
    return importlib.import_module("sample").report(example.build, *arguments)


@pytest.mark.parametrize("example", ["gemm_forward"], indirect=True)
@pytest.mark.parametrize("string", ["aCBc", "bcaBCb", "C{R:2}aB{C:2}c", "aBC@schedule(dynamic,1)", "cba"])
def test_gemm_forward(example: ModuleType, string: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(example, string, *SMALL) < 2 * 128 * EPSILON
    assert "GFLOP/s" in capsys.readouterr().out


@pytest.mark.parametrize("example", ["gemm_forward"], indirect=True)
def test_a_perceptron_of_several_layers(example: ModuleType) -> None:
    assert run(example, "aCBc", *SQUARE, "5") < 2 * 5 * 64 * EPSILON


@pytest.mark.parametrize("example", ["gemm_forward"], indirect=True)
def test_a_wrong_string_is_refused(example: ModuleType) -> None:
    with el.settings(threads=2), pytest.raises(el.ScheduleError, match="a race"):
        run(example, "Acb", *SQUARE, "1")


@pytest.mark.parametrize("example", ["gemm_forward", "block_sparse_gemm"], indirect=True)
def test_without_arguments_a_sample_says_what_they_are(example: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [example.__name__])
    with pytest.raises(SystemExit, match="The arguments: the loop string"):
        run(example)


@pytest.mark.parametrize(
    ("example", "numbers", "error", "message"),
    [
        ("gemm_forward", "", el.ArgumentError, "the numbers are none\n  Give M N K bm bn bk parts layers runs"),
        ("gemm_forward", "64 64 x 16 8 16 1 1 1", el.ArgumentError, "the numbers are 64 64 x"),
        ("gemm_forward", "64 64 64 0 8 16 1 1 1", el.ArgumentError, "each at least 1"),
        ("gemm_forward", "64 64 64 16 8 16 1 1 0", el.ArgumentError, "each at least 1"),
        ("gemm_bwd", "64 64 64 16 8 16 1 0 1 1", el.ArgumentError, "the numbers are"),
        ("gemm_upd", "64 64 64 16 24 16 1 0 0", el.ScheduleError, "blocks of 24 do not divide 64"),
        ("block_sparse_gemm", "64 64 64 16 8", el.ArgumentError, "zeros"),
        ("conv_fwd", "2 14 14 32 32 3 3 0 1 1 1 32 32", el.ArgumentError, "sh sw ph"),
        ("conv_fwd", "2 14 14 32 32 3 3 1 1 1 1 32 32 1 1 1 1 1 0 0", el.ArgumentError, "0 runs"),
    ],
    indirect=["example"],
)
def test_wrong_numbers_are_refused(example: ModuleType, numbers: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message.replace("?", r"\?")):
        run(example, "Abcdefg" if "conv" in example.__name__ else "aBc", *numbers.split())


@pytest.mark.parametrize("example", ["gemm_forward"], indirect=True)
def test_pairs_need_even_blocks(example: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ml_dtypes")
    monkeypatch.setenv("USE_BF16", "1")
    with pytest.raises(el.ScheduleError, match="are no pairs"):
        run(example, "aCBc", "64", "64", "63", "16", "16", "9", "1", "1")


def test_examples_are_short() -> None:
    samples = [path for path in FOLDER.glob("*.py") if "def build(" in path.read_text()]
    assert len(samples) == 7 and all(len(path.read_text().splitlines()) <= 80 for path in samples)


LAYERS = {
    "3x3": ("2", "6", "7", "32", "16", "3", "3", "1", "1", "1", "1", "16", "8", "1", "1", "1", "1", "1", "0", "3"),
    "1x1 by 2": ("2", "7", "8", "16", "48", "1", "1", "2", "2", "0", "0", "16", "16", "1", "2", "1", "1", "1"),
    "5x3 by 2, 1": ("1", "9", "6", "32", "16", "5", "3", "2", "1", "2", "1", "8", "16", "1", "1", "2", "1", "1"),
    "rows in one": ("2", "6", "8", "32", "16", "1", "1", "1", "1", "0", "0", "16", "8", "1", "2", "1", "1", "3"),
    "no padding": ("1", "9", "7", "32", "16", "3", "2", "2", "3", "0", "0", "16", "8", "1", "1", "1", "1", "1"),
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
        ("conv_bwd", "Bacdefg"),
        ("conv_bwd", "dABcefg"),
        ("conv_bwd", "abcDefg@schedule(dynamic,1)"),
        ("conv_upd", "CBadefg"),
        ("conv_upd", "aFGbcde"),
    ],
    indirect=["example"],
)
def test_convolutions(example: ModuleType, string: str, layer: str) -> None:
    summed = 2 * 9 * 8 * 48
    with el.settings(threads=2):
        assert run(example, string, *LAYERS[layer]) < 2 * summed * EPSILON


@pytest.mark.parametrize(
    ("example", "string"),
    [("conv_fwd", "aBcdefg"), ("conv_upd", "Abcdefg"), ("conv_upd", "abcdEfg")],
    indirect=["example"],
)
def test_convolutions_whose_threads_would_race_are_refused(example: ModuleType, string: str) -> None:
    with el.settings(threads=2), pytest.raises(el.ScheduleError, match="a race"):
        run(example, string, *LAYERS[{"aBcdefg": "5x3 by 2, 1", "abcdEfg": "rows in one"}.get(string, "3x3")])


@pytest.mark.parametrize("example", ["conv_fwd"], indirect=True)
def test_blocks_that_do_not_divide_a_layer_are_refused(example: ModuleType) -> None:
    with pytest.raises(el.ScheduleError, match="do not divide"):
        run(example, "Abcdefg", "2", "6", "7", "30", "16", "3", "3", *"1111", "16", "8")
    with pytest.raises(el.ScheduleError, match="one row"):
        run(example, "Abcdefg", *LAYERS["3x3"][:17], "2")


@pytest.mark.parametrize("example", ["block_sparse_gemm"], indirect=True)
@pytest.mark.parametrize("zeros", ["0", "50", "90", "100"])
@pytest.mark.parametrize("string", ["BA", "bAb", "A{R:2}B{C:2}", "ab"])
def test_block_sparse_products(example: ModuleType, string: str, zeros: str) -> None:
    assert run(example, string, "64", "48", "96", "16", "8", "16", zeros) < 2 * 96 * EPSILON


@pytest.mark.parametrize("example", ["gemm_bwd"], indirect=True)
@pytest.mark.parametrize("private", ["0", "1"])
@pytest.mark.parametrize("string", ["bCAc", "CAb", "bcA{R:2}C{C:2}", "bAC@schedule(dynamic,1)"])
def test_gemm_backward_by_data(example: ModuleType, string: str, private: str) -> None:
    assert run(example, string, *BACKWARD, private, "2") < 2 * 96 * EPSILON


@pytest.mark.parametrize("example", ["gemm_upd"], indirect=True)
@pytest.mark.parametrize(
    ("string", "partials"),
    [("cABa", "0"), ("bac", "0"), ("CAb", "2"), ("C{R:3}aB{C:2}", "3"), ("A{R:2}cB{C:2}", "0"), ("abC", "2")],
)
def test_gemm_backward_by_weights(example: ModuleType, string: str, partials: str) -> None:
    with el.settings(threads=2):
        assert run(example, string, *BACKWARD, "0", partials, "2") < 2 * 64 * EPSILON


@pytest.mark.parametrize("example", ["gemm_upd"], indirect=True)
@pytest.mark.parametrize(("string", "partials"), [("cABa", "2"), ("CAb", "0"), ("CAb", "3"), ("C{R:3}ab", "2")])
def test_another_number_of_partial_results_is_refused(example: ModuleType, string: str, partials: str) -> None:
    with el.settings(threads=2), pytest.raises(el.ScheduleError, match="partial results"):
        run(example, string, *BACKWARD, "0", partials, "2")


NARROW = 2.0**-7
"""The epsilon of bfloat16: operands are exact, sums are float32 inside a part, and each part and layer rounds once."""


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USE_BF16", "1")


PADDED = ("2", "7", "7", "32", "16", "3", "3", "1", "1", "1", "1", "16", "8", "1", "1", "1", "1", "1", "0", "2")


@pytest.mark.parametrize(
    ("example", "arguments", "roundings"),
    [
        ("gemm_forward", ("aCBc", *SMALL), 4),
        ("gemm_forward", ("bcA{R:2}C{C:2}", *SMALL), 0),
        ("gemm_forward", ("caB", *SQUARE, "3"), 6),
        ("gemm_bwd", ("bCAc", *BACKWARD, "0"), 2),
        ("gemm_bwd", ("bCAc", *BACKWARD, "1"), 2),
        ("gemm_upd", ("cABa", *BACKWARD, "0", "0"), 1),
        ("gemm_upd", ("cABa", *BACKWARD, "1", "0"), 1),
        ("gemm_upd", ("CAb", *BACKWARD, "0", "2"), 1),
        ("gemm_upd", ("C{R:3}aB{C:2}", *BACKWARD, "1", "3"), 1),
        ("conv_fwd", ("Abcdefg", *LAYERS["3x3"]), 1),
        ("conv_fwd", ("aCDbefg", *LAYERS["5x3 by 2, 1"]), 2),
        ("conv_bwd", ("Acbdefg", *LAYERS["3x3"]), 1),
        ("conv_bwd", ("dABcefg", *LAYERS["1x1 by 2"]), 1),
        ("conv_bwd", ("Bacdefg", *LAYERS["3x3"]), 1),
        ("conv_upd", ("CBadefg", *PADDED), 1),
        ("block_sparse_gemm", ("BA", "64", "48", "96", "16", "8", "16", "50"), 1),
    ],
    indirect=["example"],
)
def test_samples_in_bfloat16(example: ModuleType, arguments: tuple[str, ...], roundings: int, narrow: None) -> None:
    with el.settings(threads=2):
        if roundings:
            assert 2 * 128 * EPSILON < run(example, *arguments) < 2 * roundings * NARROW
        else:
            with pytest.raises(el.ScheduleError, match="a race"):
                run(example, *arguments)


@pytest.mark.parametrize("example", ["gemm_upd"], indirect=True)
def test_float32_is_transposed_by_the_kernels(example: ModuleType) -> None:
    with pytest.raises(el.ScheduleError, match="private 1\n  Pass 0, 0"):
        run(example, "cab", *BACKWARD, "1", "0")


SEED = {
    "gemm_forward": "aCBc 2048 2048 2048 32 32 32 2 1 400",
    "conv_fwd": "Abcdefg 28 14 14 64 64 3 3 1 1 1 1 32 32 1 1 1 1 1 0 400 0 0 1 1 1 1 1 1 1",
    "gemm_bwd": "bCAc 2048 4096 1024 32 32 32 4 0 400",
    "gemm_upd": "cABa 2048 4096 1024 32 32 32 8 0 0 400",
}
"""The command lines of PARLOOPER's page."""

QUARTER = {
    "gemm_forward": "aCBc 512 512 512 32 32 32 2 1 400",
    "conv_fwd": SEED["conv_fwd"],
    "gemm_bwd": "bCAc 512 1024 256 32 32 32 4 0 400",
    "gemm_upd": "cABa 512 1024 256 32 32 32 8 0 0 400",
}
"""The same on matrices of a quarter of the rows and columns: for the short run."""

BLOCKS = {
    SEED["gemm_forward"]: "c: LoopSpec(start=0, bound=64, step=1, block_sizes=(4, 2))",
    SEED["conv_fwd"]: "d: LoopSpec(start=0, bound=14, step=1, block_sizes=(14, 2))",
    SEED["gemm_bwd"]: "b: LoopSpec(start=0, bound=64, step=16, block_sizes=(64, 32))",
    SEED["gemm_upd"]: "c: LoopSpec(start=0, bound=128, step=16, block_sizes=(64, 32))",
    QUARTER["gemm_forward"]: "c: LoopSpec(start=0, bound=16, step=1, block_sizes=(4, 2))",
    QUARTER["gemm_bwd"]: "b: LoopSpec(start=0, bound=16, step=4, block_sizes=(16, 8))",
    QUARTER["gemm_upd"]: "c: LoopSpec(start=0, bound=32, step=4, block_sizes=(16, 8))",
}


@pytest.mark.soak
@pytest.mark.parametrize("example", SEED, indirect=True)
def test_command_lines_of_the_original(
    example: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once instead of 400 times in the short run."""
    timed: list[int] = []

    def once(work: Callable[[], object], number: int, repeat: int) -> list[float]:
        timed.append(repeat)
        return timeit.repeat(work, number=number, repeat=soak_count(repeat, share=0))

    monkeypatch.setattr(importlib.import_module("sample"), "repeat", once)
    line = (SEED if soak_count(2, share=0) == 2 else QUARTER)[example.__name__]
    with el.settings(threads=2):
        assert run(example, *line.split()) < 2 * 512 * EPSILON
    assert timed == [400] and BLOCKS[line] in capsys.readouterr().out
