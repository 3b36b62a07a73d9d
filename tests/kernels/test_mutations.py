"""The checks see one broken instruction: vector instructions of a kernel, one at a time, do nothing."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from einloom.asm import Assembler
from einloom.asm.assembler import Directive
from einloom.jit.kernel import Kernel
from einloom.kernels import Binary, Reduce, Spec, Ternary, Unary, machine_for
from einloom.kernels.emit import emit_kernel
from tests.kernels import elementwise, test_reduce
from tests.kernels.elementwise import ElementCase, check_elements
from tests.kernels.guarded import run_guarded
from tests.kernels.products import machine
from tests.kernels.test_reduce import ReduceCase, check_reduction
from tests.soak import soak_count

HARMLESS = ("vzeroupper",)
"""What may do nothing without a wrong result."""


@dataclass(frozen=True)
class Family:
    """Calls of one kernel, their check, and which part of its instructions makes no difference to these calls.

    That are limits of arguments that these do not reach, reloads of what a register still holds, and factors of 1.
    """

    cases: tuple[Any, ...]
    check: Callable[[Any], str | None]
    idle: float = 0


def families(vector: str) -> dict[str, Family]:
    """Return a kernel of each family, with whole and masked vectors."""

    def element(spec: Any, idle: float = 0) -> Family:
        return Family((ElementCase(spec, False, vector, True),), check_elements, idle)

    def reduction(op: str, axis: str, idle: float = 0) -> Family:
        spec = Reduce(op, "float32", 37, 5, axis, a=(1, 40))  # type: ignore[arg-type]
        return Family((ReduceCase(spec, 40, vector, False, True),), check_reduction, idle)

    one, three = ((1, 21),) * 2, (1, 21)
    return {
        "unary": element(Unary("leaky_relu", "float32", 21, 90, *one, alpha=-0.75), 0.1),  # type: ignore[arg-type]
        "unary, long": element(Unary("silu", "float32", 21, 90, *one), 0.4),  # type: ignore[arg-type]
        "unary, transposing": element(Unary("negate", "float32", 16, 16, (1, 16), (16, 1))),  # type: ignore[arg-type]
        "unary, strided": element(Unary("abs", "float64", 11, 19, (1, 11), (3, 40)), 0.2),  # type: ignore[arg-type]
        "conversion": element(Unary("identity", "float64", 21, 3, *one, output="float32")),  # type: ignore[arg-type]
        "binary": element(Binary("max", "float64", 21, 30, *one, three), 0.1),  # type: ignore[arg-type]
        "comparison": element(Binary("ge", "float32", 21, 30, *one, three)),  # type: ignore[arg-type]
        "ternary": element(Ternary("select", "float32", 21, 30, *one, three, three), 0.1),  # type: ignore[arg-type]
        "rows": reduction("prod", "m", 0.2),
        "columns": reduction("sum_of_squares", "n"),
    }


def assembled(spec: Spec, vector: str) -> tuple[Assembler, int]:
    """Return an assembler with NaN put into every vector register, then the kernel of a spec; where that begins."""
    asm: Any = Assembler(machine(vector).isa)
    for number in range(32):
        if vector == "avx512":
            asm.vpternlogd(*[asm.zmm[number]] * 3, 255)
        elif vector == "avx2" and number < 16:
            asm.vcmpps(*[asm.ymm[number]] * 3, 15)
        elif vector == "neon" and not 8 <= number < 16:  # Those are the caller's.
            asm.movi(asm.v[number].b16, 255)
    begin = asm.size
    emit_kernel(machine_for(asm, machine(vector)), spec)
    return asm, begin


def vector_instructions(asm: Assembler, begin: int) -> Iterator[tuple[int, int, str]]:
    """Yield (offset, bytes, text) of every vector instruction of the kernel that matters."""
    offset = 0
    for form, operands, code in asm.records:
        if not isinstance(form, Directive) and offset >= begin:
            is_vector = form.mnemonic[0] == "v" if asm.isa == "x86_64" else "v" in asm.text(form, operands)
            if is_vector and form.mnemonic not in HARMLESS:
                yield offset, len(code), asm.text(form, operands)
        offset += len(code)


@pytest.mark.soak
@pytest.mark.parametrize("name", families("avx2"))
def test_an_instruction_that_does_nothing_is_seen(vector: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    family = families(vector)[name]
    assert run_guarded(family.cases, family.check) is None
    asm, begin = assembled(family.cases[0].spec, vector)
    instructions = list(vector_instructions(asm, begin))
    instructions = random.Random(name).sample(instructions, soak_count(len(instructions), share=0.3))
    missed: list[str] = []
    for offset, size, text in instructions:

        def broken(spec: Spec, vector: str, offset: int = offset, size: int = size) -> Kernel:
            code = bytearray(asm.bytes())
            code[offset : offset + size] = asm.padding(size)
            return Kernel(code, asm.isa, asm.features)

        monkeypatch.setattr(elementwise, "compile_kernel", broken)
        monkeypatch.setattr(test_reduce, "compile_kernel", broken)
        if run_guarded(family.cases, family.check) is None:
            missed.append(f"{offset:x}: {text}")
    assert len(missed) <= family.idle * len(instructions), missed
