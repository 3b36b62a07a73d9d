"""Code of products stays small whatever their size and layout: loops, not copies. Nothing here runs the code."""

from __future__ import annotations

from itertools import product

import pytest

from einloom.asm import Assembler
from einloom.kernels import machine_for
from einloom.kernels.emit import emit_kernel
from einloom.machine import AVX2, AVX512, Machine
from tests.kernels.test_brgemm import DTYPES, LAYOUTS, product_spec

LARGEST = 16 * 1024
"""Bytes of the code of any kernel up to 128x128x128."""

MOST_INSTRUCTIONS = 1500
"""Generating takes about two microseconds an instruction. Tiles that spare fetches of A from L2 have most: 1,495."""

SIZES = ((128, 128, 128), (127, 127, 127), (121, 98, 54), (31, 127, 116), (35, 17, 66), (25, 125, 8), (33, 33, 33))


@pytest.mark.parametrize("machine", [AVX512, AVX2], ids=lambda machine: machine.vector)
@pytest.mark.parametrize("dtype", DTYPES)
def test_code_is_bounded(machine: Machine, dtype: str) -> None:
    for (m, n, k), layouts in product(SIZES, LAYOUTS):
        asm = Assembler(machine.isa)
        spec = product_spec(dtype, m, n, k, 1, layouts, 0, 1, 1)
        emit_kernel(machine_for(asm, machine), spec)
        assert len(asm.bytes()) <= LARGEST, spec
        assert sum(asm.counts().values()) <= MOST_INSTRUCTIONS, spec
