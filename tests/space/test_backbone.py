"""Backbones: what the builder writes for each kernel, and the temporaries it foresees."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from einloom.errors import ScheduleError, ShapeError
from einloom.space import kernels
from einloom.space.backbone import Reduction, Result
from einloom.space.kernels import KERNELS, kernel
from einloom.space.tilings import tile_sizes, tilings

SIZES = {
    "axpy": {"n": 64},
    "mv": {"m": 64, "n": 32},
    "gesummv": {"m": 64, "n": 32},
    "matmul": {"m": 64, "n": 64, "k": 32},
    "batch_matmul": {"b": 4, "m": 64, "n": 64, "k": 32},
    "doitgen": {"r": 4, "q": 64, "p": 64, "s": 32},
}


@pytest.mark.parametrize("name", KERNELS)
def test_every_value_is_read_from_an_earlier_instruction_along_common_axes(name):
    backbone = kernel(name, **SIZES[name]).backbone
    seen: list[str] = []
    for each in backbone.instructions:
        for result in each.results:
            assert result.instruction in seen
            for source, target in result.mapping:
                a, b = backbone.dimension[source], backbone.dimension[target]
                assert (a.axis, a.level, a.sizes) == (b.axis, b.level, b.sizes)
                assert source in backbone.instruction[result.instruction].dimensions and target in each.dimensions
        seen.append(each.name)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_written_in_about_a_dozen_lines(name):
    lines = inspect.getsource(KERNELS[name]).splitlines()
    body = lines[next(i for i, line in enumerate(lines) if line.rstrip().endswith('"""')) :]
    assert len([line for line in body if line.strip()]) <= 14


def test_reductions_are_pinned_with_their_start_and_run_along_the_missing_axes():
    backbone = kernel("matmul", m=64, n=64, k=32).backbone
    mad = backbone.instruction["mad"]
    assert mad.pinned and backbone.instruction["init"].pinned and not backbone.instruction["load_a"].pinned
    assert mad.reduced == ("k.0", "k.1")
    assert isinstance(mad.operands[2], Reduction)
    assert not backbone.dimension["k.1"].parallel and backbone.dimension["load_a.k.1"].parallel


def test_temporaries_stage_loads_with_a_nest_on_either_side():
    backbone = kernel("matmul", m=64, n=64, k=32).backbone
    staged = {each.region.name: each for each in backbone.temporaries}
    assert list(staged) == ["tmp_a", "tmp_b"]
    temporary = staged["tmp_a"]
    assert temporary.source == "load_a" and temporary.user == "mad"
    assert temporary.store.dimensions[:2] == ("m.0", "k.0")
    assert len(temporary.pairs) == 3 and len(temporary.dimensions) == 6
    operand = backbone.instruction["mad"].operands[temporary.operand]
    assert isinstance(operand, Result) and operand.storable


def test_column_major_transposed_and_strided_operands():
    def strides(**options):
        return {r.name: r.strides for r in kernel("matmul", m=6, n=5, k=4, **options).backbone.regions}

    assert strides() == {"A": (1, 6), "B": (1, 4), "C": (1, 6)}
    assert strides(transpose_a=True, transpose_b=True) == {"A": (4, 1), "B": (5, 1), "C": (1, 6)}
    assert strides(stride_a=32)["A"] == (32, 192)


def test_the_fused_epilogue_is_a_nest_of_its_own():
    backbone = kernel("matmul", m=8, n=8, k=8, epilogue="relu").backbone
    assert [each.name for each in backbone.instructions] == ["load_a", "load_b", "init", "mad", "epilogue", "store_c"]


def test_meanings_are_those_of_numpy():
    a, b = np.arange(6.0).reshape(2, 3) - 3, np.arange(12.0).reshape(3, 4) - 5
    found = kernel("matmul", m=2, n=4, k=3, epilogue="relu").meaning({"A": a, "B": b})
    assert np.array_equal(found["C"], np.maximum(a @ b, 0))


def test_errors_say_what_to_do():
    with pytest.raises(ScheduleError, match="known: axpy, mv"):
        kernel("conv")
    with pytest.raises(ScheduleError, match="unexpected keyword argument 'q'"):
        kernel("axpy", n=4, q=3)
    with pytest.raises(ShapeError, match="size n = 0 of axpy"):
        kernel("axpy", n=0)
    with pytest.raises(ScheduleError, match="epilogue 'tanh'"):
        kernel("matmul", m=4, n=4, k=4, epilogue="tanh")


@pytest.mark.parametrize("size", [*range(1, 40), 127, 131, 1000, 1024])
@pytest.mark.parametrize("maxima", [(), (32,), (32, 4)])
def test_every_size_has_tilings(size, maxima):
    for tails in (None, True):
        tiles, ragged = tile_sizes(size, maxima, tails)
        axis = kernels.Axis("n", size, tiles, ragged)
        products = tilings(axis)
        assert products and all(product <= size for product in products)
        assert ragged or all(size % product == 0 for product in products)


def test_tile_sizes_are_those_of_the_paper():
    assert tile_sizes(2**26, (1024, 4)) == (((2, 4, 8, 16, 32, 64, 128, 256, 512, 1024), (2, 4)), False)
    assert tile_sizes(1024, (32, 4)) == (((2, 4, 8, 16, 32), (2, 4)), False)
    assert tile_sizes(113, (32, 4)) == (((2, 4, 8, 16, 32), (2, 4)), True)
