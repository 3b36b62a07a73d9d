"""einloom itself as a contestant, and what only it measures: the machine's peak, and the speed of a plain copy."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from einloom.api import compile
from einloom.bench.cases import Case
from einloom.bench.contestants import Prepared, kernel_repeats
from einloom.bench.data import Array, aligned_copy
from einloom.errors import UnsupportedTarget
from einloom.ir.configuration import TensorOperationConfig
from einloom.tensor_operation import TensorOperation

__all__ = ["copy_seconds", "prepare"]


def prepare(case: Case, operands: list[Array], output: Array, threads: int, target: str) -> Prepared:
    """Compile a case; `compile_seconds` is cold if nothing was compiled in this process before."""
    if case.kind == "expression":
        return _expression(case, operands, output, threads, target)
    if target != "cpu":
        raise UnsupportedTarget(f"no {case.kind} on target {target!r}\n  Only expressions run there.")
    return _kernel(case, operands, output) if case.kind == "kernel" else _operation(case, operands, output, threads)


def _expression(case: Case, operands: list[Array], output: Array, threads: int, target: str) -> Prepared:
    begin = time.perf_counter()
    expression = compile(case.equation, *case.shapes[:-1], dtype=case.dtype, threads=threads, target=target)
    ready = time.perf_counter() - begin
    return Prepared(lambda: expression(*operands, out=output), lambda: expression(*operands, out=output), 1, ready)


def _operation(case: Case, operands: list[Array], output: Array, threads: int) -> Prepared:
    config = case.configuration
    assert config is not None  # the case is a tensor operation
    if threads > 1 and config.exec_types[0] == "seq":
        config = replace(config, exec_types=("shared", *config.exec_types[1:]))
    begin = time.perf_counter()
    operation = TensorOperation(config, threads)
    ready = time.perf_counter() - begin
    first, second = operands
    run = operation.execute
    return Prepared(lambda: run(first, second, output), lambda: run(first, second, output), 1, ready)


def _kernel(case: Case, operands: list[Array], output: Array) -> Prepared:
    """A loop around the kernel whose strides are all 0, in machine code as everything else."""
    (a, b), repeats = operands, kernel_repeats(case.flops)
    begin = time.perf_counter()
    single = TensorOperation(_repeated(case, 1), 1)
    ready = time.perf_counter() - begin
    repeated, scratch = TensorOperation(_repeated(case, repeats), 1), aligned_copy(output)
    return Prepared(lambda: single.execute(a, b, output), lambda: repeated.execute(a, b, scratch), repeats, ready)


def _repeated(case: Case, times: int) -> TensorOperationConfig:
    m, n, k = (case.sizes[x] for x in "mnk")
    return TensorOperationConfig(
        dtype=case.dtype,
        prim_main="gemm",
        dim_types=("k", "m", "n", "k"),
        exec_types=("seq", "prim", "prim", "prim"),
        dim_sizes=(times, m, n, k),
        strides_in0=(0, 1, 0, m),
        strides_in1=(0, 0, k, 1),
        strides_out=(0, 1, m, 0),
    )


def copy_seconds(source: Array, destination: Array, threads: int, seconds: float) -> float:
    """Return the least time that a plain copy of a contiguous array takes, shared among threads."""
    halves = (np.array_split(array.reshape(-1), threads) for array in (destination, source))
    parts, least, spent = list(zip(*halves)), float("inf"), 0.0
    with ThreadPoolExecutor(threads) as pool:
        while spent < seconds or least == float("inf"):
            begin = time.perf_counter()
            if threads > 1:
                list(pool.map(lambda part: np.copyto(*part), parts))
            else:
                np.copyto(*parts[0])
            passed = time.perf_counter() - begin
            least, spent = min(least, passed), spent + passed
    return least
