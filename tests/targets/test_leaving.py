"""Staged blocks leave while the next ones are computed: never another result, wherever the output begins."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from einloom.dtypes import BFLOAT16, FLOAT32, FLOAT64, DType
from einloom.ir.bind import bind
from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_schedule
from einloom.jit.host import host
from einloom.machine import AVX512, NEON, Machine
from einloom.targets.leaving import leaving_block

from ..kernels.guarded import run_guarded
from ..soak import soak_count
from .programs import difference

pytestmark = pytest.mark.skipif(host().isa != "x86_64", reason="stores past the caches are x86-64's")

TILES = (
    "seq a:1 seq e:{e} prim m=f n=e k=g pack out@2 e f",
    "seq e:{e} seq a:1 prim m=f n=e k=g pack in0@1 a g f pack out@2 e f",
    "seq a:1 seq e:{e} seq g:{g} prim m=f n=e k=g pack out@2 e f",
    "seq a:1 seq e:{e} seq e:{e2} prim m=f n=e k=g pack out@2 e f",
    "shared a:1 seq e:{e} prim m=f n=e k=g pack out@2 e f",
    "seq a:1 seq e:{e} prim m=f n=e k=g",
)
"""Schedules whose staged blocks are runs of the output: of one call, of several, of threads. At last none is staged."""


def _operation(dtype: DType, a: int, e: int, f: int, g: int) -> Operation:
    """`agf,ge->aef`: blocks of e and f are runs."""
    axes = tuple(map(Axis, "aefg", (a, e, f, g), map(DimType, "mnmk")))
    strides = ((g * f, 0, 1, f), (0, 1, 0, e), (e * f, f, 1, 0))
    operands = tuple(Operand(name, dtype, each) for name, each in zip(("in0", "in1", "out"), strides))
    return Operation(axes, operands, Primitive.GEMM, Touch(Primitive.ZERO))


def _random_case(rng: random.Random) -> tuple[Operation, Schedule]:
    e, g = rng.randint(2, 11), rng.choice((1, 2, 7, 24, 40))
    steps = {"e": rng.randint(1, e), "g": rng.randint(1, g)}
    text = rng.choice(TILES[:-1]).format(**steps, e2=rng.randint(1, steps["e"]))
    dtype = rng.choice((FLOAT32, FLOAT64))
    return _operation(dtype, rng.randint(2, 6), e, rng.choice((16, 20, 24, 33, 48)), g), parse_schedule(text)


def _machine(vector: str) -> Machine:
    """A machine whose first-level cache holds such blocks, and whose second one no output."""
    return replace(host().with_vector(vector), l2=64)


@pytest.mark.parametrize("seed", range(4))
def test_blocks_that_leave_later_are_those_of_the_interpreter(vector: str, seed: int) -> None:
    rng, machine = random.Random(seed), _machine(vector)
    cases = [_random_case(rng) for _ in range(soak_count(1000, 0.06))]
    leaving = sum(leaving_block(bind(*case), machine) is not None for case in cases)
    assert 2 * leaving > len(cases), "hardly any block left while another one was computed"
    assert run_guarded(cases, lambda case: difference(case[0], *case, machine, rng)) is None


def test_which_blocks_leave_while_others_are_computed() -> None:
    operation, machine = _operation(FLOAT32, 4, 8, 20, 24), replace(AVX512, l2=64)
    nests = [bind(operation, parse_schedule(text.format(e=4, g=8, e2=2))) for text in TILES]
    blocks = [leaving_block(nest, machine) for nest in nests]
    # 80 floats are five lines; of several calls before a block is done each stores a part.
    assert [block and block.lines for block in blocks] == [5, 5, 2, 3, 5, None]
    assert blocks[0] is not None
    assert blocks[0].scratch_bytes == 2 * 320
    assert leaving_block(nests[0], AVX512) is None, "the second-level cache holds the output"
    assert leaving_block(nests[0], replace(machine, l1d=512)) is None, "the first-level cache does not hold two blocks"
    assert leaving_block(nests[0], replace(NEON, l2=64)) is None


def test_blocks_that_could_not_leave_whole_or_in_time_leave_at_once() -> None:
    machine, text = replace(AVX512, l2=64), TILES[0].format(e=8)
    shorter = _operation(FLOAT32, 4, 9, 15, 24)
    assert leaving_block(bind(shorter, parse_schedule(text)), machine) is None, "the last block is 15 floats: no line"
    operation = _operation(FLOAT32, 4, 8, 20, 24)
    narrow = replace(operation, operands=tuple(replace(each, dtype=BFLOAT16) for each in operation.operands))
    assert leaving_block(bind(narrow, parse_schedule(text)), machine) is None, "scratch holds other elements"
    nest = bind(operation, parse_schedule(text))
    assert leaving_block(nest, machine) is not None
    assert leaving_block(replace(nest, body=(*nest.body, *nest.body)), machine) is None, "two calls touch the output"


def test_blocks_in_several_runs_leave_at_once() -> None:
    """A part of f is a row of each e: no block of that is one run."""
    nest = bind(_operation(FLOAT32, 4, 8, 40, 24), parse_schedule("seq a:1 seq f:20 prim m=f n=e k=g pack out@2 e f"))
    assert leaving_block(nest, replace(AVX512, l2=64)) is None
