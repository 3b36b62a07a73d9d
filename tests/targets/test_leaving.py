"""Staged blocks leave while the next ones are computed: never another result, wherever the output begins."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from einloom.dtypes import BFLOAT16, COMPLEX64, FLOAT32, FLOAT64, INT32, DType
from einloom.ir.bind import bind
from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_schedule
from einloom.jit.host import host
from einloom.machine import AVX2, AVX512, NEON, Machine
from einloom.passes.model.leaving import LONG_SUM
from einloom.passes.model.tiles import SCRATCH_LIMIT
from einloom.targets.cpu import lower_nest
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
    "shared a:1 seq e:1 seq f:16 seq g:{g} prim m=f n=e k=g pack out@3 e f",
    "sfc a:1 sfc e:{e} prim m=f n=e k=g pack out@2 e f",
    "seq a:1 seq e:{e} prim m=f n=e k=g",
)
"""Schedules whose staged blocks are runs of the output: of one call, of several, of threads. At last none is staged."""

RUNS = (
    "seq a:1 seq f:{f} prim m=f n=e k=g pack out@2 e f",
    "seq a:1 seq f:{f} seq e:{e} prim m=f n=e k=g pack out@2 e f",
    "seq a:1 seq f:{f} seq e:{e} seq f:{f2} prim m=f n=e k=g pack out@3 e f",
    "shared a:1 seq f:{f} seq g:{g} prim m=f n=e k=g pack out@2 e f",
    "seq f:{f} seq a:1 prim m=f n=e k=g pack in0@1 a g f pack out@2 e f",
)
"""Schedules whose staged blocks are several runs, a part of each row."""

TYPES = ((FLOAT32,) * 3, (FLOAT64,) * 3, (BFLOAT16, BFLOAT16, FLOAT32), (INT32,) * 3, (FLOAT32, FLOAT32, BFLOAT16))
"""Sums that are rounded on their way out of scratch leave at once."""


def _operation(types: Sequence[DType], a: int, e: int, f: int, g: int, gap: int = 0, row: int = 0) -> Operation:
    """`agf,ge->aef`: blocks of e and f are runs, unless rows take more than f; a gap lies between those of a."""
    row = row or f
    axes = tuple(map(Axis, "aefg", (a, e, f, g), map(DimType, "mnmk")))
    strides = ((g * f, 0, 1, f), (0, 1, 0, e), (e * row + gap, row, 1, 0))
    operands = tuple(map(Operand, ("in0", "in1", "out"), types, strides))
    return Operation(axes, operands, Primitive.GEMM, Touch(Primitive.ZERO))


def _with_bias(operation: Operation) -> Operation:
    """The operation on top of a bias along f, with a relu behind."""
    *inputs, out = operation.operands
    bias = Operand("bias", out.dtype, (0, 0, 1, 0))
    touches = Touch(Primitive.IDENTITY, 2), (Touch(Primitive.RELU),)
    return Operation(operation.axes, (*inputs, bias, out), Primitive.GEMM, *touches)


def _random_case(rng: random.Random) -> tuple[Operation, Schedule]:
    e, g = rng.randint(2, 11), rng.choice((1, 2, 7, 24, 40))
    steps = {"e": rng.randint(1, e), "g": rng.randint(1, g)}
    text = rng.choice(TILES[:-1]).format(**steps, e2=rng.randint(1, steps["e"]))
    f, gap = rng.choice((16, 20, 24, 32, 33, 48, 250, 301)), rng.choice((0, 0, 1, 5, 16))
    operation = _operation(rng.choice(TYPES), rng.randint(1, 6), e, f, g, gap)
    return rng.choice((operation, operation, _with_bias(operation))), parse_schedule(text)


def _case_of_runs(rng: random.Random) -> tuple[Operation, Schedule]:
    """Return blocks of a part of each row; rows are whole lines, parts of them need not be."""
    e, f, g = rng.randint(2, 11), rng.randint(17, 99), rng.choice((1, 2, 7, 24, 40))
    types, gap = rng.choice(TYPES), rng.choice((0, 0, 1, 5, 16))
    steps = {"e": rng.randint(1, e), "f": rng.randint(64 // types[-1].size, 99), "g": rng.randint(1, g)}
    text = rng.choice(RUNS).format(**steps, f2=rng.randint(1, steps["f"]))
    return _operation(types, rng.randint(2, 6), e, f, g, gap, -(-f // 32) * 32), parse_schedule(text)


def _machine(vector: str) -> Machine:
    """A machine whose first-level cache holds such blocks, and whose second one no output."""
    return replace(host().with_vector(vector), l2=64)


@pytest.mark.parametrize(("draw", "least"), [(_random_case, 2), (_case_of_runs, 3)])
@pytest.mark.parametrize("seed", range(4))
def test_blocks_that_leave_later_are_those_of_the_interpreter(
    vector: str, seed: int, draw: Callable[..., tuple[Operation, Schedule]], least: int
) -> None:
    rng, machine = random.Random(seed), _machine(vector)
    cases = [draw(rng) for _ in range(soak_count(1000, 0.06))]
    leaving = sum(leaving_block(bind(*case), machine) is not None for case in cases)
    assert least * leaving > len(cases), "hardly any block left while another one was computed"
    assert run_guarded(cases, lambda case: difference(case[0], case[0], case[1], machine, rng)) is None


def test_which_blocks_leave_while_others_are_computed() -> None:
    operation, machine = _operation(TYPES[0], 4, 8, 20, 24), replace(AVX512, l2=64)
    nests = [bind(operation, parse_schedule(text.format(e=4, g=8, e2=2))) for text in TILES]
    blocks = [leaving_block(nest, machine) for nest in nests]
    # 80 floats are five lines; of several calls before a block is done each stores a part. Four are less than a line.
    assert [block and block.leaves.lines for block in blocks] == [5, 5, 2, 3, 5, None, 5, None]
    assert blocks[0] is not None
    assert blocks[0].scratch_bytes == 2 * 320
    assert leaving_block(nests[0], AVX512) is None, "the second-level cache holds the output"
    assert leaving_block(nests[0], replace(machine, l1d=512)) is None, "the first-level cache does not hold two blocks"
    assert leaving_block(nests[0], replace(NEON, l2=64)) is None


@pytest.mark.parametrize(
    ("f", "crossed"),
    [
        pytest.param(250, 0, id="a page holds a block"),
        pytest.param(256, 0, id="rows of whole vectors"),
        pytest.param(260, 0, id="the first row begins where a vector does"),
        pytest.param(450, 1, id="two pages do not hold a block"),
    ],
)
@pytest.mark.parametrize("packed", [0, 1])
def test_few_vectors_of_blocks_that_leave_are_stored_across_pages(f: int, crossed: int, packed: int) -> None:
    """Vectors of eight floats along four rows, in both pieces of scratch; with an input in front of them or without."""
    nest = bind(_operation(TYPES[0], 4, 12, f, 33), parse_schedule(TILES[packed].format(e=4)))
    block = leaving_block(nest, replace(AVX2, l2=64))
    assert block is not None
    begin = next(buffer.offset for buffer in nest.buffers if buffer.name == block.scratch)
    assert begin is not None
    pieces = [begin + piece for piece in block.pieces]
    size = 4 * 4 * f
    assert all(piece % 64 == 0 for piece in pieces) and pieces[0] + size <= pieces[1]
    assert pieces[1] + size == block.scratch_bytes and (packed == 0 or 4 * 33 * f <= pieces[0])
    for piece in pieces:
        stores = [piece + 4 * (row * f + vector) for row in range(4) for vector in range(0, f - 7, 8)]
        assert sum(place // 4096 < (place + 31) // 4096 for place in stores) <= crossed


def test_blocks_that_could_not_leave_whole_or_in_time_leave_at_once() -> None:
    machine, text = replace(AVX512, l2=64), TILES[0].format(e=8)
    shorter = _operation(TYPES[0], 4, 9, 15, 24)
    assert leaving_block(bind(shorter, parse_schedule(text)), machine) is None, "the last block is 15 floats: no line"
    operation = _operation(TYPES[0], 4, 8, 20, 24)
    narrow = _operation((BFLOAT16,) * 3, 4, 8, 20, 24)
    assert leaving_block(bind(narrow, parse_schedule(text)), machine) is None, "scratch holds other elements"
    nest = bind(operation, parse_schedule(text))
    assert leaving_block(nest, machine) is not None
    assert leaving_block(replace(nest, body=(*nest.body, *nest.body)), machine) is None, "two calls touch the output"


def test_runs_that_begin_anywhere_in_a_line_or_behind_long_sums_leave_at_once() -> None:
    """A part of f is a row of each e: rows of whole lines let it leave later."""
    schedule = parse_schedule("seq a:1 seq f:20 prim m=f n=e k=g pack out@2 e f")
    operations = [_operation(TYPES[0], 4, 8, 40, g, row=row) for g, row in ((24, 40), (24, 48), (LONG_SUM + 1, 48))]
    blocks = [leaving_block(bind(operation, schedule), replace(AVX512, l2=64)) for operation in operations]
    assert [block and (block.leaves.lines, block.leaves.apart) for block in blocks] == [None, (10, (80, 192)), None]


def test_blocks_that_no_kernel_stores_leave_at_once() -> None:
    """Products of groups, which tiles of matrices multiply, take no lines along, nor do complex ones."""
    text = "seq a:1 seq e:4 prim m=f n=e k=g pack in0@0:bfloat16 a g f pack in1@0:bfloat16 g e pack out@2 e f"
    operation = _operation((BFLOAT16, BFLOAT16, FLOAT32), 4, 8, 20, 24)
    assert leaving_block(bind(operation, parse_schedule(text)), replace(AVX512, l2=64)) is None
    text = text.replace(":bfloat16", "")
    assert leaving_block(bind(operation, parse_schedule(text)), replace(AVX512, l2=64)) is not None
    nest = bind(_operation((COMPLEX64,) * 3, 4, 8, 20, 24), parse_schedule(TILES[0].format(e=4)))
    assert leaving_block(nest, replace(AVX512, l2=64)) is None


def test_blocks_of_teams_leave_at_once() -> None:
    """Behind a barrier other threads may read them."""
    nest = bind(_operation(TYPES[0], 4, 8, 20, 24), parse_schedule("team 2 " + TILES[4].format(e=4)))
    assert leaving_block(nest, replace(AVX512, l2=64)) is None


def test_scratch_with_the_second_piece_keeps_the_limit() -> None:
    """Of two pieces of 320 bytes one alone fits beside an input that is packed in all but 384 bytes."""
    for g, leaves in ((SCRATCH_LIMIT // 80 - 4, False), (SCRATCH_LIMIT // 80 - 8, True)):
        nest = bind(_operation(TYPES[0], 1, 8, 20, g), parse_schedule(TILES[1].format(e=4)))
        block = leaving_block(nest, replace(AVX512, l2=64))
        assert nest.scratch_bytes <= SCRATCH_LIMIT
        assert (block is not None) == leaves


@pytest.mark.parametrize("text", TILES[:-1])
def test_the_last_lines_leave_before_the_fence(text: str) -> None:
    """Else a thread could say that it is done, and another one read what is not stored yet."""
    operation = _operation(TYPES[0], 4, 8, 32, 24)
    nest = bind(operation, parse_schedule(text.format(e=4, g=8, e2=2)))
    listing = lower_nest(nest, replace(AVX512, l2=64)).assembler.listing()
    around_kernels, *_ = re.split(r" ret$", listing, maxsplit=1, flags=re.MULTILINE)
    assert re.findall(r" (call|sfence)\b", around_kernels)[-2:] == ["call", "sfence"]
