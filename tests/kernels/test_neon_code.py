"""Code for Neon, made on any machine: a foreign disassembler reads it, and finds nothing that plain Neon lacks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import capstone
import pytest

from einloom.asm import Assembler
from einloom.kernels import Binary, Reduce, Spec, Ternary, Unary, machine_for
from einloom.kernels.emit import emit_kernel
from einloom.kernels.formula import functions
from einloom.machine import NEON
from tests.kernels.test_brgemm import DTYPES, LAYOUTS, product_spec

INTEGERS = """add sub subs mov movz movn movk lsl lsr asr and orr mul madd msub neg udiv sdiv cmp csel adr adrp
b b.lt b.le b.eq b.ne b.ge b.gt b.lo b.hs b.hi b.ls cbz cbnz bl blr ret nop ldr str ldur stur ldp stp prfm prfum tst"""
FLOATS = """ld1 st1 ld1r fmla fmls fmul fadd fsub fdiv fmin fmax fminnm fmaxnm fsqrt fabs fneg faddp fminp fmaxp
fminnmp fmaxnmp fminv fmaxv fminnmv fmaxnmv faddv fmov fcmeq fcmgt fcmge fcmlt fcmle facgt facge fcvtl fcvtl2 fcvtn
fcvtn2 fcvtzs fcvtns scvtf frintn frintm frintp frintz frinti frinta trn1 trn2 zip1 zip2 uzp1 uzp2 movi mvni dup ins
ext bsl bit bif bic eor not mvn shl ushr sshr sshl ushl cmgt cmeq cmge cmlt orn umov smov sqadd sqsub smin smax"""
ALLOWED = frozenset(INTEGERS.split()) | frozenset(FLOATS.split())
LARGEST = 16 * 1024
"""Bytes of the code of any kernel up to 128x128x128."""


def product_specs(dtype: str) -> Iterator[Spec]:
    sizes = ((1, 1, 0), (16, 6, 64), (5, 5, 5), (13, 13, 13), (9, 9, 56), (64, 48, 64), (128, 128, 128), (127, 3, 70))
    for index, ((m, n, k), layouts) in enumerate(product(sizes, LAYOUTS)):
        yield product_spec(dtype, m, n, k, 1 + index % 2, layouts, index % 3, index % 2, (1, 2)[index // 3 % 2])


def element_specs(dtype: str) -> Iterator[Spec]:
    sizes = ((1, 1), (3, 2), (16, 16), (35, 9), (128, 128))
    for (m, n), op, b in product(sizes, functions.UNARY, ("col", "row", "strided")):
        target = {"col": (1, m), "row": (n, 1), "strided": (3, 3 * m)}[b]
        yield Unary(op, dtype, m, n, a=(1, None), b=target)  # type: ignore[arg-type]
    for (m, n), op, b in product(sizes, functions.BINARY, ((1, None), (0, 1), (1, 0), (0, 0))):
        yield Binary(op, dtype, m, n, a=(1, None), b=b, c=(1, None))  # type: ignore[arg-type]
    for (m, n), op in product(sizes, functions.TERNARY):
        yield Ternary(op, dtype, m, n, *[(1, m)] * 4)  # type: ignore[arg-type]
    for (m, n), op, axis in product(sizes, ("sum", "max", "min", "prod", "sum_of_squares"), "mn"):
        yield Reduce(op, dtype, m, n, axis, a=(1, None))  # type: ignore[arg-type]


def kernel_words(spec: Spec) -> tuple[Assembler, bytes]:
    """Return the assembler and the instructions, without the constants behind them."""
    asm = Assembler("aarch64")
    emit_kernel(machine_for(asm, NEON), spec)
    return asm, asm.bytes()[: asm.size]


def mnemonics(code: bytes) -> list[str]:
    """Return capstone's mnemonic of each word; "?" where it knows none."""
    decoder = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)
    decoder.skipdata = True
    decoder.skipdata_setup = ("?", None, None)
    return [text for _, _, text, _ in decoder.disasm_lite(code, 0)]


@pytest.mark.parametrize("specs", [product_specs, element_specs])
@pytest.mark.parametrize("dtype", DTYPES)
def test_code_is_legal_plain_and_bounded(dtype: str, specs: object) -> None:
    for spec in specs(dtype):  # type: ignore[operator]
        asm, code = kernel_words(spec)
        found = mnemonics(code)
        assert len(found) == asm.size // 4
        assert set(found) <= ALLOWED, (spec, sorted(set(found) - ALLOWED))
        assert asm.features <= NEON.features
        assert len(asm.bytes()) <= LARGEST, (spec, len(asm.bytes()))


def test_callers_vectors_are_preserved() -> None:
    """v8 to v15 belong to the caller (AAPCS64, section 6.1.2): what is written is saved before and restored after."""
    for spec in (*product_specs("float32"), *element_specs("float64")):
        lines = [line[16:] for line in kernel_words(spec)[0].listing().splitlines()]
        used = {int(number) for line in lines for number in re.findall(r"\b[vqds](\d+)\b", line)} & set(range(8, 16))
        saved = [pair for line in lines for pair in re.findall(r"stp d(\d+), d(\d+), \[sp", line)]
        restored = [pair for line in lines for pair in re.findall(r"ldp d(\d+), d(\d+), \[sp", line)]
        assert sorted(saved) == sorted(restored)
        assert used <= {int(number) for pair in saved for number in pair}, (spec, used, saved)
