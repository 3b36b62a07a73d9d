"""The code that einloom generates, as hashes, on three vector ISAs.

That is the code of every benchmark case, of a sample of primitives, and of a few contractions of complex numbers.

Code that is only moved or said otherwise keeps every byte. After a change that means to alter code, write them again:

    python -m tests.golden.programs
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from einloom.asm import Assembler
from einloom.bench import elementwise
from einloom.bench.cases import SUITES, Case, Kind, load_suite
from einloom.dtypes import data_type
from einloom.expression import Expression
from einloom.expression.options import Options
from einloom.ir.bind import bind
from einloom.kernels import machine_for
from einloom.kernels.emit import emit_kernel
from einloom.kernels.specs import Brgemm, Spec
from einloom.machine import AVX2, AVX512, NEON, Machine
from einloom.targets.cpu import lower_nest

RECORDED = Path(__file__).with_name("programs.json")
MACHINES = (AVX512, AVX2, NEON)
THREADS = (1, 2)

COMPLEX = (  # A matrix, a tensor whose packs transpose, and gates on a late site, and on the last one.
    ("ac,cb->ab", ((130, 200), (200, 110)), "complex64"),
    ("eafd,fbec->abcd", ((30, 24, 30, 24), (30, 24, 30, 24)), "complex128"),
    ("abcde,XYbd->aXcYe", ((16, 2, 512, 2, 2), (2, 2, 2, 2)), "complex64"),
    ("abcd,XYbd->aXcY", ((16, 2, 512, 2), (2, 2, 2, 2)), "complex64"),
)
"""Equation, shapes and type."""


def digests() -> dict[str, str]:
    """Return the hash of the code of each case, by ISA and name."""
    found: dict[str, str] = {}
    for machine in MACHINES:
        for name, code in _programs(machine):
            found[f"{machine.vector} {name}"] = hashlib.sha256(code).hexdigest()[:16]
    return found


def _programs(machine: Machine) -> Iterator[tuple[str, bytes]]:
    for suite in SUITES:
        for case in load_suite(suite):
            yield f"{suite} {case.name}", _case_code(case, machine)
    for equation, shapes, dtype in COMPLEX:
        yield f"{dtype} {equation}", _expression_code(equation, shapes, dtype, machine)
    for case in elementwise.load_cases():
        yield f"elementwise {case.name}", _kernel_code(case.spec, machine)


def _case_code(case: Case, machine: Machine) -> bytes:
    if case.kind is Kind.KERNEL:
        m, n, k = (case.sizes[x] for x in "mnk")
        spec = Brgemm(data_type(case.dtype), m, n, k, a=(1, 0, m, 0), b=(0, k, 1, 0), c=(1, m))
        return _kernel_code(spec, machine)
    if case.kind is Kind.TENSOR_OPERATION:
        config = case.configuration
        assert config is not None
        return lower_nest(bind(config.operation, config.schedule), machine).assembler.bytes()
    return _expression_code(case.equation, case.shapes[:-1], case.dtype, machine, case.optimize)


def _expression_code(
    equation: str,
    shapes: Sequence[tuple[int, ...]],
    dtype: str,
    machine: Machine,
    optimize: Any = "auto",
) -> bytes:
    made = (
        Expression(equation, shapes, dtype, options=Options(optimize=optimize, threads=threads, target=machine))
        for threads in THREADS
    )
    return b"".join(each.code for each in made)


def _kernel_code(spec: Spec, machine: Machine) -> bytes:
    asm = Assembler(machine.isa)
    emit_kernel(machine_for(asm, machine), spec)
    return asm.bytes()


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(digests(), indent=0, sort_keys=True) + "\n")
