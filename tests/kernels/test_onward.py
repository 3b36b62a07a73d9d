"""Kernels that read rows of A in place ask for those of the next call or tile, and only where rows lie apart."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from einloom.asm import Assembler
from einloom.dtypes import FLOAT32
from einloom.ir.bind import bind
from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.ir.text import parse_schedule
from einloom.kernels import Brgemm, machine_for
from einloom.kernels.emit import emit_kernel
from einloom.machine import AVX2, AVX512, Machine
from einloom.targets.cpu import lower_nest

ROW = 2000
"""Elements from a row of A to the next one."""


STEPS = 12
"""Products of a tile."""


def _asked(spec: Brgemm, machine: Machine) -> set[tuple[str, int]]:
    """The addresses that a kernel asks for, as a register and a distance."""
    asm = Assembler("x86_64")
    emit_kernel(machine_for(asm, machine), spec)
    found = re.findall(r"prefetcht1 .*?\[(\w+)([^\]]*)\]", asm.listing())
    return {(base, eval(rest or "0", {})) for base, rest in found}


def _of_one_row(distances: set[int]) -> set[int]:
    """Those of the first row that the loop over k, or what stands before it, reads: the others follow a row apart."""
    first = {distance for distance in distances if distance < 4 * ROW}
    assert all(distance % (4 * ROW) in first for distance in distances)
    return first


def test_the_next_tile_of_the_same_call_is_asked_for() -> None:
    rows = Brgemm(FLOAT32, 480, 6, STEPS, beta=0, a=(1, 0, ROW, 0), b=(0, STEPS, 1, 0), onward=0)
    tile = 64 * 4
    distances = {distance for _, distance in _asked(rows, AVX512)}
    assert _of_one_row(distances) == {tile + line for line in range(0, 256, 64)}
    assert not _asked(replace(rows, onward=None), AVX512), "A is near"


def test_what_the_next_call_reads_is_asked_for() -> None:
    one_tile = Brgemm(FLOAT32, 48, 8, STEPS, beta=0, a=(1, 0, ROW, 0), b=(0, STEPS, 1, 0), onward=7000)
    assert _of_one_row({each for _, each in _asked(one_tile, AVX512)}) == {7000 + line for line in (0, 64, 128)}
    assert not _asked(replace(one_tile, onward=0), AVX512), "the next call reads the same"


def test_of_large_blocks_the_tiles_are_asked_for_that_memory_delivers_meanwhile() -> None:
    rows = Brgemm(FLOAT32, 1920, 6, STEPS, beta=0, a=(1, 0, ROW, 0), b=(0, STEPS, 1, 0), onward=7000)
    small, large = replace(AVX512, l2=2**19), replace(AVX512, l2=2**20)
    tile = 64 * 4
    assert min(distance for _, distance in _asked(rows, small)) == 5 * tile
    assert min(distance for _, distance in _asked(rows, large)) == 7000


@pytest.mark.parametrize("strides", [(1, 0, 48, 0), (ROW, 0, 1, 0)])
def test_rows_that_lie_together_and_columns_are_left_to_the_processor(strides: tuple[int, int, int, int]) -> None:
    assert not _asked(Brgemm(FLOAT32, 48, 6, 20, beta=0, a=strides, b=(0, 20, 1, 0), onward=7000), AVX2)


NEST = Operation(
    (Axis("a", 4, DimType.M), Axis("m", 96, DimType.M), Axis("n", 32, DimType.N), Axis("k", 3, DimType.K)),
    (
        Operand("in0", FLOAT32, (96, 1, 0, 960)),
        Operand("in1", FLOAT32, (0, 0, 3, 1)),
        Operand("out", FLOAT32, (3072, 1, 96, 0)),
    ),
    Primitive.GEMM,
    Touch(Primitive.ZERO),
)


@pytest.mark.parametrize("l2, asked", [(1024, True), (1 << 20, False)])
def test_nests_say_where_the_next_call_reads(l2: int, asked: bool) -> None:
    """Tensors that the second-level cache holds are not asked for."""
    nest = bind(NEST, parse_schedule("seq a:1 seq m:48 prim m=m n=n k=k"))
    listing = lower_nest(nest, replace(AVX512, l2=l2)).assembler.listing()
    assert bool(re.search(r"prefetcht1 .*\+ 192\]", listing)) == ("prefetcht1" in listing) == asked


def test_some_cores_see_the_rows_of_one_column_by_themselves() -> None:
    """Zen 4 reads them faster when asked, Golden Cove when not."""
    column = replace(NEST, axes=(Axis("a", 4000, DimType.M), NEST.axes[1], Axis("n", 1, DimType.N), NEST.axes[3]))
    nest = bind(column, parse_schedule("seq a:1 seq m:48 prim m=m n=n k=k"))
    zen4 = replace(AVX512, l1d=32 * 1024, l2=2**20, features=AVX512.features | {"bmi2", "gfni"})
    golden_cove = replace(zen4, l1d=48 * 1024, l2=2**21)
    for machine, asked in ((zen4, True), (golden_cove, False)):
        assert ("prefetcht1" in lower_nest(nest, machine).assembler.listing()) == asked
