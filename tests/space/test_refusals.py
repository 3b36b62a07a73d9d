"""What people get wrong is refused in their words, and sizes at the edges have spaces."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from einloom.errors import EinloomError, ScheduleError, ShapeError
from einloom.space import K4000, dead_end_ratio, estimate, gpu, nodes_at_depth

SPACE = gpu("axpy", n=64)
ROOT = SPACE.root
SAVED = json.loads(ROOT.to_json())


@pytest.mark.parametrize("size", [0, -3, 3.0, "8", None, True])
def test_sizes(size):
    with pytest.raises(ShapeError, match="whole number"):
        gpu("axpy", n=size)


@pytest.mark.parametrize("stride", [0, -1, "x", True])
def test_strides(stride):
    with pytest.raises(ShapeError, match="stride_a"):
        gpu("matmul", m=4, n=4, k=4, stride_a=stride)


@pytest.mark.parametrize("tiles", [(4,), {"n": 4}, {"n": ("a",)}, {"n": (0,)}, {"n": (-4,)}, {"n": (True,)}])
def test_tiles(tiles):
    with pytest.raises(ScheduleError, match="outermost first"):
        gpu("axpy", n=8, tiles=tiles)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("axpi", {"n": 4}, "no kernel called 'axpi'"),
        (["axpy"], {"n": 4}, "no kernel called"),
        ("axpy", {}, "missing"),
        ("axpy", {"n": 4, "q": 4}, "unexpected"),
        ("matmul", {"m": 4, "n": 4, "k": 4, "epilogue": "gelu"}, "epilogue 'gelu'"),
        ("axpy", {"n": 4, "tiles": {"m": (4,)}}, "for 'm', which is no axis"),
        ("axpy", {"n": 4, "name": "x"}, "unexpected"),
        ("axpy", {"n": 4, "device": None}, "no GPU called None"),
        ("axpy", {"n": 4, "device": "k9"}, "no GPU called 'k9'"),
    ],
)
def test_kernels_options_and_devices(name, options, message):
    with pytest.raises(ScheduleError, match=message):
        gpu(name, **options)


@pytest.mark.parametrize("values", [[], None, 4.0, [[4]]])
def test_values_of_a_decision(values):
    for change in (lambda: ROOT.restrict("size(n.1)", values), lambda: ROOT.apply({"size(n.1)": values})):
        with pytest.raises(ScheduleError, match="list of values"):
            change()


@pytest.mark.parametrize(("name", "value"), [("size(n.1)", 3), ("size(n1)", 4), ("order(n.1, n.1)", "OUTER"), ("", 1)])
def test_names_and_values_that_there_are_not(name, value):
    with pytest.raises(EinloomError, match=r"there is no choice|has no value"):
        ROOT.restrict(name, value)


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "{}", json.dumps(SAVED | {"decisions": [1]}), json.dumps(SAVED | {"options": "n"}), json.dumps(1)],
)
def test_texts_that_are_no_candidate(text):
    with pytest.raises(ScheduleError, match="no decisions of a candidate"):
        SPACE.from_json(text)


@pytest.mark.parametrize("count", [0, -1])
def test_numbers_of_samples(count):
    for measure in (
        lambda: estimate(SPACE, "knuth", count),
        lambda: estimate(SPACE, "knuth", 2, processes=count),
        lambda: dead_end_ratio(SPACE, count),
        lambda: nodes_at_depth(SPACE, count),
    ):
        with pytest.raises(ScheduleError, match="at least 1"):
            measure()


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("axpy", {"n": 1}),
        ("axpy", {"n": 104729}),
        ("matmul", {"m": 1, "n": 1, "k": 1}),
        ("matmul", {"m": 127, "n": 131, "k": 113}),
        ("batch_matmul", {"b": 1, "m": 3, "n": 5, "k": 7}),
        ("axpy", {"n": 2**61 - 1}),
        ("axpy", {"n": 2**100}),
        ("matmul", {"m": 10, "n": 9, "k": 7, "tiles": {"m": (4,), "n": (4,), "k": (3,)}}),
    ],
)
def test_sizes_at_the_edges_have_legal_leaves(name, sizes):
    space = gpu(name, **sizes)
    for seed in range(5):
        assert space.random_leaf(seed).violations() == ()


def test_a_grid_holds_no_longer_axis_than_the_device_says():
    narrow = replace(K4000, max_blocks=(16, 4))
    for n, expected in ((2**12, True), (2**18, False)):
        space = gpu("axpy", n=n, tiles={"n": (1024, 4)}, device=narrow)
        assert ("BLOCK" in space.root.domain("dim_kind(n.0)")) == expected
        assert all(space.random_leaf(seed).violations() == () for seed in range(20))
