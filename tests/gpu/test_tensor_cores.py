"""einsum on tensor cores: what is taken by itself, what is computed, and what is left to ordinary kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.expression.on_gpu.expression import GpuExpression
from einloom.ir.gpu.simt import run_launch
from einloom.ir.gpu.text import read_launch, write_launch
from einloom.jit.gpu.cuda import compile_cuda
from einloom.search.on_gpu.work import OperationWork
from einloom.space.device import H200
from einloom.space.on_cpu.given import operation_of_equation
from einloom.space.on_gpu.experts import spaces_of
from einloom.space.on_gpu.operations import fragment_kernel
from einloom.targets.gpu.device import device_of
from tests.gpu.test_device_arrays import Recording
from tests.gpu.test_texts import skip_without_nvrtc

CASES: dict[str, tuple[str, list[tuple[int, ...]], str, dict[str, Any]]] = {
    "axes in one, batches": ("abci,cdi->abdi", [(2, 8, 16, 2), (16, 24, 2)], "float16", {}),
    "two summed axes": ("aebf,dfce->abcd", [(16, 4, 3, 16), (8, 16, 2, 4)], "bfloat16", {}),
    "the second input's rows": ("km,kn->mn", [(32, 8), (32, 16)], "float16", {}),
    "bias and activation": (
        "ij,jk->ik", [(16, 32), (32, 8), (8,)], "float16", {"epilogue": (("add", "k"), "relu"), "alpha": 2}
    ),
}  # fmt: skip


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Recording:
    driver = Recording("sm_80")
    monkeypatch.setattr("einloom.expression.on_gpu.expression.open_gpu", lambda kind: driver)
    return driver


def compiled(equation: str, *shapes: tuple[int, ...], dtype: str, **options: Any) -> GpuExpression:
    found = el.compile(equation, *shapes, dtype=dtype, target="cuda", **options)
    assert isinstance(found, GpuExpression)
    return found


@pytest.mark.parametrize("name", CASES)
def test_contractions_of_half_floats_take_tensor_cores(name: str, device: Recording):
    equation, shapes, dtype, options = CASES[name]
    found = compiled(equation, *shapes, dtype=dtype, **options)
    (step,) = found._program.steps
    assert "mma.sync" in found.show() and read_launch(write_launch(step.launch)) == step.launch
    work = OperationWork(found._program.plan.steps[0].operation)
    memory = {name: array.copy() for name, array in work.given.items()}
    run_launch(step.launch, memory)
    outputs = {name: memory[name] for name in work.outputs}
    expected = work.expected(outputs)
    assert expected is not None and all(np.array_equal(outputs[name], each) for name, each in expected.items())
    assert step.leaf.launch() == step.launch and step.leaf.bound().seconds > 0


def test_their_text_compiles_without_spills(device: Recording):
    skip_without_nvrtc()
    equation, shapes, dtype, options = CASES["the second input's rows"]
    (step,) = compiled(equation, *shapes, dtype=dtype, **options)._program.steps
    for architecture in ("sm_80", "sm_90", "sm_100"):
        found = compile_cuda(step.text, architecture).kernels[step.launch.name]
        assert (found.spilled_bytes, found.shared_bytes) == (0, step.launch.shared_bytes)


def test_the_rest_does_not():
    """Factors of float32 would be rounded, extents have to be multiples, and older devices have no such product."""
    product = "mk,kn->mn", [(16, 16), (16, 8)]
    half = operation_of_equation(*product, "float16")
    assert fragment_kernel(half) is not None
    for equation, shapes, dtype in (
        (*product, "float32"),
        ("mk,kn->mn", [(17, 16), (16, 8)], "float16"),
        ("mk,kn->mn", [(16, 15), (15, 8)], "bfloat16"),
        ("mk->m", [(16, 16)], "float16"),
    ):
        assert fragment_kernel(operation_of_equation(equation, shapes, dtype)) is None
    for architecture, spaces in {"sm_75": 1, "sm_80": 2, "sm_100": 2, "processor": 1, "": 1}.items():
        device = device_of(Recording(architecture).limits, [half.output.dtype])
        assert len(spaces_of(half, device)) == spaces


def test_fragments_have_no_tails():
    with pytest.raises(el.ScheduleError, match="Products of fragments have no tails"):
        el.space.gpu("matmul", m=48, n=24, k=16, dtype="float16", mma="m16n8k16", tails=True)
    space = el.space.gpu("matmul", device=H200, m=48, n=24, k=16, dtype="float16", mma="m16n8k16")
    assert space.random_leaf(0).launch().threads % 32 == 0
