"""`einloom bench elementwise`: element-wise kernels and reductions on data in L1, beside what loads and stores cost.

Every kernel is repeated inside one call. The bound is a generated loop that makes the same whole-vector loads and
stores on the same memory and computes nothing: what a kernel needs beyond it is arithmetic, shuffles and edges.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from einloom.asm import Assembler, Label
from einloom.errors import ScheduleError
from einloom.frozen import frozen
from einloom.ir import meanings
from einloom.jit.host import host
from einloom.jit.kernel import Kernel
from einloom.kernels.repeat import emit_repeated
from einloom.kernels.select import AnyMachine, machine_for
from einloom.kernels.specs import Binary, Reduce, Spec, Ternary, Unary, signature
from einloom.machine import Machine

__all__ = ["ElementWiseCase", "ElementWiseResult", "emit_transfers", "load_cases", "measure_case"]

ROWS, COLUMNS = 64, 32
"""Extents: four operands of float32 fit 32 KiB."""

UNROLLED = 8
REPEATS = 2000


@frozen
class ElementWiseCase:
    """A kernel to measure: its name, what it computes, and how many matrices it reads and writes in whole."""

    name: str
    spec: Spec
    reads: int
    writes: int


@frozen
class ElementWiseResult:
    """What was measured: seconds of one repetition of the kernel and of the bound, bytes that both move, code size."""

    name: str
    seconds: float
    bound_seconds: float
    bytes: int
    code_bytes: int

    def to_json(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        return asdict(self)


def load_cases(substring: str = "") -> list[ElementWiseCase]:
    """Return the cases whose names contain `substring`.

    Raises:
        ScheduleError: there is none.
    """
    cases = [case for case in _cases() if substring in case.name]
    if not cases:
        names = ", ".join(dict.fromkeys(case.name.split()[0] for case in _cases()))
        raise ScheduleError(f"no case of elementwise contains {substring!r}\n  Names begin with {names}.")
    return cases


def _cases() -> Iterator[ElementWiseCase]:
    m, n = ROWS, COLUMNS
    for dtype in ("float32", "float64"):
        for op in meanings.UNARY:
            for layout, b in (("col", (1, None)), ("row", (None, 1))):
                spec = Unary(op, dtype, m, n, a=(0, 0) if op == "zero" else (1, None), b=b)  # type: ignore[arg-type]
                yield ElementWiseCase(f"{op} {dtype} {layout}", spec, int(op != "zero"), 1)
        for op in meanings.BINARY:
            spec = Binary(op, dtype, m, n)  # type: ignore[arg-type]
            yield ElementWiseCase(f"{op} {dtype}", spec, 3 if op == "muladd" else 2, 1)
        for op in meanings.TERNARY:
            yield ElementWiseCase(f"{op} {dtype} ternary", Ternary(op, dtype, m, n), 3, 1)  # type: ignore[arg-type]
        for op in meanings.REDUCE:
            for axis in ("m", "n"):
                yield ElementWiseCase(f"{op} {dtype} along {axis}", Reduce(op, dtype, m, n, axis), 1, 0)  # type: ignore[arg-type]


def measure_case(case: ElementWiseCase, seconds: float) -> ElementWiseResult:
    """Measure a case: the best of interleaved turns, of kernel and bound, for so many seconds and three at least."""
    machine, dtype = host(), case.spec.dtype
    block, arrays = _operands(case)
    kernel, kernel_code = _compiled(case, machine, bound=False)
    bound, _ = _compiled(case, machine, bound=True)
    least, spent, turns = [float("inf")] * 2, 0.0, 0
    while turns < 3 or spent < seconds:
        for index, run in enumerate((kernel, bound)):
            begin = time.perf_counter()
            run(block.ctypes.data, REPEATS)
            passed = time.perf_counter() - begin
            least[index], spent = min(least[index], passed), spent + passed
        turns += 1
    del arrays
    moved = (case.reads + case.writes) * ROWS * COLUMNS * dtype.size
    return ElementWiseResult(case.name, least[0] / REPEATS, least[1] / REPEATS, moved, kernel_code)


def _operands(case: ElementWiseCase) -> tuple[Any, Any]:
    """Return the arguments' block and the memory: matrices whose columns do not meet in the lowest 12 address bits."""
    size = ROWS * COLUMNS * case.spec.dtype.size
    memory = np.zeros(4 * (size + 8192) // 8)
    first = memory.ctypes.data + -memory.ctypes.data % 4096
    step = -(-size // 4096) * 4096 + 1088
    values = {name: first + index * step for index, name in enumerate("abcd")}
    generator = np.random.default_rng(1)
    for address in values.values():
        begin = (address - memory.ctypes.data) // 8
        view = memory[begin : begin + size // 8].view(case.spec.dtype.name)
        view[:] = generator.normal(size=view.size)
    spec = case.spec
    for name in "abcd":
        row_major = isinstance(spec, Unary) and name == "b" and spec.b[0] is None
        values[f"ld_{name}"] = COLUMNS if row_major else ROWS
    return np.array([values[name] for name in signature(spec)], np.int64), memory


def _compiled(case: ElementWiseCase, machine: Machine, bound: bool) -> tuple[Any, int]:
    """Return a function of (block of arguments, repetitions), and the size of its code."""
    asm = Assembler(machine.isa)
    km = machine_for(asm, machine)
    entry = emit_transfers(km, case) if bound else emit_repeated(km, case.spec)
    kernel = Kernel(asm, name=case.name)
    return kernel.function(None, int, int, at=entry), len(kernel.code)


def emit_transfers(km: AnyMachine, case: ElementWiseCase) -> Label:
    """Emit the loads and stores of a case over contiguous memory; return a C function (block, repetitions)."""
    vec = km.vectors(case.spec.dtype)
    step = vec.lanes * case.spec.dtype.size
    trips, rest = divmod(ROWS * COLUMNS, vec.lanes * UNROLLED)
    assert rest == 0
    entry = km.asm.label("transfers")
    block, repetitions = km.arguments[:2]
    count = len([name for name in signature(case.spec) if len(name) == 1])
    pointers = km.arguments[2 : 2 + count]
    with km.loop(repetitions, km.scratch[1]):
        for index, pointer in enumerate(pointers):
            km.load(pointer, block, 8 * index)
        with km.loop(trips, km.scratch[0]):
            for vector in range(UNROLLED):
                for number, pointer in enumerate(pointers[: case.reads]):
                    vec.load(vec.registers[number], km.place(pointer, vector * step))
                if case.writes:
                    vec.store(km.place(pointers[-1], vector * step), vec.registers[0])
            for pointer in pointers:
                km.add_constant(pointer, UNROLLED * step)
    vec.finish()
    km.return_()
    return entry
