"""The founding documents' Neon kernels (listings 7.2.2, 7.2.3, 7.3.2): the same parameters, results, instructions.

What is counted is work, not mnemonics: `ld1` of four registers loads as many vectors as two `ldp`.
"""

from __future__ import annotations

import re
from collections import Counter

from einloom.asm import Assembler
from einloom.kernels import Brgemm, Spec, Unary, machine_for
from einloom.kernels.emit import emit_kernel
from einloom.machine import NEON
from tests.asm.aarch64.notation import DATA
from tests.kernels.elementwise import ElementCase, check_elements
from tests.kernels.guarded import run_guarded
from tests.kernels.products import ProductCase, check_product

FUSED = 24
"""Multiply-adds of one step of k on 4 vectors x 6 columns."""


def gemm(k: int) -> Brgemm:
    return Brgemm("float32", 16, 6, k, a=(1, 0, None, 0), b=(0, None, 1, 0), c=(1, None))  # type: ignore[arg-type]


TRANSPOSITION = Unary("identity", "float32", 4, 4, a=(1, None), b=(None, 1))  # type: ignore[arg-type]


def listing_lines(name: str) -> list[str]:
    """Return the instructions of a listing of the founding documents."""
    lines = (DATA / "listings" / f"{name}.txt").read_text().splitlines()
    texts = (line.partition(" | ")[2] for line in lines)
    return [text for text in texts if text and not text.endswith(":")]


def kernel_lines(spec: Spec) -> list[str]:
    """Return the instructions of einloom's kernel for Neon, the saving of the caller's registers left out."""
    asm = Assembler("aarch64")
    emit_kernel(machine_for(asm, NEON), spec)
    rows = (re.match(r" *[0-9a-f]+ {2,}[0-9a-f]{8} +(.*)", line) for line in asm.listing().splitlines())
    return [row[1] for row in rows if row and "[sp" not in row[1]]


def work(lines: list[str]) -> Counter[str]:
    """Count vectors and elements that are loaded and stored, and vector arithmetic by mnemonic."""
    count: Counter[str] = Counter()
    for line in lines:
        mnemonic, _, operands = line.partition(" ")
        registers = re.findall(r"\b([qvs])\d+", operands)
        if mnemonic[:2] in ("ld", "st"):
            kind = "elements" if "s" in registers else "vectors"
            count[f"{kind} {'loaded' if mnemonic[0] == 'l' else 'stored'}"] += len(registers)
        elif registers:
            count[mnemonic] += 1
    return count


def test_one_update_is_the_work_of_listing_7_2_2() -> None:
    ours, theirs = kernel_lines(gemm(1)), listing_lines("7.2.2")
    assert work(ours) == work(theirs)
    assert work(ours) == {"vectors loaded": 28, "elements loaded": 6, "vectors stored": 24, "fmla": FUSED}


def test_the_loop_over_k_is_the_work_of_listing_7_2_3() -> None:
    ours, theirs = work(kernel_lines(gemm(64))), work(listing_lines("7.2.3"))
    steps = ours["fmla"] // FUSED  # The loop is unrolled.
    accumulator = Counter({"vectors loaded": 24, "vectors stored": 24})
    assert 64 % steps == 0 and steps > 1
    assert ours == accumulator + Counter({name: steps * count for name, count in theirs.items()})


def test_the_loop_over_k_spends_less_on_addresses_than_listing_7_2_3() -> None:
    def others(lines: list[str]) -> int:
        return sum(line.split()[0] in ("add", "sub", "mov", "cbnz") for line in lines)

    ours = kernel_lines(gemm(64))
    steps = sum(line.startswith("fmla") for line in ours) // FUSED
    around = others(kernel_lines(gemm(1)))
    assert others(ours) - around <= others(listing_lines("7.2.3")) * steps // 3


def test_a_transposition_is_the_work_of_listing_7_3_2() -> None:
    ours, theirs = kernel_lines(TRANSPOSITION), listing_lines("7.3.2")
    assert work(ours) == work(theirs)
    assert work(ours) == {"vectors loaded": 4, "trn1": 2, "trn2": 2, "zip1": 2, "zip2": 2, "vectors stored": 4}


def test_results(vector: str) -> None:
    strides = frozenset({"a2", "b1", "c1"})
    products = [
        ProductCase(
            Brgemm("float32", 16, 6, k, a=(1, 0, 16 + gap, 0), b=(0, k + gap, 1, 0), c=(1, 16 + gap)),  # type: ignore[arg-type]
            strides,
            None,
            vector,
            at_end,
        )
        for k in (1, 64)
        for gap in (0, 3)
        for at_end in (False, True)
    ]
    assert run_guarded(products, check_product) is None
    blocks = [
        ElementCase(Unary("identity", "float32", 4, 4, a=(1, lead), b=(lead, 1)), True, vector, at_end)  # type: ignore[arg-type]
        for lead in (4, 7)
        for at_end in (False, True)
    ]
    assert run_guarded(blocks, check_elements) is None
