"""Configurations: the lists of the founding document, what they refuse, and their text forms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.ir.operation import Primitive
from einloom.ir.text import parse_schedule
from tests.ids import words_of

SEED = el.TensorOperationConfig(
    dtype="float32",
    prim_first_touch="zero",
    prim_main="brgemm",
    prim_last_touch="relu",
    dim_types=("m", "n", "k", "m", "n", "k"),
    exec_types=("shared", "seq", "prim", "prim", "prim", "prim"),
    dim_sizes=(32, 32, 8, 32, 32, 32),
    strides_in0=(8192, 0, 1024, 1, 0, 32),
    strides_in1=(0, 8192, 1024, 0, 32, 1),
    strides_out=(32768, 1024, 0, 1, 32, 0),
)


def test_what_the_lists_say() -> None:
    assert str(SEED.schedule) == "shared m0:1 seq n1:1 prim m=m3 n=n4 k=k5 batch=k2"
    assert SEED.operation.flops == 2 * 32**5 * 8


def test_enumerations_and_strings_are_equal() -> None:
    other = replace(
        SEED,
        prim_main=Primitive.BRGEMM,
        dim_types=tuple(map(el.DimType, SEED.dim_types)),
        exec_types=tuple(map(el.ExecType, SEED.exec_types)),
    )
    assert other == SEED and hash(other) == hash(SEED)


def test_json_round_trip() -> None:
    tiled = el.optimize(replace(SEED, dim_sizes=(31, 33, 8, 32, 32, 37)), thread_target=2)
    for config in (SEED, tiled):
        assert el.TensorOperationConfig.from_json(config.to_json()) == config
    with pytest.raises(el.ScheduleError, match="colour"):
        el.TensorOperationConfig.from_json(SEED.to_json()[:-1] + ', "colour": 1}')


def test_a_packed_output_says_which_axis_of_the_primitive_is_m() -> None:
    """Of n and m4 the output has n nearer together, its copy m4: that is where the primitive writes."""
    config = el.TensorOperationConfig(
        dtype="float32",
        prim_main="brgemm",
        prim_first_touch="zero",
        dim_types=("n", "m", "k", "k", "m"),
        exec_types=("seq",) * 5,
        dim_sizes=(5, 33, 33, 17, 8),
        strides_in0=(0, 264, 8, 8712, 1),
        strides_in1=(561, 0, 1, 33, 0),
        strides_out=(33, 1, 0, 0, 165),
    )
    for text in (
        "seq m1:1 prim m=m4 n=n0 k=k2 batch=k3 pack out@0 n0 m1 m4",
        "seq m1:1 prim m=n0 n=m4 k=k2 batch=k3 pack out@0 m4 m1 n0",
        "seq m1:1 prim m=n0 n=m4 k=k2 batch=k3",
    ):
        schedule = parse_schedule(text)
        assert el.TensorOperationConfig.from_schedule(config.operation, schedule).schedule == schedule
    for packing in (None, True, False):
        el.TensorOperation(el.optimize(config, packing=packing))


def test_tiles_of_one_axis_with_a_short_last_block() -> None:
    config = el.TensorOperationConfig(
        dtype="float32",
        prim_main="gemm",
        dim_types=("m", "m", "n", "k"),
        exec_types=("seq", "prim", "prim", "prim"),
        dim_sizes=(4, 16, 5, 6),
        strides_in0=(16, 1, 0, 50),
        strides_in1=(0, 0, 6, 1),
        strides_out=(16, 1, 50, 0),
        dim_axes=(0, 0, 1, 2),
        axis_sizes=(50, 5, 6),
    )
    assert str(config.schedule) == "seq m0:16 prim m=m0 n=n1 k=k2"
    assert config.operation.axis("m0").extent == 50


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"dim_sizes": (32, 32, 8, 32, 32)}, el.ScheduleError, ["dim_sizes", "5", "6"]),
        ({"strides_in0": (1, 2)}, el.ScheduleError, ["strides_in0", "2"]),
        ({"prim_main": "gemm"}, el.ScheduleError, ["gemm", "one k"]),
        ({"exec_types": ("shared", "seq", "seq", "prim", "prim", "prim")}, el.ScheduleError, ["brgemm", "two k"]),
        ({"prim_main": "conv"}, el.ScheduleError, ["prim_main", "'conv'", "brgemm"]),
        ({"prim_last_touch": "gemm"}, el.ScheduleError, ["last touch", "gemm"]),
        ({"dim_types": ("m", "n", "q", "m", "n", "k")}, el.ScheduleError, ["dim_types", "'q'"]),
        ({"dtype": "longdouble"}, el.DTypeError, ["longdouble", "float32"]),
        ({"dim_sizes": (32, -1, 8, 32, 32, 32)}, el.ScheduleError, ["dimension 1", "-1"]),
        (
            {"prim_main": "gemm", "exec_types": ("seq", "seq", "shared", "prim", "prim", "prim")},
            el.ScheduleError,
            ["shared"],
        ),
        (
            {"prim_main": "gemm", "exec_types": ("prim", "prim", "prim", "seq", "seq", "seq")},
            el.ScheduleError,
            ["dimension 3", "inside the prim"],
        ),
        ({"strides_in0": (8192, 4, 1024, 1, 0, 32)}, el.StrideError, ["n1", "in0", "4"]),
        ({"strides_out": (32768, 0, 0, 1, 32, 0)}, el.StrideError, ["n1", "output"]),
        ({"strides_in1": None}, el.ScheduleError, ["strides_in1"]),
    ],
)
def test_illegal_configurations(change: dict[str, Any], kind: type[Exception], words: list[str]) -> None:
    with pytest.raises(kind) as caught:
        replace(SEED, **change)
    assert all(word in str(caught.value) for word in words), caught.value


def test_a_shared_contracted_dimension() -> None:
    config = replace(SEED, prim_main="gemm", exec_types=("seq", "seq", "seq", "prim", "prim", "prim"))
    el.TensorOperation(config)
    shared = replace(
        config,
        dim_types=("k", "m", "n", "m", "n", "k"),
        exec_types=("shared", "seq", "seq", "prim", "prim", "prim"),
        dim_sizes=(8, 32, 32, 32, 32, 32),
        strides_in0=(1024, 8192, 0, 1, 0, 32),
        strides_in1=(1024, 0, 8192, 0, 32, 1),
        strides_out=(0, 32768, 1024, 1, 32, 0),
    )
    with pytest.raises(el.ScheduleError, match=r"k0.*shared"):
        el.TensorOperation(shared)


def test_strides_of_tiles_must_fit() -> None:
    with pytest.raises(el.StrideError, match="dimension 0"):
        el.TensorOperationConfig(
            dtype="float32",
            prim_main="identity",
            dim_types=("c", "c"),
            exec_types=("seq", "prim"),
            dim_sizes=(4, 16),
            strides_in0=(17, 1),
            strides_in1=None,
            strides_out=(16, 1),
            dim_axes=("a", "a"),
        )


def test_integers_of_any_kind_are_python_integers() -> None:
    """NumPy's integers as sizes and strides gave wrong results."""
    lists = ("dim_sizes", "strides_in0", "strides_in1", "strides_out")
    for kind in (np.int64, np.int32, np.uint16):
        config = replace(SEED, **{name: np.array(getattr(SEED, name)).astype(kind) for name in lists})
        assert config == SEED and all(type(value) is int for name in lists for value in getattr(config, name))
        assert el.TensorOperationConfig.from_json(config.to_json()) == SEED


@pytest.mark.parametrize("name", ["dim_sizes", "strides_in0", "strides_in1", "strides_out", "axis_sizes", "dim_axes"])
@pytest.mark.parametrize("value", [4.5, 4.0, np.float64(4), "4", None, [4], 1j])
def test_what_is_no_integer_is_refused(name: str, value: Any) -> None:
    if name == "dim_axes" and value == "4":
        pytest.skip("a name")
    entries = list(getattr(SEED, name) or range(6))
    with pytest.raises(el.ScheduleError, match=name):
        replace(SEED, **{name: [*entries[:5], value]})


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "5", "null", "[" * 100_000, '{"dtype": "float32"}', SEED.to_json().replace("8192", "8192.5")],
    ids=lambda text: text[:12],
)
def test_json_that_is_no_configuration(text: str) -> None:
    with pytest.raises(el.ScheduleError):
        el.TensorOperationConfig.from_json(text)


@pytest.mark.parametrize(
    "packs",
    [5, "in0", [5], [()], [(0, 0)], [(0, 0, "m")], [(0, 0, [("m", 0)])], [(0, 0, [("z", 1)])], [(0.5, 0, [])], [{}]],
    ids=words_of,
)
def test_packs_that_are_none(packs: Any) -> None:
    with pytest.raises(el.ScheduleError):
        el.TensorOperation(replace(SEED, packs=packs))
