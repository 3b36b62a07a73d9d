"""Schedules of matrix tiles, of AMX and SME."""

from __future__ import annotations

from dataclasses import replace

import pytest

from einloom.ir.bind import bind
from einloom.ir.text import parse_operation
from einloom.machine import AVX512, NEON, TILES, Machine
from einloom.passes.contraction.choose import costed
from einloom.passes.model.tiles import SCRATCH_LIMIT
from einloom.passes.pipeline import optimize_operation
from einloom.passes.values import Context, Options

MATRICES = replace(AVX512, features=AVX512.features | {TILES, "amxtile", "amxint8"})
STREAMING = replace(NEON, features=NEON.features | {"sme", "sme512", "i8mm"})
BATCHED_ROWS = """gemm first=zero last=none
axis a 17 c
axis b 17 m
axis c 33 c
axis d 17 k
in0 uint8 a=9537 b=561 c=17 d=1
in1 uint8 a=33 c=1 d=561
out uint8 a=561 b=33 c=1"""


@pytest.mark.parametrize("machine", [MATRICES, STREAMING], ids=["amx", "sme"])
def test_tiles_take_no_axis_that_both_inputs_have(machine: Machine) -> None:
    """Vectors run along c, which is a batch: no row of one input meets all of the other's, in tiles of AMX or SME."""
    operation = parse_operation(BATCHED_ROWS)
    chosen, schedule = optimize_operation(operation, machine, Options(1))
    assert bind(chosen, schedule).body
    for each in costed(chosen, replace(schedule, loops=(), packs=()), Context(machine)):
        assert each.proposal.family != "tiles" and "outer" not in each.proposal.family


@pytest.mark.parametrize("summed", [600, 20_000, 1_000_000])
@pytest.mark.parametrize("rows", [40, 3000])
def test_scratch_of_matrix_tiles_stays_below_its_limit(summed: int, rows: int) -> None:
    text = f"""gemm first=zero last=none
    axis m {rows} m
    axis n 500 n
    axis k {summed} k
    in0 int8 m={summed} k=1
    in1 int8 n=1 k=500
    out int32 m=500 n=1"""
    chosen, schedule = optimize_operation(parse_operation(text), MATRICES, Options(1))
    assert any(pack.grouped for pack in schedule.packs)
    assert bind(chosen, schedule).scratch_bytes <= SCRATCH_LIMIT
