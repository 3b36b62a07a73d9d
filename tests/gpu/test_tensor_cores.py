"""einsum on tensor cores: what is taken by itself, what is computed, and what is left to ordinary kernels."""

from __future__ import annotations

import re
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
from einloom.space.on_gpu.experts import best_expert, spaces_of
from einloom.space.on_gpu.operations import fragment_kernel
from einloom.targets.gpu.cuda import CUDA
from einloom.targets.gpu.device import device_of
from einloom.targets.gpu.printer import print_launch
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


@pytest.mark.parametrize(
    ("equation", "shapes", "aligned", "expected"),
    [
        ("mk,nk->mn", [(64, 32), (32, 32)], True, {"in0": {2}, "in1": {2}, "out": {2}}),
        ("km,kn->mn", [(32, 64), (32, 32)], True, {"in0": {1}, "in1": {1}, "out": {2}}),
        ("mk,nk->mn", [(64, 32), (32, 32)], False, {"in0": {1}, "in1": {1}, "out": {1}}),
    ],
)
def test_pairs_are_one_word(
    equation: str, shapes: list[tuple[int, ...]], aligned: bool, expected: dict[str, set[int]], device: Recording
):
    """Factors that are contiguous along the sum, and results along the columns, where arrays begin at such pairs."""
    operation = operation_of_equation(equation, shapes, "float16")
    with_fragments, _ = spaces_of(operation, device_of(device.limits, [operation.output.dtype], aligned))
    assert moved(print_launch(best_expert([with_fragments]).launch(), CUDA)) == expected


def moved(text: str) -> dict[str, set[int]]:
    """How many elements the loads and stores of each array move at a time."""
    found: dict[str, set[int]] = {}
    for vector, name in re.findall(r"__(?:ld|st)\w+\((?:\(ushort(\d) \*\)\()?(in0|in1|out) ", text):
        found.setdefault(name, set()).add(int(vector or 1))
    return found


def test_tensor_cores_are_ranked_beside_ordinary_kernels():
    """By the registers of a thread, not of a warp that holds fragments: no leaf of a large product spills."""
    half = operation_of_equation("mk,kn->mn", [(1024, 1024), (1024, 1024)], "float16")
    device = device_of(Recording("sm_90").limits, [half.output.dtype])
    assert best_expert(spaces_of(half, device)).space.kernel.grain is not None


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
