"""Touches with operands of their own: bias, residual, scale, mask; what is refused before anything is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.ir.operation import Primitive, Touch
from einloom.ir.text import parse_operation

M, N, K = 70, 33, 40
RNG = np.random.default_rng(11)


def layer(**changes: Any) -> el.TensorOperationConfig:
    """C[n][m] += sum_k A[k][m] B[n][k] with k in two blocks, so that touches must wait for the last one."""
    config = el.TensorOperationConfig(
        dtype="float32",
        prim_main="gemm",
        prim_first_touch="zero",
        dim_types=("k", "m", "n", "k"),
        exec_types=("seq", "prim", "prim", "prim"),
        dim_sizes=(2, M, N, K // 2),
        strides_in0=(20 * M, 1, 0, M),
        strides_in1=(20, 0, K, 1),
        strides_out=(0, 1, M, 0),
        dim_axes=("k", "m", "n", "k"),
    )
    return replace(config, **changes)


def run(config: el.TensorOperationConfig, **extras: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Execute on whole numbers, as given and optimised; return (product, result), both [n][m]."""
    a, b = (RNG.integers(-3, 4, size).astype(config.dtype) for size in ((K, M), (N, K)))
    results = []
    for each in (config, el.optimize(config), el.optimize(config, thread_target=2)):
        out = np.full((N, M), np.nan, config.dtype)
        el.TensorOperation(each, threads=2).execute(a, b, out, **extras)
        results.append(out)
    assert np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])
    return b @ a, results[0]


SHAPES = {"row": (1, M), "column": (N, 1), "scalar": (1, 1), "full": (N, M)}
STRIDES = {"row": (0, 1, 0, 0), "column": (0, 0, 1, 0), "scalar": (0, 0, 0, 0), "full": (0, 1, M, 0)}


BIAS = ("bias", "first", "float32", STRIDES["row"])
REST = ("rest", "last", "float32", STRIDES["full"])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("word", ["copy", "identity", "negate"])
def test_a_bias_comes_first(shape: str, word: str) -> None:
    bias = RNG.integers(-9, 9, SHAPES[shape]).astype(np.float32)
    config = layer(prim_first_touch=word, extras=[("bias", "first", "float32", STRIDES[shape])])
    product, result = run(config, bias=bias)
    assert np.array_equal(result, product + (-bias if word == "negate" else bias))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_chain_of_last_touches(shape: str, dtype: str) -> None:
    scale, residual = RNG.integers(-2, 3, SHAPES[shape]).astype(dtype), RNG.integers(-9, 9, (N, M)).astype(dtype)
    extras = [("scale", "last", dtype, STRIDES[shape]), ("residual", "last", dtype, STRIDES["full"])]
    config = layer(dtype=dtype, prim_last_touch=("mul", "add", "relu"), extras=extras)
    product, result = run(config, scale=scale, residual=residual)
    assert np.array_equal(result, np.maximum(product * scale + residual, 0))


def test_bias_and_gelu() -> None:
    bias = RNG.integers(-2, 3, (N, 1)).astype(np.float32)
    extras = [("bias", "first", "float32", STRIDES["column"])]
    config = layer(prim_first_touch="copy", prim_last_touch="gelu", extras=extras)
    product, result = run(config, bias=bias)
    from einloom.ir.meanings import UNARY

    assert np.allclose(result, UNARY["gelu"]((product + bias).astype(float)), rtol=1e-5, atol=1e-5)


def test_relu_leaves_its_mask() -> None:
    mask = np.full((M, N), np.nan, np.float32)  # Transposed against the output.
    config = layer(prim_last_touch="relu", extras=[("active", "mask", "float32", (0, N, 1, 0))])
    product, result = run(config, active=mask)
    assert np.array_equal(mask.T, product > 0)
    assert np.array_equal(result, np.maximum(product, 0))


def test_touches_run_once_where_nothing_is_summed() -> None:
    words = {"prim_first_touch": "copy", "prim_last_touch": ("add", "relu")}
    config = layer(dim_sizes=(0, M, N, 20), extras=[BIAS, REST], **words)
    bias, rest = (RNG.integers(-9, 9, (n, M)).astype(np.float32) for n in (1, N))
    out = np.full((N, M), np.nan, np.float32)
    nothing = np.empty(0, np.float32)
    el.TensorOperation(config).execute(nothing, nothing, out, bias=bias, rest=rest)
    assert np.array_equal(out, np.maximum(bias + rest, 0))


def test_json_and_texts() -> None:
    extras = [
        ("bias", "first", "float32", STRIDES["row"]),
        {"name": "rest", "role": "last", "dtype": "float32", "strides": STRIDES["full"]},
        ("active", "mask", "float32", STRIDES["full"]),
    ]
    config = layer(prim_first_touch="copy", prim_last_touch=["add", "relu"], extras=extras)
    assert el.TensorOperationConfig.from_json(config.to_json()) == config
    text = str(config.operation)
    assert text.splitlines()[0] == "gemm first=identity:bias last=add:rest,relu,sign>active"
    assert parse_operation(text) == config.operation
    assert el.TensorOperationConfig.from_schedule(config.operation, config.schedule).operation == config.operation
    assert config.operation.last_touches[-1] == Touch(Primitive.SIGN, 4, writes=True)


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"extras": [BIAS]}, el.ScheduleError, ["zero", "bias"]),
        ({"extras": [BIAS, ("b", *BIAS[1:])], "prim_first_touch": "copy"}, el.ScheduleError, ["2 extras", "first"]),
        ({"prim_first_touch": "add"}, el.ScheduleError, ["prim_first_touch add", "there is none"]),
        ({"extras": [REST]}, el.ScheduleError, ["none", "1 have the role last"]),
        ({"prim_last_touch": ("add", "add"), "extras": [REST]}, el.ScheduleError, ["add add", "2 extras"]),
        ({"extras": [("active", "mask", *REST[2:])]}, el.ScheduleError, ["mask", "relu"]),
        ({"extras": [("bias", "middle", *BIAS[2:])]}, el.ScheduleError, ["middle", "first"]),
        ({"extras": [("out", *BIAS[1:])]}, el.ScheduleError, ["'out'"]),
        ({"extras": [("my bias", *BIAS[1:])]}, el.ScheduleError, ["'my bias'"]),
        ({"extras": [("bias", "first")]}, el.ScheduleError, ["bias", "strides"]),
        ({"extras": [(*BIAS[:3], (0, 1))]}, el.ScheduleError, ["2 strides", "4"]),
        ({"extras": [("bias", "first", "float16", BIAS[3])]}, el.DTypeError, ["float16", "float32"]),
        (
            {"extras": [(*BIAS[:3], (20, 1, 0, 1))], "prim_first_touch": "copy"},
            el.StrideError,
            ["dimension k", "bias"],
        ),
        (
            {"prim_last_touch": "relu", "extras": [("active", "mask", "float32", (0, 1, 0, 0))]},
            el.StrideError,
            ["dimension n", "active"],
        ),
    ],
)
def test_illegal_extras(changes: dict[str, Any], kind: type[Exception], words: list[str]) -> None:
    with pytest.raises(kind) as caught:
        layer(**changes)
    assert all(word in str(caught.value) for word in words), caught.value


def test_wrong_arguments_write_nothing() -> None:
    extras = [BIAS, ("active", "mask", "float32", STRIDES["full"])]
    operation = el.TensorOperation(layer(prim_first_touch="copy", prim_last_touch="relu", extras=extras))
    a, b, bias = np.ones((K, M), np.float32), np.ones((N, K), np.float32), np.ones((1, M), np.float32)
    out, mask = np.full((N, M), 7, np.float32), np.full((N, M), 7, np.float32)
    frozen = mask.copy()
    frozen.flags.writeable = False
    wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"active": mask}, el.DTypeError, "bias is None"),
        ({"bias": bias, "active": mask, "colour": bias}, el.DTypeError, "colour"),
        ({"bias": bias.astype(float), "active": mask}, el.DTypeError, "bias has type float64"),
        ({"bias": bias[:, :-1].copy(), "active": mask}, el.StrideError, "bias"),
        ({"bias": bias, "active": frozen}, el.StrideError, "active is read-only"),
        ({"bias": out[:1], "active": mask}, el.OverlapError, "out shares memory with bias"),
        ({"bias": bias, "active": out}, el.OverlapError, "active shares memory"),
        ({"bias": mask[:1], "active": mask}, el.OverlapError, "active shares memory with bias"),
    ]
    for arguments, kind, message in wrong:
        with pytest.raises(kind, match=message):
            operation.execute(a, b, out, **arguments)
    assert (out == 7).all() and (mask == 7).all()
    operation.execute(a, b, out, bias=bias, active=mask)
    assert (out == K + 1).all() and (mask == 1).all()


def test_the_page_about_fusing_runs() -> None:
    page = Path(__file__, "../../../docs/how-to/fuse-bias-and-activation.md").resolve().read_text()
    code = page.split("```python\n")[1].split("```")[0]
    exec(compile(code, "fuse-bias-and-activation.md", "exec"), {})
