"""Backbones: what the builder writes for each kernel, and the temporaries it foresees."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest

from einloom.errors import ScheduleError, ShapeError
from einloom.space import kernels
from einloom.space.backbone import Parameter, Reduction, Result
from einloom.space.builder import Builder, NestBuilder, Value
from einloom.space.kernels import KERNELS, kernel
from einloom.space.tilings import tile_sizes, tilings
from einloom.space.wellformed import check_backbone

SIZES = {
    "axpy": {"n": 64},
    "mv": {"m": 64, "n": 32},
    "gesummv": {"m": 64, "n": 32},
    "matmul": {"m": 64, "n": 64, "k": 32},
    "batch_matmul": {"b": 4, "m": 64, "n": 64, "k": 32},
    "doitgen": {"r": 4, "q": 64, "p": 64, "s": 32},
    "chain": {"m": 64, "n": 64, "k": 32, "l": 64},
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
    assert isinstance(mad.inputs[2], Reduction)
    assert not backbone.dimension["k.1"].parallel and backbone.dimension["load_a.k.1"].parallel


def test_temporaries_stage_loads_with_a_nest_on_either_side():
    backbone = kernel("matmul", m=64, n=64, k=32).backbone
    staged = {each.region.name: each for each in backbone.temporaries}
    assert list(staged) == ["tmp_a", "tmp_b"]
    temporary = staged["tmp_a"]
    assert temporary.source == "load_a" and temporary.user == "mad"
    assert temporary.store.dimensions[:2] == ("m.0", "k.0")
    assert len(temporary.pairs) == 3 and len(temporary.dimensions) == 6
    operand = backbone.instruction["mad"].inputs[temporary.position]
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
        axis = kernels.TiledAxis("n", size, tiles, ragged)
        products = tilings(axis)
        assert products and all(product <= size for product in products)
        assert ragged or all(size % product == 0 for product in products)


def test_tile_sizes_are_those_of_the_paper():
    assert tile_sizes(2**26, (1024, 4)) == (((2, 4, 8, 16, 32, 64, 128, 256, 512, 1024), (2, 4)), False)
    assert tile_sizes(1024, (32, 4)) == (((2, 4, 8, 16, 32), (2, 4)), False)
    assert tile_sizes(113, (32, 4)) == (((2, 4, 8, 16, 32), (2, 4)), True)


def test_instructions_of_one_operator_keep_their_own_names():
    b = Builder("norm")
    n = b.axis("n", 4)
    x, main = b.load(b.input("x", n)), b.nest("main", n)
    b.store(b.output("y", n), main.apply("mul", main.apply("mul", x, x), 2.0))
    assert [each.name for each in b.backbone().instructions] == ["load_x", "mul", "mul_2", "store_y"]
    with pytest.raises(ScheduleError, match="two instructions of norm are called 'mul'"):
        main.apply("mul", x, x, name="mul")


def missing_store(b: Builder, main: NestBuilder, x: Value) -> None:
    main.apply("add", x, x)


def unknown_operator(b: Builder, main: NestBuilder, x: Value) -> None:
    b.store(b.output("y", *main.axes), main.apply("gelu", x))


def too_many_values(b: Builder, main: NestBuilder, x: Value) -> None:
    b.store(b.output("y", *main.axes), main.apply("add", x, x, x))


def one_name_twice(b: Builder, main: NestBuilder, x: Value) -> None:
    b.store(b.output("x", *main.axes), x)


def shared_start(b: Builder, main: NestBuilder, x: Value) -> None:
    start = b.nest("init").apply("move", 0.0)
    first = main.reduce("add", x, start=start)
    b.store(b.output("y"), b.nest("scale").apply("mul", first, main.reduce("add", x, start=start)))


def undeclared_parameter(b: Builder, main: NestBuilder, x: Value) -> None:
    b.store(b.output("y", *main.axes), main.apply("mul", x, Parameter("alpha")))


def another_builder(b: Builder, main: NestBuilder, x: Value) -> None:
    other = Builder("other")
    n = other.axis("n", 4)
    main.apply("add", x, other.load(other.input("z", n)))


def another_nest_of_that_name(b: Builder, main: NestBuilder, x: Value) -> None:
    b.nest("main")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (missing_store, "nothing is stored"),
        (unknown_operator, "unknown operator 'gelu'"),
        (too_many_values, "gives add 3 values, which takes 2"),
        (one_name_twice, "2 things are called 'x'"),
        (shared_start, "starts add and is read elsewhere"),
        (undeclared_parameter, "parameter alpha, which is not declared"),
        (another_builder, "load_z belongs to another builder"),
        (another_nest_of_that_name, "has a nest 'main' over other axes"),
    ],
)
def test_a_backbone_that_means_nothing_is_refused(write, message):
    b = Builder("wrong")
    n = b.axis("n", 4, ((2,),))
    x, main = b.load(b.input("x", n)), b.nest("main", n)
    with pytest.raises(ScheduleError, match=message):
        write(b, main, x)
        b.backbone()


def test_values_are_defined_before_they_are_read():
    good = kernel("axpy", n=4).backbone
    with pytest.raises(ScheduleError, match="mad reads load_y, which is not defined before it"):
        check_backbone(replace(good, instructions=(good.instructions[0], *good.instructions[2:])))
