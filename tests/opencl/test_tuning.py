"""Tuning on OpenCL: candidates in a process apart, their records, and who reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import einloom as el
from einloom.errors import DeviceError
from einloom.expression.on_gpu.expression import GpuExpression
from einloom.ir.gpu.text import write_launch
from einloom.jit.gpu.devices import open_gpu
from einloom.search.on_gpu.records import gpu_key
from einloom.search.on_gpu.result import TunedKernel
from einloom.search.on_gpu.tune import KernelMeasurement
from einloom.search.records import Record, Records
from einloom.space.candidate import Candidate
from einloom.space.kernels import kernel
from einloom.space.on_gpu.experts import naive_leaf
from einloom.tuning import kernel_problem

try:
    DEVICE = open_gpu("opencl")
except DeviceError as error:
    pytest.skip(f"no OpenCL device: {error}", allow_module_level=True)

SHAPES = (16, 8), (8, 12)
A, B = (np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for shape in SHAPES)


def expression() -> GpuExpression:
    return el.compile("ij,jk->ik", *SHAPES, dtype="float32", target="opencl")


def leaf_of(found: GpuExpression) -> Candidate:
    return found._program.steps[0].leaf


def test_what_tuning_finds_is_used(tmp_path: Path):
    file = tmp_path / "records.jsonl"
    tuned = el.tune("xy,yz->xz", *SHAPES, dtype="float32", target="opencl", budget=2, records=file)
    assert isinstance(tuned, TunedKernel)
    assert [trial.outcome.status for trial in tuned.history] == ["ok", "ok"]
    assert tuned.best.time <= tuned.heuristic.time and "(expert)" in tuned.table()
    assert len([line for line in Records(file).all() if line.confirmed]) == 1
    with el.settings(records=file):
        found = expression()
        assert leaf_of(found) == tuned.best.leaf
        np.testing.assert_array_equal(found(A, B), A @ B)


def test_a_record_beats_the_expert_and_a_broken_one_does_not(tmp_path: Path):
    usual = leaf_of(expression())
    space, file = usual.space, tmp_path / "records.jsonl"
    other = next(leaf for seed in range(9) if (leaf := space.random_leaf(seed)) != usual)
    key = gpu_key(space.name, DEVICE.identity)
    record = Record(key, space.name, "here", "opencl", 1, "", confirmed=True, decisions=other.assignment)
    Records(file).append([record])
    with el.settings(records=file):
        found = expression()
        assert leaf_of(found) == other
        np.testing.assert_array_equal(found(A, B), A @ B)
    broken = tmp_path / "broken.jsonl"
    Records(broken).append([Record(key, "", "here", "opencl", 1, "", confirmed=True, decisions={"size(x.1)": 3})])
    with el.settings(records=broken):
        assert leaf_of(expression()) == usual


def test_candidates_that_fail_take_nothing_along():
    made = kernel("matmul", m=8, n=8, k=8)
    problem = kernel_problem(made, DEVICE)
    first = naive_leaf(made, problem.space.device)
    with KernelMeasurement(problem, first, seconds=0.001) as measurement:
        right = measurement.text(first.inner.state()) if first.space == problem.space else None
        text = right or KernelMeasurement(problem, problem.space.random_leaf(1)).prepared()["launch"]
        assert measurement.time(text).status == "ok"
        assert measurement.time(text.replace("mad(", "add(")).status in ("wrong", "crash", "refused")
        assert measurement.time("no launch").status == "refused"
        measurement.timeout = 0.0
        another = write_launch(problem.space.random_leaf(2).launch())  # To be compiled: its answer cannot be there yet.
        assert measurement.time(another, best=1e-9).status == "timeout"
        measurement.timeout = 60.0
        assert measurement.time(text).status == "ok"  # in a new process
