"""einloom itself as a contestant, and the speeds of a plain copy and of reading, which its process measures."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from einloom.api import compile
from einloom.asm import Assembler, Label
from einloom.bench.cases import Case, Kind
from einloom.bench.data import Array, aligned_copy
from einloom.bench.peers.contestants import Prepared, kernel_repeats
from einloom.dtypes import data_type
from einloom.errors import UnsupportedTarget
from einloom.jit.host import host
from einloom.jit.kernel import Kernel
from einloom.kernels.repeat import emit_repeated
from einloom.kernels.select import AnyMachine, machine_for
from einloom.kernels.specs import Brgemm
from einloom.tensor_operation import TensorOperation

__all__ = ["copy_seconds", "prepare", "read_seconds"]

UNROLLED = 8
"""Vectors that a step of the reading loop loads: two cache lines at least, each into a register of its own."""


def prepare(case: Case, operands: list[Array], output: Array, threads: int, target: str) -> Prepared:
    """Compile a case; `compile_seconds` is cold if nothing was compiled in this process before."""
    if case.kind is Kind.EXPRESSION:
        return _expression(case, operands, output, threads, target)
    if target != "cpu":
        raise UnsupportedTarget(f"no {case.kind} on target {target!r}\n  Only expressions run there.")
    return _kernel(case, operands, output) if case.kind is Kind.KERNEL else _operation(case, operands, output, threads)


def _expression(case: Case, operands: list[Array], output: Array, threads: int, target: str) -> Prepared:
    begin = time.perf_counter()
    shapes, path = case.shapes[:-1], case.optimize
    expression = compile(case.equation, *shapes, dtype=case.dtype, optimize=path, threads=threads, target=target)
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
    """The kernel with known leading dimensions, repeated by generated code."""
    m, n, k = (case.sizes[x] for x in "mnk")
    spec, machine = Brgemm(data_type(case.dtype), m, n, k, a=(1, 0, m, 0), b=(0, k, 1, 0), c=(1, m)), host()
    begin = time.perf_counter()
    asm = Assembler(machine.isa)
    entry = emit_repeated(machine_for(asm, machine), spec)
    kernel = Kernel(asm, name="repeated kernel")
    run = kernel.function(None, int, int, at=entry)
    ready = time.perf_counter() - begin
    repeats, scratch = kernel_repeats(case.flops), aligned_copy(output)
    blocks = [np.array([x.ctypes.data for x in (*operands, c)], np.int64) for c in (output, scratch)]
    once, repeated = (block.ctypes.data for block in blocks)

    def single() -> Array:
        run(once, 1)
        return output

    kept = (blocks, operands, scratch, kernel)  # alive as long as the call that has their addresses
    return Prepared(single, lambda: (run(repeated, repeats), kept), repeats, ready)


def copy_seconds(source: Array, destination: Array, threads: int, seconds: float) -> float:
    """Return the least time that a plain copy of a contiguous array takes, shared among threads."""
    halves = (np.array_split(array.reshape(-1), threads) for array in (destination, source))
    return _least_seconds(lambda part: np.copyto(*part), list(zip(*halves)), seconds)


def read_seconds(source: Array, threads: int, seconds: float) -> float:
    """Return the least time that generated loads of a contiguous array take, shared among threads.

    Infinity for an array that gives no thread a single step of the loop.
    """
    machine = host()
    asm = Assembler(machine.isa)
    entry, step = emit_reads(machine_for(asm, machine))
    kernel = Kernel(asm, name="reads")
    run = kernel.function(None, int, int, at=entry)
    parts = np.array_split(source.reshape(-1), threads)
    blocks = [(part.ctypes.data, part.nbytes // step) for part in parts]
    if any(steps == 0 for _, steps in blocks):
        return float("inf")
    return _least_seconds(lambda block: run(*block), blocks, seconds)


def emit_reads(km: AnyMachine) -> tuple[Label, int]:
    """Emit a C function (address, steps) that loads whole vectors; return it and the bytes of a step."""
    vec = km.vectors(data_type("float32"))
    address, steps = km.arguments[:2]
    size = km.machine.vector_bits // 8
    entry = km.asm.label("reads")
    with km.loop(steps, km.scratch[0]):
        for number in range(UNROLLED):
            vec.load(vec.registers[number], km.place(address, number * size))
        km.add_constant(address, UNROLLED * size)
    vec.finish()
    km.return_()
    return entry, UNROLLED * size


def _least_seconds(work: Callable[[Any], object], parts: Sequence[Any], seconds: float) -> float:
    """Return the least time of all parts, each on a thread of its own."""
    least, spent = float("inf"), 0.0
    with ThreadPoolExecutor(len(parts)) as pool:
        while spent < seconds or least == float("inf"):
            begin = time.perf_counter()
            if len(parts) > 1:
                list(pool.map(work, parts))
            else:
                work(parts[0])
            passed = time.perf_counter() - begin
            least, spent = min(least, passed), spent + passed
    return least
